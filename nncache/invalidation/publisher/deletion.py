"""Delete znodes with everything below them, and track those that cannot be deleted.

A client that ZooKeeper's ACLs allow to create a znode can also create znodes below it and hide them. No other client
can then delete that znode.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final, TypeAlias

from nncache.coordination.errors import NoNodeError, NotAllowedError, NotEmptyError
from nncache.coordination.zookeeper import DeleteOp, SetDataOp, Znode, ZnodeOp, ZooKeeper
from nncache.invalidation.channel.untrusted_znodes import each_znode
from nncache.invalidation.channel.znodes import ZnodePaths, parse_txid
from nncache.invalidation.publisher.recovery import VOID
from nncache.net.some_names import some_names

AT_ONCE: Final = 500
"""Znodes deleted by one transaction."""

Commit: TypeAlias = Callable[[Sequence[ZnodeOp]], Awaitable[None]]


async def delete_all(zookeeper: ZooKeeper, paths: Sequence[str], commit: Commit) -> tuple[str, ...]:
    """Delete these znodes, in this order, each after everything below it; missing ones are ignored.

    Return those that stay because ZooKeeper's ACLs protect znodes below them. Each transaction goes through `commit`;
    a concurrent write makes it fail.

    Raises:
        CoordinationError: ZooKeeper does not answer, or refuses.
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
    """Delete everything below a znode, the oldest records first, so that only the newest can be left.

    Return False if ZooKeeper's ACLs hide what is below, or forbid deleting some of it. Deleting the znode itself is a
    right to its parent: without children it is possible even then.

    Raises:
        CoordinationError: ZooKeeper does not answer, or refuses.
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
    """Return the names of a stream's children: unknown names first, then records by transaction."""
    return sorted(names, key=lambda name: (parse_txid(name) or 0, name))


async def _delete(zookeeper: ZooKeeper, paths: list[str], commit: Commit) -> list[str]:
    """Delete these znodes; return those that stay because znodes below them do."""
    left: list[str] = []
    while paths:
        try:
            await commit([DeleteOp(path) for path in paths])
        except NotEmptyError as exc:  # records have no children; znodes of other clients may
            if exc.path not in paths:
                raise
            if not await clear(zookeeper, exc.path, commit):
                paths.remove(exc.path)
                left.append(exc.path)
        else:
            break
    return left


MAX_LOGGED: Final = 10_000
"""Paths that are remembered as logged."""

_log = logging.getLogger(__name__)


class LeftZnodes:
    """The znodes that cannot be deleted. It outlasts the publisher's runs."""

    def __init__(self, zookeeper: ZooKeeper, znodes: ZnodePaths) -> None:
        self._zookeeper = zookeeper
        self._znodes = znodes
        self._logged: set[str] = set()

    async def leave(self, paths: Collection[str], commit: Commit) -> None:
        """Empty the definitions among these znodes, so that no reader uses them, and log each znode once.

        A definition that is hidden from the publisher is also hidden from readers, which ignore it.

        Raises:
            CoordinationError: ZooKeeper does not answer, or forbids writing to a definition that can be read.
        """
        for path in paths:
            if path.rpartition("/")[0] == self._znodes.filters:
                await self._empty(path, commit)
        news = sorted(set(paths) - self._logged)
        if news:
            if len(self._logged) + len(news) > MAX_LOGGED:
                self._logged.clear()
            self._logged.update(paths)  # all paths, so that the next call does not log them again
            _log.warning(
                "ZooKeeper's ACLs do not let this publisher delete what is below %s: it stays, and a filter of that "
                "name is not published until a client with the right to delete it does so",
                some_names(news),
            )

    def leave_record(self, path: str) -> None:
        """Log once that an old record stays; no reader needs it any more."""
        if path in self._logged:
            return
        if len(self._logged) >= MAX_LOGGED:
            self._logged.clear()
        self._logged.add(path)
        _log.warning(
            "another client keeps znodes below the old record %s, and ZooKeeper's ACLs do not let this publisher "
            "delete them: the record stays until a client with the right to do so deletes it; publishing goes on",
            path,
        )

    async def _empty(self, path: str, commit: Commit) -> None:
        try:
            znode = await self._zookeeper.get(path)
        except NotAllowedError:
            return
        if znode.data != VOID:
            await commit([SetDataOp(path, VOID, znode.version)])
