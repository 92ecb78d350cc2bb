"""The starting state of scenarios."""

from collections.abc import Callable
from typing import Final

from tests.model import namespace as ns
from tests.model import operations
from tests.model.draws import USERS
from tests.model.namespace import SUPERUSER
from tests.model.system import ModelSystem
from tests.model.writes import by

SETTLED_S: Final = 1.3
"""Time in seconds after which undelayed events have arrived and are covered."""

GAPS_S: Final = (0.0, 0.002, 0.03, SETTLED_S)
"""Possible pauses between two steps of a scenario, in seconds."""


def behind(system: ModelSystem, act: Callable[..., list[ns.Step]], path: str, *args: object) -> None:
    """Change something behind the proxy's back, as the superuser."""
    system.cluster.try_write(by(SUPERUSER, act, path, *args))


def in_sight(system: ModelSystem, directory: str, mode: int) -> tuple[str, str]:
    """Make a directory owned by one user that everyone can traverse to; return its owner and the other."""
    for each in (*ns.above(directory)[1:], directory):
        behind(system, operations.mkdirs, each)
        behind(system, operations.set_permission, each, 0o755)
    behind(system, operations.set_owner, directory, USERS[0])
    behind(system, operations.set_permission, directory, mode)
    return USERS[0], USERS[1]
