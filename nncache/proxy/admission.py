"""Results of authentication by the proxy itself (`nncache.spnego`)."""

from dataclasses import dataclass
from typing import Final, Protocol

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import PREFIX, StatusRequest
from nncache.hadoop.credentials import COOKIE_NAME
from nncache.proxy.messages import Header, Headers

CHALLENGE: Final[Header] = (b"WWW-Authenticate", b"Negotiate")
CLEAR_COOKIE: Final[Header] = (b"Set-Cookie", COOKIE_NAME + b"=; Path=/; HttpOnly")
"""Clears the cookie. A NameNode sends this field with its challenge, too."""

WEBHDFS: Final = f"{PREFIX}/"


class AuthLease(Protocol):
    """The validity of one authentication by the proxy: for how long a request counts as its user's."""

    @property
    def ends_at(self) -> float:
        """Local time by which the lease expires at the latest."""

    @property
    def otherwise(self) -> Caller | None:
        """The caller after the lease has ended, by the request's own credential; None: the request is then refused."""

    def is_good(self) -> bool:
        """Whether the lease is still valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedRequest:
    """A request whose user the proxy has authenticated.

    Attributes:
        user: the user for whom the service asks the NameNode.
        target: the request target as it is sent to the NameNode.
        plain: the question to the cache; None: the request bypasses the cache.
        headers: the request's header fields, without credentials.
        adds: header fields that the proxy adds to the reply.
        repeatable_until: local time until which the same head would be admitted again, unless its key is retired
            before; None: each request is authenticated by itself.
        lease: for how long the request may be held, or its reply streamed.
    """

    user: str
    target: str
    plain: StatusRequest | None
    headers: Headers
    adds: Headers
    repeatable_until: float | None
    lease: AuthLease


@dataclass(frozen=True, slots=True)
class ByToken:
    """A request authenticated by a delegation token, which only the NameNode can check.

    Attributes:
        headers: the request's header fields, without other credentials.
    """

    headers: Headers
