"""What logs in at ZooKeeper, as its connection sees it.

`nncache.coordination.sasl` makes them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Login(Protocol):
    """The identity to log in with, any number of times."""

    @property
    def who(self) -> str:
        """For messages."""
        ...

    @property
    def subscriber(self) -> str:
        """How ZooKeeper knows a user that logs in the same way: scheme:id, `{user}` for their name; "" if unknown."""
        ...

    def options(self, attempt: "Attempt") -> Mapping[str, Any]:
        """Return kazoo's `sasl_options` for one client."""
        ...

    def recheck(self) -> None:
        """Take it that a server has refused what was shown."""


@dataclass(slots=True)
class Attempt:
    """The login of one client, in kazoo's thread."""

    on_success: Callable[[], None]  # called when the server has let it in, each time that the client connects
    # Why it failed, as far as this side knows; else the server has just closed the connection.
    failure: str = ""
