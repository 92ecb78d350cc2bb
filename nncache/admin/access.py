"""Access control of pages that show paths and users: only operators may see them.

With tokens configured, a client must send one. Without tokens, only clients on this host are admitted, if their Host
header names this host: a browser that was misled by DNS rebinding sends the name of the attacking site.
"""

import base64
import hmac
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Literal

from nncache.tls_server.certificate import ServerCertificate

_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Token:
    """A secret with which a client is admitted.

    Attributes:
        value: the secret.
        holder: the name of its holder, for the audit log; "" if the file has none.
        may_change: whether it is an operator's, not only a reader's.
    """

    value: str = field(repr=False)
    holder: str = ""
    may_change: bool = True


@dataclass(frozen=True, slots=True)
class AccessGranted:
    """A client that may see operators' pages; `holder` is the name of its token's holder, "" without one."""

    holder: str
    may_change: bool


@dataclass(frozen=True, slots=True)
class AccessDenied:
    """A client that may not see operators' pages, or may not make the requested change."""

    status: int
    why: str


class Access:
    """The access rule of one admin port."""

    def __init__(
        self,
        host: str,
        tokens: Collection[Token] = (),
        names: Iterable[str] = (),
        certificate: ServerCertificate | None = None,
    ) -> None:
        """Admit clients with one of these tokens, or without tokens this host; over TLS if there is a certificate."""
        self.certificate = certificate
        """The certificate of the port; None: plain HTTP."""
        self._tokens = tuple(tokens)
        self._names = _LOCAL_NAMES | {host.lower()} | {name.lower() for name in names}

    @property
    def scheme(self) -> Literal["http", "https"]:
        """The URL scheme of the port."""
        return "http" if self.certificate is None else "https"

    def judge(
        self, peer: str | None, host: str | None, authorization: str | None
    ) -> AccessGranted | AccessDenied:
        """Return whether a client may see operators' pages.

        Args:
            peer: the address of the client.
            host: the Host header.
            authorization: the Authorization header.
        """
        if self._tokens:
            given = _token_of(authorization)
            # All tokens are compared, so that the duration does not reveal a partial match.
            fitting = [
                each
                for each in self._tokens
                if given is not None and hmac.compare_digest(given, each.value.encode())
            ]
            if fitting:
                return AccessGranted(fitting[0].holder, fitting[0].may_change)
            return AccessDenied(
                401,
                "this page needs a token of admin_token_file or admin_reader_token_file: "
                "Authorization: Bearer TOKEN, or in a browser any user with the token as the password",
            )
        if not is_loopback(peer):
            return AccessDenied(
                403,
                "this page shows paths and users, to clients on this host only; "
                "set admin_token_file to read it from elsewhere",
            )
        if _name_of(host) not in self._names:
            return AccessDenied(
                403, "the Host header names another host; add it to admin_hosts if it is this one"
            )
        return AccessGranted("", may_change=True)

    def judge_change(
        self, peer: str | None, host: str | None, authorization: str | None, origin: str | None
    ) -> AccessGranted | AccessDenied:
        """Return the same for a request that changes something, which no other site may make a browser send.

        `origin` is the Origin header: every browser sends it with a POST, and other clients do not.
        """
        judged = self.judge(peer, host, authorization)
        own = f"{self.scheme}://{(host or '').lower()}"
        if isinstance(judged, AccessDenied):
            return judged
        if not judged.may_change:
            return AccessDenied(403, "this token is a reader's; a change needs one of admin_token_file")
        if origin is not None and origin.lower() != own:
            return AccessDenied(
                403, "the Origin header names another site: this is for `nncache purge` and the like"
            )
        return judged


def is_loopback(peer: str | None) -> bool:
    """Return whether an address is that of a client on this host."""
    try:
        return ip_address((peer or "").removeprefix("::ffff:")).is_loopback
    except ValueError:
        return False


def _token_of(authorization: str | None) -> bytes | None:
    """Return the sent token: `Bearer TOKEN`, or the password of `Basic`, for which a browser prompts."""
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
