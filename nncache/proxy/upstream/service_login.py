"""The service's own login at the NameNodes' WebHDFS, for calls as a proxy user.

A NameNode gives a cookie for a ticket (`nncache.hadoop.kerberos.web_login`); who has it can be any user for whom the
service may act. It stands in memory alone, goes to the NameNode that gave it alone, and nothing that a NameNode says of
it goes to a client.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

import aiohttp
from yarl import URL

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.net.http_failure import why_unanswered
from nncache.net.log_throttle import ThrottledLog
from nncache.proxy.errors import NotSentError, ServiceLoginError
from nncache.proxy.messages import Headers, RequestHead

_log = logging.getLogger(__name__)

TIMEOUT_S: Final = 5.0
"""For one login: two requests, and what the KDC is asked."""

PAUSE_S: Final = 1.0
"""Between a login that failed and the next one at the same NameNode; calls in between fail like it."""

_OF_THE_SERVICE: Final = frozenset({b"set-cookie", b"www-authenticate"})


class ServiceLogin:
    """Cookies of the service, one for each NameNode. Use it as an async context, on one event loop.

    Attributes:
        failures: logins that failed since the start.
    """

    def __init__(self, login: WebLogin, clock: Callable[[], float], web: NameNodeWeb = PLAIN) -> None:
        """Log in with this; nothing is asked yet."""
        self._login = login
        self._clock = clock
        self._web = web
        self._session: aiohttp.ClientSession | None = None
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(
            asyncio.Lock
        )  # by address: one login at a time
        self._failed: dict[
            str, tuple[float, ServiceLoginError | NotSentError]
        ] = {}  # by address: the last, and when
        self._throttled = ThrottledLog(_log, clock)
        self.failures = 0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            middlewares=(self._login,),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def signed(self, head: RequestHead, namenode: NameNode) -> RequestHead:
        """Return a head with the service's cookie for this NameNode; logs in if there is none.

        Raises:
            ServiceLoginError: the NameNode, or the KDC, does not accept the service.
            NotSentError: the NameNode does not answer.
        """
        cookie = self._login.cookie(namenode.http) or await self._logged_in(namenode.http)
        return replace(
            head,
            headers=(*head.headers, (b"Cookie", b'hadoop.auth="%b"' % cookie.encode("latin-1"))),
            wire=b"",
        )

    def refused(self, head: RequestHead, namenode: NameNode) -> None:
        """Take note that a NameNode does not accept the cookie of this head."""
        sent = head.headers[-1][1].decode("latin-1").partition("=")[2].strip('"')
        self._login.forget(namenode.http, sent)

    def replied(self, namenode: NameNode, headers: Headers) -> Headers:
        """Return a reply's fields without those that are for the service alone; a renewed cookie is kept."""
        for value in _cookies(headers):
            self._login.take(namenode.http, value)
        return without_service_fields(headers)

    async def _logged_in(self, address: str) -> str:
        async with self._locks[address]:
            if (cookie := self._login.cookie(address)) is not None:
                return cookie  # another call's turn came first
            failed_at, failure = self._failed.get(address, (float("-inf"), None))
            if failure is not None and self._clock() - failed_at < PAUSE_S:
                raise failure.with_traceback(None)
            try:
                cookie = await self._log_in(address)
            except (ServiceLoginError, NotSentError) as error:
                self.failures += 1
                self._failed[address] = self._clock(), error
                raise
            self._failed.pop(address, None)
            return cookie

    async def _log_in(self, address: str) -> str:
        assert self._session is not None
        url = URL(f"{self._web.url(address)}{PREFIX}/?op=GETHOMEDIRECTORY", encoded=True)
        try:
            async with self._session.get(url, allow_redirects=False, ssl=self._web.ssl) as reply:
                await reply.read()
        except KerberosError as error:
            self._throttled.warn(f"calls for authenticated users are answered with 503: {error}")
            raise ServiceLoginError("the proxy cannot log in at the NameNode; its log says why") from error
        except TimeoutError as error:
            raise NotSentError(f"NameNode {address}: no login in {TIMEOUT_S:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise NotSentError(f"NameNode {address}: {why_unanswered(error)}") from error
        cookie = self._login.cookie(address)
        if cookie is None:
            self._throttled.warn(
                f"calls for authenticated users are answered with 503: {address} answers {reply.status} and gives no "
                "cookie: see that hadoop.http.authentication.type is kerberos there"
            )
            raise ServiceLoginError("the NameNode gives the proxy no cookie; the log of the proxy says more")
        return cookie


def without_service_fields(headers: Headers) -> Headers:
    """Return the fields of a reply that are not for the service alone."""
    return tuple([field for field in headers if field[0].lower() not in _OF_THE_SERVICE])


def _cookies(headers: Headers) -> Iterable[str]:
    return (value.decode("latin-1") for name, value in headers if name.lower() == b"set-cookie")
