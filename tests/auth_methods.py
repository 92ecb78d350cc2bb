"""Ways in which a client says who asks: what a request of each user carries.

A cluster without Kerberos believes `user.name`; the ways of one with Kerberos are in `tests/secured/auth_methods.py`.
"""

from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Signature:
    """What says who asks.

    Attributes:
        query: parameters, each behind an `&`; may be empty.
        headers: fields of the request.
    """

    query: str = ""
    headers: tuple[Header, ...] = ()

    def target(self, path: str, op: str = "GETFILESTATUS") -> str:
        """Return the request target of a call without other parameters."""
        return f"{PREFIX}{quote(path)}?op={op}{self.query}"


class AuthMethod(Protocol):
    """One way of asking.

    Attributes:
        impostors: names under which somebody asks who has no right to any answer; `of` signs them, too.
        is_kept: whether a signature is good for more than one request.
        is_judged_by_proxy: whether the proxy has to authenticate its clients itself.
    """

    @property
    def impostors(self) -> tuple[str, ...]:
        """See the class."""

    @property
    def is_kept(self) -> bool:
        """See the class."""

    @property
    def is_judged_by_proxy(self) -> bool:
        """See the class."""

    def of(self, user: str) -> Signature:
        """Return what a request of this user carries; always the same, if it is kept."""


class UserName:
    """`user.name`, which is believed."""

    impostors: tuple[str, ...] = ()
    is_kept = True
    is_judged_by_proxy = False

    def of(self, user: str) -> Signature:
        """Return the parameter."""
        return Signature(f"&user.name={user}")


USER_NAME: Final = UserName()
