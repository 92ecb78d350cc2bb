"""What a proxy that authenticates its clients itself says of a request (`nncache.spnego`)."""

from dataclasses import dataclass
from typing import Final, Protocol

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import PREFIX, StatusRequest
from nncache.hadoop.credentials import COOKIE_NAME
from nncache.proxy.messages import Header, Headers

CHALLENGE: Final[Header] = (b"WWW-Authenticate", b"Negotiate")
TAKEN_BACK: Final[Header] = (b"Set-Cookie", COOKIE_NAME + b"=; Path=/; HttpOnly")
"""What a NameNode sends beside its challenge, too."""

WEBHDFS: Final = f"{PREFIX}/"


class Lease(Protocol):
    """By what a proxy that authenticates its clients takes a request for one of its user's, as long as that is so."""

    @property
    def ends_at(self) -> float:
        """Local time at which it ends by itself, at the latest."""

    @property
    def otherwise(self) -> Caller | None:
        """The caller once this has ended, by the credential that the request carries; None: it is refused."""

    def is_good(self) -> bool:
        """Whether it still is so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The request is one of an authenticated user.

    Attributes:
        user: for whom the NameNode is asked.
        target: as it goes there.
        plain: what it asks of the cache; None: nothing.
        headers: of the request, without credentials.
        adds: header fields of ours for the reply.
        repeatable_until: local time until which the same head would be admitted again, whatever else happens but the
            end of a key; None: it is looked at each time.
        lease: for how long the request may be held, or streamed to.
    """

    user: str
    target: str
    plain: StatusRequest | None
    headers: Headers
    adds: Headers
    repeatable_until: float | None
    lease: Lease


@dataclass(frozen=True, slots=True)
class ByToken:
    """A delegation token says who asks, which the NameNode judges.

    Attributes:
        headers: of the request, without other credentials.
    """

    headers: Headers
