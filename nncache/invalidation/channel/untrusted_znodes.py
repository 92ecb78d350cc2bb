"""Read many znodes, of which some may be hostile, and log each bad one once.

Any client that ZooKeeper's ACLs let create a znode chooses its data, its size and who may read it.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.coordination.errors import NotAllowedError
from nncache.coordination.zookeeper import Znode, ZooKeeper

AT_ONCE: Final = 100
"""Znodes read together; with ZooKeeper's default limit of 1 MiB each, that bounds the memory."""


@dataclass(frozen=True, slots=True)
class UnreadableZnode:
    """A znode that ZooKeeper's ACL does not show us."""

    error: NotAllowedError


async def each_znode(
    zookeeper: ZooKeeper, paths: Sequence[str]
) -> AsyncIterator[tuple[str, Znode | UnreadableZnode | None]]:
    """Yield each path with its znode; None for one that is not there. One that is refused costs only itself.

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
"""Paths remembered; with more than that something else is wrong."""

_log = logging.getLogger(__name__)


class BadZnodes:
    """Znodes that hold what cannot be read, or are none of the channel's. Both cost only what depends on them."""

    def __init__(self) -> None:
        self._corrupt: set[str] = set()
        self._foreign: set[str] = set()

    @property
    def corrupt_znodes(self) -> int:
        """How many there were whose data could not be read."""
        return len(self._corrupt)

    @property
    def foreign_znodes(self) -> int:
        """How many there were whose name the channel does not use."""
        return len(self._foreign)

    def corrupt(self, path: str, why: str) -> None:
        """Take note of a znode that cannot be read."""
        if _is_new(path, self._corrupt):
            _log.warning("corrupt znode, ignored: %s", why)

    def foreign(self, path: str) -> None:
        """Take note of a znode that does not belong here."""
        if _is_new(path, self._foreign):
            _log.warning("foreign znode, ignored: %s", path)


def _is_new(path: str, known: set[str]) -> bool:
    if path in known or len(known) >= MAX_REMEMBERED:
        return False
    known.add(path)
    return True
