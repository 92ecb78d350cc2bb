"""Read many znodes, some of which may be hostile, and log each bad one once.

A client that ZooKeeper's ACLs allow to create a znode chooses its data, its size and who may read it.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.coordination.errors import NotAllowedError
from nncache.coordination.zookeeper import Znode, ZooKeeper

AT_ONCE: Final = 100
"""Znodes read together; with ZooKeeper's default limit of 1 MiB each, this bounds the memory."""


@dataclass(frozen=True, slots=True)
class UnreadableZnode:
    """A znode that its ACL does not let us read."""

    error: NotAllowedError


async def each_znode(
    zookeeper: ZooKeeper, paths: Sequence[str]
) -> AsyncIterator[tuple[str, Znode | UnreadableZnode | None]]:
    """Yield each path with its znode; None if it does not exist. A refused read affects only its own znode.

    Raises:
        ConnectionLostError: no answer.
    """
    for start in range(0, len(paths), AT_ONCE):
        chunk = paths[start : start + AT_ONCE]
        try:
            found: Sequence[Znode | UnreadableZnode | None] = await zookeeper.get_many(chunk)
        except NotAllowedError:
            found = [await _alone(zookeeper, path) for path in chunk]
        for path, znode in zip(chunk, found, strict=True):
            yield path, znode


async def _alone(zookeeper: ZooKeeper, path: str) -> Znode | UnreadableZnode | None:
    try:
        (found,) = await zookeeper.get_many([path])
    except NotAllowedError as exc:
        return UnreadableZnode(exc)
    return found


MAX_REMEMBERED: Final = 1000
"""Paths that are remembered; if there are more, something else is wrong."""

_log = logging.getLogger(__name__)


class BadZnodes:
    """Znodes that are corrupt, or do not belong to the channel. They affect only what depends on them."""

    def __init__(self) -> None:
        self._corrupt: set[str] = set()
        self._foreign: set[str] = set()

    @property
    def corrupt_znodes(self) -> int:
        """The number of znodes whose data could not be read."""
        return len(self._corrupt)

    @property
    def foreign_znodes(self) -> int:
        """The number of znodes with names that the channel does not use."""
        return len(self._foreign)

    def corrupt(self, path: str, why: str) -> None:
        """Record a znode with unreadable data."""
        if _is_new(path, self._corrupt):
            _log.warning("corrupt znode, ignored: %s", why)

    def foreign(self, path: str) -> None:
        """Record a znode that does not belong to the channel."""
        if _is_new(path, self._foreign):
            _log.warning("foreign znode, ignored: %s", path)


def _is_new(path: str, known: set[str]) -> bool:
    if path in known or len(known) >= MAX_REMEMBERED:
        return False
    known.add(path)
    return True
