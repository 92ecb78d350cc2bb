"""Log in at the web servers of NameNodes: SPNEGO once, then the cookie. (hadoop/kerberos/web_login.py)

Source: RFC 4559; org.apache.hadoop.security.authentication.server.{KerberosAuthenticationHandler,AuthenticationFilter}
of Hadoop 3.4.1 and 3.5.0, measured there: the cookie is that of the very NameNode, lasts 10 hours and is not renewed by
use; a token that comes twice is refused as a replay.
"""

import re
from collections.abc import Collection
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp.client_middlewares import ClientHandlerType

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.advice import with_advice
from nncache.hadoop.kerberos.identity import KerberosIdentity

_COOKIE: Final = re.compile(r'\s*hadoop\.auth=("?)([^";]+)\1\s*(?:;|$)')

_KDC_SHARE: Final = 0.6
"""Of a request's time: the KDC gets so much of it, so that its silence is not taken for the NameNode's."""


class WebLogin:
    """A middleware of `aiohttp.ClientSession`: it answers a 401 that asks for Negotiate, and keeps the cookie.

    Invariants:
        W1  A token is made for one request, and sent once. What aiohttp repeats comes through here again.
        W2  A cookie goes only to the address that set it, and only those of `addresses` get a token.
    """

    def __init__(self, identity: KerberosIdentity, addresses: Collection[str], *, timeout_s: float) -> None:
        """Log in at these addresses, host:port each; `timeout_s` is that of the requests."""
        self._identity = identity
        self._addresses = frozenset(addresses)
        self._kdc_timeout_s = timeout_s * _KDC_SHARE
        self._cookies: dict[str, str] = {}  # by address

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Make a request, twice if it must log in first.

        Raises:
            KerberosError: There is no ticket for the server, or it does not accept it.
        """
        address = request.url.authority
        if address not in self._addresses:
            return await handler(request)
        if (cookie := self._cookies.get(address)) is not None:
            request.headers["Cookie"] = f"hadoop.auth={cookie}"
        reply = await handler(request)
        if not _is_challenge(reply):
            self._keep(address, reply)
            return reply
        await reply.read()  # so that its connection is used again
        if self._cookies.get(address) == cookie:
            self._cookies.pop(address, None)
        request.headers.pop("Cookie", None)
        host = request.url.raw_host or ""
        request.headers["Authorization"] = await self._identity.negotiation(host, self._kdc_timeout_s)
        reply = await handler(request)
        self._keep(address, reply)
        if _is_refusal(reply):
            self._identity.doubt()
            said = reply.reason or str(reply.status)
            reply.close()
            raise KerberosError(
                f"{address} does not accept {self._identity.name} as HTTP/{host}: {with_advice(said)}; see that "
                f"hadoop.http.authentication.kerberos.principal and its keytab there are those of HTTP/{host}"
            )
        return reply

    def cookie(self, address: str) -> str | None:
        """Return the value of the cookie of an address; None before a request was made there."""
        return self._cookies.get(address)

    def forget(self, address: str, cookie: str) -> None:
        """Log in again before the next request to an address: this cookie is not accepted there any more."""
        if self._cookies.get(address) == cookie:
            del self._cookies[address]

    def take(self, address: str, field: str) -> None:
        """Keep the cookie of a `Set-Cookie` that came with a request made in another way."""
        if (match := _COOKIE.match(field)) is not None:
            self._cookies[address] = match[2]

    def _keep(self, address: str, reply: aiohttp.ClientResponse) -> None:
        for field in reply.headers.getall("Set-Cookie", ()):
            self.take(address, field)


def _is_challenge(reply: aiohttp.ClientResponse) -> bool:
    schemes = reply.headers.getall("WWW-Authenticate", ())
    return reply.status == HTTPStatus.UNAUTHORIZED and any(
        scheme.strip().lower().startswith("negotiate") for scheme in schemes
    )


def _is_refusal(reply: aiohttp.ClientResponse) -> bool:
    """Whether the token itself was refused; a 403 to a user whom the server has authenticated comes with a cookie."""
    if reply.status == HTTPStatus.UNAUTHORIZED:
        return True
    return reply.status == HTTPStatus.FORBIDDEN and not any(
        _COOKIE.match(field) for field in reply.headers.getall("Set-Cookie", ())
    )
