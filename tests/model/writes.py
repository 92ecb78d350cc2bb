"""Changes: the user, the WebHDFS request, and the effect on a namespace."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.model import operations
from tests.model.namespace import SUPERUSER, Namespace, Step
from tests.model.operations import Operation


def by(user: str, act: Callable[..., list[Step]], path: str, *arguments: object) -> Operation:
    """Return the change that a user makes to a path: one of `operations`, with its own arguments."""

    def operation(now: Namespace, txid: int) -> list[Step]:
        return act(now, user, path, *arguments, txid)

    return operation


@dataclass(frozen=True, slots=True)
class Write:
    """A change of one step."""

    method: str
    path: str
    query: str
    operation: Operation
    user: str = SUPERUSER


def touch(path: str, user: str = SUPERUSER) -> Write:
    """Set the modification time."""
    return Write("PUT", path, "op=SETTIMES", by(user, operations.set_times, path), user)


def delete(path: str, user: str = SUPERUSER) -> Write:
    """Delete a subtree."""
    return Write("DELETE", path, "op=DELETE&recursive=true", by(user, operations.delete, path), user)


def mkdirs(path: str, user: str = SUPERUSER) -> Write:
    """Create a directory and its missing ancestors."""
    return Write("PUT", path, "op=MKDIRS", by(user, operations.mkdirs, path), user)


def rename(path: str, to: str, user: str = SUPERUSER) -> Write:
    """Rename a path."""
    return Write("PUT", path, f"op=RENAME&destination={to}", by(user, operations.rename, path, to), user)


def chmod(path: str, mode: int, user: str = SUPERUSER) -> Write:
    """Change a mode."""
    query = f"op=SETPERMISSION&permission={mode:o}"
    return Write("PUT", path, query, by(user, operations.set_permission, path, mode), user)


def chown(path: str, owner: str) -> Write:
    """Change an owner."""
    return Write("PUT", path, f"op=SETOWNER&owner={owner}", by(SUPERUSER, operations.set_owner, path, owner))


def replicate(path: str, user: str = SUPERUSER) -> Write:
    """Change the replication."""
    return Write("PUT", path, "op=SETREPLICATION", by(user, operations.set_replication, path), user)


def truncate(path: str, user: str = SUPERUSER) -> Write:
    """Truncate a file to length 0."""
    return Write("POST", path, "op=TRUNCATE&newlength=0", by(user, operations.truncate, path), user)


def set_policy(path: str) -> Write:
    """Set a storage policy: no event reports it."""
    query = "op=SETSTORAGEPOLICY&storagepolicy=HOT"
    return Write("PUT", path, query, by(SUPERUSER, operations.set_storage_policy, path))


@dataclass(frozen=True, slots=True)
class TwoSteps:
    """A write whose second step bypasses the proxy.

    Attributes:
        opens: the first change of the second step: namespace, user, path, transaction.
    """

    method: str
    query: str
    opens: Callable[[Namespace, str, str, int], list[Step]]
    user: str = SUPERUSER

    def by(self, user: str) -> "TwoSteps":
        """Return the same write by another user."""
        return replace(self, user=user)


CREATE: Final = TwoSteps("PUT", "op=CREATE&overwrite=true", operations.create)
APPEND: Final = TwoSteps("POST", "op=APPEND", operations.append)
