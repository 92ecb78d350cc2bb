"""Send WebHDFS calls to the active NameNode, and to DataNodes."""

import re
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final, Self, TypeVar

import aiohttp
from yarl import URL

from nncache.hadoop.errors import (
    DataNodeUnavailableError,
    KerberosError,
    NoActiveNameNodeError,
    RemoteExceptionError,
    WebHdfsError,
)
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.hadoop.retry import FailureKind, may_retry
from nncache.net.http_failure import why_unanswered

Data = bytes | AsyncIterable[bytes]
"""The content to write; the file stays open until an async iterable ends."""

CONNECT_S: Final = 5.0
"""Timeout of connecting to a server, with TLS: one whose host is down does not refuse the connection."""

_ResultT = TypeVar("_ResultT")

_TOKEN: Final = re.compile("(delegation=)[^&]*", re.IGNORECASE)
_HIDDEN: Final = r"\1..."
"""Hides the token that a secured NameNode puts into its redirects: its bearer acts as its owner."""

_KINDS: Final = {Verdict.STANDBY: FailureKind.STANDBY, Verdict.RETRIABLE: FailureKind.RETRIABLE}


class WebHdfsTransport:
    """Connections to the NameNodes of one nameservice; an async context manager.

    A call goes first to the NameNode that answered last, or to the first one that `order` returns. It goes to the next
    one only if `nncache.hadoop.retry` allows it, or if it is a read and the login has failed.
    `nncache.hadoop.namenodes.webhdfs.WebHdfs` lists the errors.
    """

    def __init__(
        self,
        bases: Sequence[str],
        timeout_s: float,
        identity: KerberosIdentity | None = None,
        web: NameNodeWeb = PLAIN,
        order: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        """Call these NameNodes, by their URLs; with an `identity`, as its principal.

        `web` holds the trusted certificate authorities, for DataNodes too.
        """
        self._web = web
        self._order = order
        self._middlewares: tuple[WebLogin, ...] = ()  # a cookie serves both sessions
        if identity is not None:
            addresses = [URL(base).authority for base in bases]
            self._middlewares = (WebLogin(identity, addresses, timeout_s=timeout_s),)
        self._bases = tuple(base.rstrip("/") for base in bases)
        self._base = self._bases[0]  # of the NameNode that answered last
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_S)
        self._kept: aiohttp.ClientSession  # with persistent connections; set on entering
        self._fresh: (
            aiohttp.ClientSession
        )  # one connection per call, since aiohttp retries a PUT if a persistent connection was lost

    async def __aenter__(self) -> Self:
        self._kept = self._session(force_close=False)
        self._fresh = self._session(force_close=True)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._kept.close()
        await self._fresh.close()

    def url(self, target: str) -> str:
        """Return the URL of a call."""
        return self._base + target

    async def ask(self, method: str, target: str, *, may_repeat: bool = False) -> bytes:
        """Make a call of one step and return the body of its answer.

        With `may_repeat`, it uses a persistent connection, and is retried over another one if that was closed. This
        saves two thirds of the cost, and is only for idempotent calls.
        """
        return await self._ask_namenode(method, target, _body, may_repeat=may_repeat)

    async def ask_in_two_steps(self, method: str, target: str, data: Data | None = None) -> bytes:
        """Make a call whose second step, with the data, goes to the DataNode that the first step's reply names."""
        url = URL(await self._ask_namenode(method, target, _location), encoded=True)
        session = self._kept if method == "GET" else self._fresh
        try:
            async with session.request(
                method, url, data=data, allow_redirects=False, ssl=self._web.ssl
            ) as reply:
                return await _body(reply)
        except (aiohttp.ClientError, TimeoutError) as exc:
            raise DataNodeUnavailableError(f"{url.authority}: {_reason_of(exc)}") from exc

    async def _ask_namenode(
        self,
        method: str,
        target: str,
        read: Callable[[aiohttp.ClientResponse], Awaitable[_ResultT]],
        *,
        may_repeat: bool = False,
    ) -> _ResultT:
        session = self._kept if method == "GET" or may_repeat else self._fresh
        failures: list[str] = []
        timeouts = 0
        bases = self._order() if self._order else sorted(self._bases, key=lambda base: base != self._base)
        for base in bases:
            url = URL(base + target, encoded=True)
            try:
                async with session.request(method, url, allow_redirects=False, ssl=self._web.ssl) as reply:
                    result = await read(reply)
            except KerberosError as exc:
                if method != "GET" or base == bases[-1]:
                    raise  # a server that is not believed may have carried a write out
                failures.append(f"{url.authority}: {exc}")
            except (RemoteExceptionError, aiohttp.ClientError, TimeoutError) as exc:
                kind = _kind_of(exc)
                if len(self._bases) == 1 or kind is None or not may_retry(method == "GET", kind, timeouts):
                    raise
                timeouts += kind is FailureKind.TIMEOUT
                failures.append(f"{url.authority}: {_reason_of(exc)}")
            else:
                self._base = base
                return result
        why = "; ".join(failures) or "all are observers"
        raise NoActiveNameNodeError(f"none of the NameNodes is the active one: {why}")

    def _session(self, *, force_close: bool) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=force_close),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._timeout,
            middlewares=self._middlewares,
        )


def _kind_of(exc: RemoteExceptionError | aiohttp.ClientError | TimeoutError) -> FailureKind | None:
    """Return how a call to one NameNode failed; None: the exception is its answer."""
    match exc:
        case RemoteExceptionError():
            return _KINDS.get(exc.verdict)
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return FailureKind.NOT_SENT
        case TimeoutError():
            return FailureKind.TIMEOUT
        case _:
            return FailureKind.CUT


def _reason_of(exc: Exception) -> str:
    match exc:
        case RemoteExceptionError():
            return exc.remote.exception
        case _:
            return why_unanswered(exc)


async def _body(reply: aiohttp.ClientResponse) -> bytes:
    body = await reply.read()
    if reply.status < HTTPStatus.MULTIPLE_CHOICES:
        return body
    call = f"{reply.method} {_TOKEN.sub(_HIDDEN, str(reply.url))}"
    remote = parse_remote_exception(body)
    if remote is None and reply.status == HTTPStatus.UNAUTHORIZED:
        asked = reply.headers.get("WWW-Authenticate", "nothing")
        raise WebHdfsError(
            f"{call}: 401, it asks for {asked}: for Kerberos name --principal and --keytab, or a --ticket-cache"
        )
    if remote is None:
        raise WebHdfsError(f"{call}: {reply.status} {body[:200]!r}")
    raise RemoteExceptionError(reply.status, remote, call=call)


async def _location(reply: aiohttp.ClientResponse) -> str:
    location = reply.headers.get("Location")
    if reply.status != HTTPStatus.TEMPORARY_REDIRECT or location is None:
        await _body(reply)
        raise WebHdfsError(
            f"{reply.method} {_TOKEN.sub(_HIDDEN, str(reply.url))}: {reply.status} instead of a redirect"
        )
    return location
