"""Who may see a page that shows paths and users: operators alone.

With a token, who brings it. Without one, clients on this host that name it by a name of its own: a browser that was
led here by DNS rebinding sends the name of the page that it came from.
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
    """What a client shows to be let in.

    Attributes:
        value: the secret.
        holder: whom it was given to, for the audit log; "" if the file does not say.
        may_change: it is an operator's, not only a reader's.
    """

    value: str = field(repr=False)
    holder: str = ""
    may_change: bool = True


@dataclass(frozen=True, slots=True)
class Admitted:
    """A client that may see operators' pages; `holder` is that of its token, "" without one."""

    holder: str
    may_change: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """One that may not; or it may not change what it asks to be changed."""

    status: int
    why: str


class Access:
    """The rule for one admin port."""

    def __init__(
        self,
        host: str,
        tokens: Collection[Token] = (),
        names: Iterable[str] = (),
        certificate: ServerCertificate | None = None,
    ) -> None:
        """Let in who brings one of these tokens, over TLS if there is a certificate; without any, this host."""
        self.certificate = certificate
        """With which the port is served; None: in plain HTTP."""
        self._tokens = tuple(tokens)
        self._names = _LOCAL_NAMES | {host.lower()} | {name.lower() for name in names}

    @property
    def scheme(self) -> Literal["http", "https"]:
        """How the port is asked."""
        return "http" if self.certificate is None else "https"

    def judge(self, peer: str | None, host: str | None, authorization: str | None) -> Admitted | Refused:
        """Say whether a client may see operators' pages.

        Args:
            peer: the address of the client.
            host: the Host header.
            authorization: the Authorization header.
        """
        if self._tokens:
            given = _token_of(authorization)
            # All are compared, so that the time does not tell which one is nearly right.
            fitting = [
                each
                for each in self._tokens
                if given is not None and hmac.compare_digest(given, each.value.encode())
            ]
            if fitting:
                return Admitted(fitting[0].holder, fitting[0].may_change)
            return Refused(
                401,
                "this page needs a token of admin_token_file or admin_reader_token_file: "
                "Authorization: Bearer TOKEN, or in a browser any user with the token as the password",
            )
        if not is_loopback(peer):
            return Refused(
                403,
                "this page shows paths and users, to clients on this host only; "
                "set admin_token_file to read it from elsewhere",
            )
        if _name_of(host) not in self._names:
            return Refused(403, "the Host header names another host; add it to admin_hosts if it is this one")
        return Admitted("", may_change=True)

    def judge_change(
        self, peer: str | None, host: str | None, authorization: str | None, origin: str | None
    ) -> Admitted | Refused:
        """Say the same of a request that changes something, which no other site may have a browser send.

        `origin` is the Origin header: every browser sends it with a POST, and other clients do not.
        """
        judged = self.judge(peer, host, authorization)
        own = f"{self.scheme}://{(host or '').lower()}"
        if isinstance(judged, Refused):
            return judged
        if not judged.may_change:
            return Refused(403, "this token is a reader's; a change needs one of admin_token_file")
        if origin is not None and origin.lower() != own:
            return Refused(
                403, "the Origin header names another site: this is for `nncache purge` and the like"
            )
        return judged


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
