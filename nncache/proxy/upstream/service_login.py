"""The service's own login at the NameNodes' WebHDFS, for calls as a proxy user.

A NameNode sets a cookie for a ticket (`nncache.hadoop.kerberos.web_login`). Its holder can act as any user for whom the
service may act. So it is kept in memory only and sent only to the NameNode that set it, and no field about it reaches a
client.
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
"""Timeout of one login in seconds: two requests, and the requests to the KDC."""

PAUSE_S: Final = 1.0
"""Seconds between a failed login and the next one at the same NameNode; calls in between fail with the same error."""

_OF_THE_SERVICE: Final = frozenset({b"set-cookie", b"www-authenticate"})


class ServiceLogin:
    """Cookies of the service, one for each NameNode. An async context manager for one event loop.

    Attributes:
        failures: number of failed logins since start.
    """

    def __init__(self, login: WebLogin, clock: Callable[[], float], web: NameNodeWeb = PLAIN) -> None:
        """Use this login; no request is sent yet."""
        self._login = login
        self._clock = clock
        self._web = web
        self._session: aiohttp.ClientSession | None = None
        # By address: one login at a time; the time and error of the last failure.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failed: dict[str, tuple[float, ServiceLoginError | NotSentError]] = {}
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
        """Return the head with the service's cookie for this NameNode, after a login if there is no cookie.

        Raises:
            ServiceLoginError: the NameNode or the KDC rejects the service.
            NotSentError: the NameNode does not answer.
        """
        cookie = self._login.cookie(namenode.http) or await self._logged_in(namenode.http)
        return replace(
            head,
            headers=(*head.headers, (b"Cookie", b'hadoop.auth="%b"' % cookie.encode("latin-1"))),
            wire=b"",
        )

    def refused(self, head: RequestHead, namenode: NameNode) -> None:
        """Forget the cookie of this head, which the NameNode has rejected."""
        sent = head.headers[-1][1].decode("latin-1").partition("=")[2].strip('"')
        self._login.forget(namenode.http, sent)

    def replied(self, namenode: NameNode, headers: Headers) -> Headers:
        """Return a reply's fields without those for the service alone, and keep a renewed cookie."""
        for value in _cookies(headers):
            self._login.take(namenode.http, value)
        return without_service_fields(headers)

    async def _logged_in(self, address: str) -> str:
        async with self._locks[address]:
            if (cookie := self._login.cookie(address)) is not None:
                return cookie  # another call has logged in first
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
    """Return the fields of a reply without those for the service alone."""
    return tuple([field for field in headers if field[0].lower() not in _OF_THE_SERVICE])


def _cookies(headers: Headers) -> Iterable[str]:
    return (value.decode("latin-1") for name, value in headers if name.lower() == b"set-cookie")
