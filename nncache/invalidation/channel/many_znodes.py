"""Read many znodes, of which some may be hostile.

Anybody whom ZooKeeper's ACLs let create a znode chooses what it holds, how large it is and who may read it.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.coordination.errors import NotAllowedError
from nncache.coordination.zookeeper import Znode, ZooKeeper

AT_ONCE: Final = 100
"""Znodes read together; with ZooKeeper's default limit of 1 MiB each, that bounds the memory."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A znode that ZooKeeper's ACL does not show us."""

    error: NotAllowedError


async def each_znode(
    zookeeper: ZooKeeper, paths: Sequence[str]
) -> AsyncIterator[tuple[str, Znode | Refused | None]]:
    """Yield each path with its znode; None for one that is not there. One that is refused costs only itself.

    Raises:
        ConnectionLostError: no answer.
    """
    for start in range(0, len(paths), AT_ONCE):
        chunk = paths[start : start + AT_ONCE]
        try:
            found: Sequence[Znode | Refused | None] = await zookeeper.get_many(chunk)
        except NotAllowedError:
            found = [await _alone(zookeeper, path) for path in chunk]
        for path, znode in zip(chunk, found, strict=True):
            yield path, znode


async def _alone(zookeeper: ZooKeeper, path: str) -> Znode | Refused | None:
    try:
        (found,) = await zookeeper.get_many([path])
    except NotAllowedError as exc:
        return Refused(exc)
    return found
