"""Authentication methods: the credentials in each user's requests.

A cluster without Kerberos trusts `user.name`; the methods of one with Kerberos are in `tests/secured/auth_methods.py`.
"""

from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Signature:
    """The credentials of a request.

    Attributes:
        query: parameters, each after an `&`; may be empty.
        headers: header fields of the request.
    """

    query: str = ""
    headers: tuple[Header, ...] = ()

    def target(self, path: str, op: str = "GETFILESTATUS") -> str:
        """Return the request target of a call without other parameters."""
        return f"{PREFIX}{quote(path)}?op={op}{self.query}"


class AuthMethod(Protocol):
    """An authentication method.

    Attributes:
        impostors: pseudo-users who must get no answer; `of` returns their credentials, too.
        is_kept: whether credentials are valid for more than one request.
        is_judged_by_proxy: whether the proxy itself must authenticate its clients.
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
        """Return the credentials of this user's requests, always the same ones if `is_kept`."""


class UserName:
    """`user.name`, which the cluster trusts."""

    impostors: tuple[str, ...] = ()
    is_kept = True
    is_judged_by_proxy = False

    def of(self, user: str) -> Signature:
        """Return the parameter `user.name`."""
        return Signature(f"&user.name={user}")


USER_NAME: Final = UserName()
