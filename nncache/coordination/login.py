"""The login at ZooKeeper, as the connection uses it.

`nncache.coordination.sasl` implements it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class ZooKeeperLogin(Protocol):
    """The identity to log in with, any number of times."""

    @property
    def who(self) -> str:
        """The identity's name in messages."""
        ...

    @property
    def subscriber(self) -> str:
        """The ACL identity of a user who logs in the same way: scheme:id, with `{user}` for the name; "" if unknown."""
        ...

    def options(self, attempt: "Attempt") -> Mapping[str, Any]:
        """Return kazoo's `sasl_options` for one client."""
        ...

    def recheck(self) -> None:
        """Handle a login that a server refused: renew the credentials, if that is possible."""


@dataclass(slots=True)
class Attempt:
    """The login of one client; used in kazoo's thread."""

    on_success: Callable[[], None]  # called on each connection, once the server has accepted the login
    # Why it failed, if this side knows; otherwise the server has just closed the connection.
    failure: str = ""
