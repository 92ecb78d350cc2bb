"""Log in at the web servers of NameNodes: SPNEGO once, then the cookie.

Source: RFC 4559; org.apache.hadoop.security.authentication.server.{KerberosAuthenticationHandler,AuthenticationFilter}
of Hadoop 3.4.1 and 3.5.0, measured there: a cookie is valid at one NameNode only, lasts 10 hours and is not renewed by
use; a token that is sent twice is refused as a replay. The reply to a token, whatever its status, carries the server's
own token, which proves that it has the key of HTTP/HOST. Over plain HTTP the reply to a cookie proves nothing.
"""

import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp.client_middlewares import ClientHandlerType

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.advice import with_advice
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.web_guard import ASKS_NOBODY, BROWSERS_FIELD

_COOKIE: Final = re.compile(r'\s*hadoop\.auth=("?)([^";]+)\1\s*(?:;|$)')

_NO_BRACKETS: Final = str.maketrans("", "", "[]")

_KDC_SHARE: Final = 0.6
"""The KDC's share of a request's timeout, so that a timeout of the KDC is not taken for one of the NameNode."""


class WebLogin:
    """A middleware of `aiohttp.ClientSession`: it answers a 401 that asks for Negotiate, and keeps the cookie.

    Invariants:
        W1  A token is made for one request and sent once. A retry by aiohttp passes this middleware again.
        W2  A cookie is sent only to the address that set it; only `addresses` get a token.
        W3  A cookie is kept only if its server has proven its identity, or if it renews a cookie that is kept.
        W4  No answer of WebHDFS is accepted without a login, unless the identity may fall back to SIMPLE.
    """

    def __init__(self, identity: KerberosIdentity, addresses: Collection[str], *, timeout_s: float) -> None:
        """Log in at these addresses, host:port each; `timeout_s` is that of the requests."""
        self._identity = identity
        self._addresses = frozenset(map(_key, addresses))
        self._kdc_timeout_s = timeout_s * _KDC_SHARE
        self._cookies: dict[str, str] = {}  # by the key of an address

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Make a request, twice if it must log in first.

        Raises:
            KerberosError: There is no ticket for the server; or the server refuses it or does not prove its identity.
        """
        address = _key(request.url.authority)
        if address not in self._addresses:
            return await handler(request)
        request.headers.pop(BROWSERS_FIELD, None)
        if (cookie := self._cookies.get(address)) is not None:
            request.headers["Cookie"] = f"hadoop.auth={cookie}"
        reply = await handler(request)
        if not _is_challenge(reply):
            if cookie is not None:
                self._keep(address, reply)
            elif self._is_unasked(request, reply):
                reply.close()
                raise KerberosError(f"WebHDFS at {address} {ASKS_NOBODY}")
            return reply
        await reply.read()  # so that its connection is reused
        if self._cookies.get(address) == cookie:
            self._cookies.pop(address, None)
        request.headers.pop("Cookie", None)
        host = request.url.raw_host or ""
        negotiation = await self._identity.negotiation(host, self._kdc_timeout_s)
        request.headers["Authorization"] = negotiation.field
        reply = await handler(request)
        if _is_refusal(reply):
            self._identity.recheck()
            reason = reply.reason or str(reply.status)
            reply.close()
            raise KerberosError(
                f"{address} does not accept {self._identity.name} as HTTP/{host}: {with_advice(reason)}; see that "
                f"hadoop.http.authentication.kerberos.principal and its keytab there are those of HTTP/{host}"
            )
        fields = reply.headers.getall("WWW-Authenticate", ())
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not fields:
            return (
                reply  # from a server that failed before it authenticated the request; no caller relies on it
            )
        try:
            await negotiation.check_proven(fields)
        except KerberosError as error:
            reply.close()
            raise KerberosError(
                f"{address} is not believed: {error}; see that namenode_http names the NameNode itself, and that "
                f"no other server answers there"
            ) from error
        self._keep(address, reply)
        return reply

    def _is_unasked(self, request: aiohttp.ClientRequest, reply: aiohttp.ClientResponse) -> bool:
        """Whether WebHDFS has answered without a login; /jmx is open to all on some clusters."""
        is_webhdfs = request.url.raw_path.startswith(f"{PREFIX}/")
        return is_webhdfs and reply.status < HTTPStatus.BAD_REQUEST and not self._identity.may_fall_back

    def cookie(self, address: str) -> str | None:
        """Return the value of the cookie of an address; None if there is none."""
        return self._cookies.get(_key(address))

    def forget(self, address: str, cookie: str) -> None:
        """Remove a cookie that the address no longer accepts: the next request there logs in again."""
        if self.cookie(address) == cookie:
            del self._cookies[_key(address)]

    def take(self, address: str, field: str) -> None:
        """Store the cookie of a `Set-Cookie` field from a reply outside this middleware."""
        if (match := _COOKIE.match(field)) is not None:
            self._cookies[_key(address)] = match[2]

    def _keep(self, address: str, reply: aiohttp.ClientResponse) -> None:
        for field in reply.headers.getall("Set-Cookie", ()):
            self.take(address, field)


def _key(address: str) -> str:
    """Return one text for all spellings of an address: a URL's host is in small letters, its authority without []."""
    return address.lower().translate(_NO_BRACKETS)


def _is_challenge(reply: aiohttp.ClientResponse) -> bool:
    schemes = reply.headers.getall("WWW-Authenticate", ())
    return reply.status == HTTPStatus.UNAUTHORIZED and any(
        scheme.strip().lower().startswith("negotiate") for scheme in schemes
    )


def _is_refusal(reply: aiohttp.ClientResponse) -> bool:
    """Whether the server refused the token itself; a 403 for an authenticated user comes with a cookie."""
    if reply.status == HTTPStatus.UNAUTHORIZED:
        return True
    return reply.status == HTTPStatus.FORBIDDEN and not any(
        _COOKIE.match(field) for field in reply.headers.getall("Set-Cookie", ())
    )
