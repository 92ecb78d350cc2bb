"""Delete znodes with all that is below them. (invalidation/publisher/clearing.py)"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias

from coordination.errors import NoNodeError, NotEmptyError
from coordination.zookeeper import Delete, Operation, ZooKeeper
from invalidation.channel.znodes import parse_txid

AT_ONCE: Final = 500
"""Znodes deleted by one transaction."""

Commit: TypeAlias = Callable[[Sequence[Operation]], Awaitable[None]]


async def delete_all(zookeeper: ZooKeeper, paths: Sequence[str], commit: Commit) -> None:
    """Delete these znodes, in this order, and before them all that is below; those that are not there are fine.

    Each transaction goes through `commit`. Whoever writes there at the same time makes it fail.

    Raises:
        CoordinationError: ZooKeeper can't be asked, or refuses.
    """
    found = [znode for znode in await zookeeper.get_many(paths) if znode is not None]
    for znode in found:
        if znode.children:
            await clear(zookeeper, znode.path, commit)
    for first in range(0, len(found), AT_ONCE):
        await _delete(zookeeper, [znode.path for znode in found[first : first + AT_ONCE]], commit)


async def clear(zookeeper: ZooKeeper, path: str, commit: Commit) -> None:
    """Delete all that is below a znode, records from the oldest on: those left are always the newest.

    Raises:
        CoordinationError: ZooKeeper can't be asked, or refuses.
    """
    try:
        names = await zookeeper.children(path)
    except NoNodeError:
        return
    paths = [f"{path}/{name}" for name in in_order(names)]
    for first in range(0, len(paths), AT_ONCE):
        await _delete(zookeeper, paths[first : first + AT_ONCE], commit)


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names of a stream's children, records by their transactions, what is none of them first."""
    return sorted(names, key=lambda name: (parse_txid(name) or 0, name))


async def _delete(zookeeper: ZooKeeper, paths: list[str], commit: Commit) -> None:
    while True:
        try:
            await commit([Delete(path) for path in paths])
        except NotEmptyError as exc:  # records have no children; what others put there may have some
            if exc.path not in paths:
                raise
            await clear(zookeeper, exc.path, commit)
        else:
            return
