"""Who may see a page that shows paths and users: operators alone.

With a token, who brings it. Without one, clients on this host that name it by a name of its own: a browser that was
led here by DNS rebinding sends the name of the page that it came from.
"""

import base64
import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final, Literal

from nncache.proxy.clients.server_certificate import ServerCertificate

_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Access:
    """The rule for one admin port."""

    def __init__(
        self,
        host: str,
        token: str | None = None,
        names: Iterable[str] = (),
        certificate: ServerCertificate | None = None,
    ) -> None:
        """Let in who brings this token, over TLS if there is a certificate."""
        self.certificate = certificate
        """With which the port is served; None: in plain HTTP."""
        self._token = token
        self._names = _LOCAL_NAMES | {host.lower()} | {name.lower() for name in names}

    @property
    def scheme(self) -> Literal["http", "https"]:
        """How the port is asked."""
        return "http" if self.certificate is None else "https"

    def refusal(
        self, peer: str | None, host: str | None, authorization: str | None
    ) -> tuple[int, str] | None:
        """Return status and text for a client that may not see the page; None for one that may.

        Args:
            peer: the address of the client.
            host: the Host header.
            authorization: the Authorization header.
        """
        if self._token is not None:
            given = _token_of(authorization)
            if given is not None and hmac.compare_digest(given, self._token.encode()):
                return None
            return 401, (
                "this page needs the token of admin_token_file: Authorization: Bearer TOKEN, "
                "or in a browser any user with the token as the password"
            )
        if not is_loopback(peer):
            return 403, (
                "this page shows paths and users, to clients on this host only; "
                "set admin_token_file to read it from elsewhere"
            )
        if _name_of(host) not in self._names:
            return 403, "the Host header names another host; add it to admin_hosts if it is this one"
        return None

    def refusal_to_change(
        self, peer: str | None, host: str | None, authorization: str | None, origin: str | None
    ) -> tuple[int, str] | None:
        """Return the same for a request that changes something, which no other site may have a browser send.

        `origin` is the Origin header: every browser sends it with a POST, and other clients do not.
        """
        refused = self.refusal(peer, host, authorization)
        own = f"{self.scheme}://{(host or '').lower()}"
        if refused is None and origin is not None and origin.lower() != own:
            return 403, "the Origin header names another site: this is for `nncache purge` and the like"
        return refused


def is_loopback(peer: str | None) -> bool:
    """Whether this is the address of a client on this host."""
    try:
        return ip_address((peer or "").removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


def _token_of(authorization: str | None) -> bytes | None:
    """Return the token that is given: `Bearer TOKEN`, or as the password of `Basic`, which a browser asks for."""
    scheme, _, given = (authorization or "").partition(" ")
    match scheme.lower():
        case "bearer":
            return given.strip().encode("utf-8", "replace")
        case "basic":
            try:
                return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
            except ValueError:
                return None
        case _:
            return None


def _name_of(host: str | None) -> str:
    """Return the host of a Host header without its port."""
    text = (host or "").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]
