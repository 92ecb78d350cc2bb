"""Everything below a path of the registry, as it was read. (registry/tree_reading.py)

A tree is read level by level, a hundred znodes a call. That is no snapshot: what other clients change meanwhile may be
seen or not. Records are parsed a slice at a time, and only those that are asked for.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final

from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.zookeeper import Znode
from nncache.registry import paths
from nncache.registry.at_once import at_once
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.entry import Entry, EntryStatus, Unreadable
from nncache.registry.errors import InvalidRecordError, NoRecordError, PathNotFoundError, RegistryIOError
from nncache.registry.operations import Registry, status_of
from nncache.registry.record import ServiceRecord
from nncache.registry.record_json import parse_record
from nncache.registry.slices import Slices

PER_CALL: Final = 100
"""Znodes of one call."""

CALLS_AT_ONCE: Final = 4
"""Calls for znodes that are under way: ZooKeeper reads while their replies are taken to pieces here."""


@dataclass(frozen=True, slots=True)
class TreeReading:
    """The entries at and below a path, in the order of their paths.

    Attributes:
        entries: with their records.
        bare: without a record.
        unreadable: whose record is broken, or whose children this client may not list.
    """

    entries: tuple[Entry, ...] = ()
    bare: tuple[EntryStatus, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def records(self) -> Mapping[str, ServiceRecord | None]:
        """By path: the record, None for none; what is unreadable is left out."""
        found: dict[str, ServiceRecord | None] = {status.path: None for status in self.bare}
        found.update((entry.path, entry.record) for entry in self.entries)
        return found


@dataclass(slots=True)
class _Walk:
    """What has been read so far."""

    znodes: dict[str, Znode] = field(default_factory=dict)  # by path of the registry
    refused: list[Unreadable] = field(default_factory=list)


async def read_tree(
    registry: Registry,
    path: str,
    query: EndpointQuery | None = None,
    *,
    after: str = "",
    limit: int | None = None,
) -> TreeReading:
    """Return the entries at and below a path; with a query, those alone with an endpoint that it matches.

    Args:
        registry: is read.
        path: of the topmost entry.
        query: what is searched for.
        after: what is not behind this path is left out; it need not be there.
        limit: records at most; what is behind the last one is left out.

    Raises:
        InvalidPathnameError: there can be no such path.
        PathNotFoundError: there is no such entry.
        RegistryIOError: ZooKeeper does not answer.
    """
    top = paths.readable(path)
    try:
        walk = await _walk(registry, top)
    except CoordinationError as error:
        raise RegistryIOError(top, f"could not be read: {error}") from error
    return await _reading(walk, query, after, limit)


async def _walk(registry: Registry, top: str) -> _Walk:
    walk = _Walk()
    level = [top]
    while level:
        found = await _znodes(registry, level)
        there = {path: znode for path, znode in zip(level, found, strict=True) if znode is not None}
        if not walk.znodes and not there:
            raise PathNotFoundError(top, "there is no such entry")
        walk.znodes.update(there)
        full = [path for path, znode in there.items() if znode.children]
        listed = await at_once(partial(_children, registry, walk), full)
        level = [child for children in listed for child in children]
    return walk


async def _znodes(registry: Registry, level: list[str]) -> list[Znode | None]:
    wanted = list(map(registry.znode, level))
    calls = [wanted[start : start + PER_CALL] for start in range(0, len(wanted), PER_CALL)]
    replies = await at_once(registry.zookeeper.get_many, calls, CALLS_AT_ONCE)
    return [znode for reply in replies for znode in reply]


async def _children(registry: Registry, walk: _Walk, path: str) -> list[str]:
    try:
        names = await registry.zookeeper.children(registry.znode(path))
    except NoNodeError:
        return []  # deleted meanwhile, and all below it
    except NotAllowedError as error:
        walk.refused.append(Unreadable(path, str(error)))
        return []
    return [paths.below(path, name) for name in names]


async def _reading(walk: _Walk, query: EndpointQuery | None, after: str, limit: int | None) -> TreeReading:
    entries: list[Entry] = []
    bare: list[EntryStatus] = []
    broken: list[Unreadable] = list(walk.refused)
    wanted = walk.znodes if query is None else await _possible(walk, query)
    in_order = sorted(wanted, key=paths.elements_of)
    start = bisect_right(in_order, paths.elements_of(after), key=paths.elements_of) if after else 0
    slices = Slices()
    for path in islice(in_order, start, None):
        if len(entries) == limit:
            break
        znode = walk.znodes[path]
        await slices.add(len(znode.data))
        try:
            record = parse_record(path, znode.data)
        except NoRecordError:
            bare.append(status_of(path, znode))
        except InvalidRecordError as error:
            broken.append(Unreadable(path, error.what))
        else:
            if query is None or query.matches_record(record):
                entries.append(Entry(status_of(path, znode), record))
    return TreeReading(tuple(entries), () if query is not None else tuple(bare), tuple(broken))


async def _possible(walk: _Walk, query: EndpointQuery) -> list[str]:
    """Return the paths of what a search may find: all others are neither parsed nor put in order."""
    possible: list[str] = []
    znodes = iter(walk.znodes.items())
    while some := list(islice(znodes, PER_CALL)):
        possible += [path for path, znode in some if query.is_possible_in(znode.data)]
        await asyncio.sleep(0)
    return possible
