"""What scenarios begin with."""

from collections.abc import Callable
from typing import Final

from tests.model import namespace as ns
from tests.model import operations
from tests.model.draws import USERS
from tests.model.namespace import SUPERUSER
from tests.model.system import System
from tests.model.writes import by

SETTLED_S: Final = 1.3
"""Events that nothing holds up have arrived, and are known to have."""

GAPS_S: Final = (0.0, 0.002, 0.03, SETTLED_S)
"""How long a scenario may pause between two of its steps."""


def behind(system: System, act: Callable[..., list[ns.Step]], path: str, *args: object) -> None:
    """Change something behind the proxy's back, as who may do everything."""
    system.cluster.try_write(by(SUPERUSER, act, path, *args))


def in_sight(system: System, directory: str, mode: int) -> tuple[str, str]:
    """Let one user own a directory and everybody come as far as that; return the owner and the other user."""
    for each in (*ns.above(directory)[1:], directory):
        behind(system, operations.mkdirs, each)
        behind(system, operations.set_permission, each, 0o755)
    behind(system, operations.set_owner, directory, USERS[0])
    behind(system, operations.set_permission, directory, mode)
    return USERS[0], USERS[1]
