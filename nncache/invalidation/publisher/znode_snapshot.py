"""Read a nameservice's znodes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from nncache.coordination.errors import NoNodeError, NotAllowedError
from nncache.coordination.task_group import each_bounded
from nncache.coordination.zookeeper import Znode, ZooKeeper
from nncache.invalidation.channel.untrusted_znodes import UnreadableZnode, each_znode
from nncache.invalidation.channel.znode_json import MAX_RECORD_BYTES
from nncache.invalidation.channel.znodes import ZnodePaths, is_filter_name
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.publisher.recovery import FoundStream, FoundTree, newest_of

AT_ONCE: Final = 64
"""Lists of children requested at the same time."""

_MAX_VALUE_BYTES: Final = 32
"""Size limit of a stream's value: a transaction id has at most 19 digits."""

ATTEMPTS: Final = 3
"""Attempts to read everything: a write of an ended run may arrive late, during one of them."""


async def read_tree(zookeeper: ZooKeeper, znodes: ZnodePaths) -> FoundTree:
    """Return a nameservice's znodes, all read at one version of `.cache`, which fences the writes that build on them.

    Raises:
        ChannelUnavailableError: another process keeps writing.
        CoordinationError: ZooKeeper does not answer, or refuses.
    """
    for _ in range(ATTEMPTS):
        found = await _read(zookeeper, znodes)
        (cache,) = await zookeeper.get_many([znodes.cache])
        if _version(None if found.cache is None else found.cache.znode) == _version(cache):
            return found
    raise ChannelUnavailableError(f"{znodes.cache}: another process is publishing")


async def _read(zookeeper: ZooKeeper, znodes: ZnodePaths) -> FoundTree:
    cache, filters = await zookeeper.get_many([znodes.cache, znodes.filters])
    children = await zookeeper.children(znodes.namespace)
    names = tuple(name for name in children if is_filter_name(name))
    definitions = () if filters is None else await zookeeper.children(znodes.filters)
    streams = await _values(zookeeper, {name: znodes.stream(name) for name in names}, _MAX_VALUE_BYTES)
    read = await _values(zookeeper, {name: znodes.definition(name) for name in definitions}, MAX_RECORD_BYTES)
    with_records = [
        znode.path for znode in (cache, *streams.values()) if znode is not None and znode.children
    ]
    records = await _children_of(zookeeper, with_records)
    newest_txid = newest_of(records.get(znodes.cache, ()))
    newest = None
    if newest_txid is not None:
        (newest,) = await zookeeper.get_many([znodes.record(znodes.cache, newest_txid)])
    return FoundTree(
        children=children,
        cache=None if cache is None else FoundStream(cache, records.get(znodes.cache, ())),
        newest=newest,
        filters=filters,
        definitions=read,
        streams={name: FoundStream(znode, records.get(znode.path, ())) for name, znode in streams.items()},
    )


async def _values(zookeeper: ZooKeeper, paths: Mapping[str, str], max_bytes: int) -> dict[str, Znode]:
    """Return the znodes that exist, by the names of their paths.

    A znode that cannot be read, or is larger than any that a publisher writes, is damaged: it has no data here.
    """
    names = {path: name for name, path in paths.items()}
    found: dict[str, Znode] = {}
    async for path, znode in each_znode(zookeeper, tuple(names)):
        match znode:
            case Znode() if len(znode.data) <= max_bytes:
                found[names[path]] = znode
            case Znode():
                found[names[path]] = replace(znode, data=b"")
            case UnreadableZnode():
                found[names[path]] = Znode(
                    path=path, data=b"", version=0, created_zxid=0, children=0, owner_session=0
                )
            case None:
                pass
            case _:
                assert_never(znode)
    return found


def _version(znode: Znode | None) -> tuple[int, int] | None:
    return None if znode is None else (znode.created_zxid, znode.version)


async def _children_of(zookeeper: ZooKeeper, paths: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the children of many znodes, with a bounded number of requests at a time."""
    found: dict[str, tuple[str, ...]] = {}

    async def ask(path: str) -> None:
        try:
            found[path] = await zookeeper.children(path)
        except (NoNodeError, NotAllowedError):
            found[path] = ()

    await each_bounded(paths, ask, at_once=AT_ONCE)
    return found
