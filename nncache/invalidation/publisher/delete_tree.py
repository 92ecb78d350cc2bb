"""Delete znodes with all that is below them."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeAlias

from nncache.coordination.errors import NoNodeError, NotAllowedError, NotEmptyError
from nncache.coordination.zookeeper import Delete, Operation, Znode, ZooKeeper
from nncache.invalidation.channel.many_znodes import each_znode
from nncache.invalidation.channel.znodes import parse_txid

AT_ONCE: Final = 500
"""Znodes deleted by one transaction."""

Commit: TypeAlias = Callable[[Sequence[Operation]], Awaitable[None]]


async def delete_all(zookeeper: ZooKeeper, paths: Sequence[str], commit: Commit) -> tuple[str, ...]:
    """Delete these znodes, in this order, and before them all that is below; those that are not there are fine.

    Return those that stay, since ZooKeeper's ACLs keep us from what is below them. Each transaction goes through
    `commit`. A concurrent write makes it fail.

    Raises:
        CoordinationError: ZooKeeper can't be asked, or refuses.
    """
    found: list[str] = []
    left: list[str] = []
    async for path, znode in each_znode(zookeeper, paths):
        if isinstance(znode, Znode) and znode.children and not await clear(zookeeper, path, commit):
            left.append(path)
        elif znode is not None:
            found.append(path)
    for first in range(0, len(found), AT_ONCE):
        left += await _delete(zookeeper, found[first : first + AT_ONCE], commit)
    return tuple(left)


async def clear(zookeeper: ZooKeeper, path: str, commit: Commit) -> bool:
    """Delete all that is below a znode, records from the oldest on: those left are always the newest.

    Return False if ZooKeeper's ACLs do not show what is below, or let us delete not all of it. The znode itself is its
    parent's matter: if nothing is below, it can be deleted all the same.

    Raises:
        CoordinationError: ZooKeeper can't be asked, or refuses.
    """
    try:
        names = await zookeeper.children(path)
    except NoNodeError:
        return True
    except NotAllowedError:
        return False
    paths = [f"{path}/{name}" for name in in_order(names)]
    left: list[str] = []
    try:
        for first in range(0, len(paths), AT_ONCE):
            left += await _delete(zookeeper, paths[first : first + AT_ONCE], commit)
    except NotAllowedError:
        return False
    return not left


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names of a stream's children, records by their transactions, what is none of them first."""
    return sorted(names, key=lambda name: (parse_txid(name) or 0, name))


async def _delete(zookeeper: ZooKeeper, paths: list[str], commit: Commit) -> list[str]:
    """Delete these; return those that stay, since what is below them does."""
    left: list[str] = []
    while paths:
        try:
            await commit([Delete(path) for path in paths])
        except NotEmptyError as exc:  # records have no children; what others put there may have some
            if exc.path not in paths:
                raise
            if not await clear(zookeeper, exc.path, commit):
                paths.remove(exc.path)
                left.append(exc.path)
        else:
            break
    return left
