"""Reads a subtree of the registry.

A tree is read level by level, with a hundred znodes per call, down to `paths.MAX_ELEMENTS` levels. The result is no
snapshot: concurrent changes may be included or not. An entry that an ACL refuses is named, and costs no other entry.
Data that a search cannot match are dropped on arrival. Only requested records are parsed, a slice at a time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.zookeeper import Znode
from nncache.registry import paths
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import (
    InvalidRecordError,
    NoRecordError,
    PathNotFoundError,
    RegistryIOError,
    TooMuchDataError,
)
from nncache.registry.operations import CALLS_AT_ONCE, PER_CALL, REFUSED, Registry, status_of
from nncache.registry.pacing import Slices, apart, at_once
from nncache.registry.record import EntryStatus, RegistryEntry, ServiceRecord, Unreadable
from nncache.registry.record_json import parse_record

MIB: Final = 1024 * 1024

ENTRY_BYTES: Final = 512  # approximate memory of an entry in addition to its data


@dataclass(frozen=True, slots=True)
class TreeReading:
    """The entries at and below a path, in the order of their paths."""

    entries: tuple[RegistryEntry, ...] = ()  # with a record
    bare: tuple[EntryStatus, ...] = ()  # without a record
    unreadable: tuple[Unreadable, ...] = ()  # refused or broken, or with children that were not read

    @property
    def records(self) -> Mapping[str, ServiceRecord | None]:
        """The record by path, None if the entry has none; unreadable entries are left out."""
        found: dict[str, ServiceRecord | None] = {status.path: None for status in self.bare}
        found.update((entry.path, entry.record) for entry in self.entries)
        return found


@dataclass(slots=True)
class _Walk:
    """The entries that were read so far."""

    query: EndpointQuery | None  # None: every entry is kept
    most_bytes: int | None  # limit of `bytes_held`; None: no limit
    znodes: dict[str, Znode] = field(default_factory=dict)  # by path; entries that cannot match are left out
    below: dict[str, list[str]] = field(default_factory=dict)  # the sorted names of a path's children
    unread: dict[str, str] = field(default_factory=dict)  # by path: why it, or its children, were not read
    bytes_held: int = 0

    def keep(self, path: str, znode: Znode) -> None:
        """Keep an entry's znode if it may match. Raises TooMuchDataError if `most_bytes` is exceeded."""
        is_kept = self.query is None or self.query.is_possible_in(znode.data)
        if is_kept:
            self.znodes[path] = znode
        self._hold(path, len(znode.data) if is_kept else 0)

    def pass_over(self, path: str, why: str) -> None:
        """Name an entry that is not read, or whose children are not read. Raises as `keep`."""
        self.unread[path] = why
        self._hold(path, 0)

    def _hold(self, path: str, size: int) -> None:
        self.bytes_held += ENTRY_BYTES + size
        if self.most_bytes is not None and self.bytes_held > self.most_bytes:
            raise TooMuchDataError(
                path,
                f"there is more to be read than {self.most_bytes // MIB} MiB at a time: ask about a path further down",
            )

    def in_order(self, top: str) -> Iterator[str]:
        """Yield the paths of all entries, each before its descendants."""
        left = [top]
        while left:
            path = left.pop()
            yield path
            left += (paths.below(path, name) for name in reversed(self.below.get(path, ())))


async def read_tree(
    registry: Registry,
    path: str,
    query: EndpointQuery | None = None,
    *,
    after: str = "",
    limit: int | None = None,
    most_bytes: int | None = None,
) -> TreeReading:
    """Return the entries at and below a path; with a query, only those with a matching endpoint.

    Only entries after the path `after`, which need not exist, are returned, and none after the last of `limit` records.
    At most `most_bytes` are held during the read.

    Raises:
        InvalidPathnameError: ZooKeeper can hold no such path.
        PathNotFoundError: the entry does not exist.
        RegistryIOError: ZooKeeper does not answer, or its ACL refuses the path itself.
        TooMuchDataError: there are more than `most_bytes`.
    """
    top = paths.readable(path)
    walk = _Walk(query, most_bytes)
    try:
        await _read_all(walk, registry, top)
    except CoordinationError as error:
        raise RegistryIOError(top, f"could not be read: {error}") from error
    return await _reading(walk, top, after, limit)


async def _read_all(walk: _Walk, registry: Registry, top: str) -> None:
    level = [top]
    while level:
        calls = [level[start : start + PER_CALL] for start in range(0, len(level), PER_CALL)]
        full = await at_once(partial(_znodes, registry, walk, top), calls, CALLS_AT_ONCE)
        wide = [path for some in full for path in some]
        if not walk.bytes_held:
            raise PathNotFoundError(top, "there is no such entry")
        listed = await at_once(partial(_children, registry, walk), wide)
        level = [child for children in listed for child in children]


async def _znodes(registry: Registry, walk: _Walk, top: str, call: list[str]) -> list[str]:
    """Keep these entries, and return the paths whose children are to be read."""
    wide: list[str] = []
    for path, znode in zip(call, await registry.znodes_of(call), strict=True):
        if znode is None:
            continue
        if isinstance(znode, NotAllowedError):
            if path == top:
                raise znode
            walk.pass_over(path, REFUSED)
            continue
        walk.keep(path, znode)
        if znode.children and paths.depth_of(path) >= paths.MAX_ELEMENTS:
            walk.pass_over(path, paths.TOO_DEEP)
        elif znode.children:
            wide.append(path)
    return wide


async def _children(registry: Registry, walk: _Walk, path: str) -> list[str]:
    try:
        names = await registry.zookeeper.children(registry.znode(path))
    except NoNodeError:
        return []  # deleted in between, with all descendants
    except NotAllowedError:
        walk.pass_over(path, REFUSED)
        return []
    walk.below[path] = sorted(names)
    return [paths.below(path, name) for name in names]


async def _reading(walk: _Walk, top: str, after: str, limit: int | None) -> TreeReading:
    entries: list[RegistryEntry] = []
    bare: list[EntryStatus] = []
    broken: list[Unreadable] = []
    query, slices = walk.query, Slices()
    behind = paths.in_order(paths.path_of(*paths.elements_of(after))) if after else None
    for path in walk.in_order(top):
        if len(entries) == limit:
            break
        znode = walk.znodes.get(path)
        is_before = behind is not None and paths.in_order(path) <= behind
        if path in walk.unread and not is_before:
            broken.append(Unreadable(path, walk.unread[path]))
        if znode is None or is_before:
            await slices.add(0)
            continue
        await slices.add(len(znode.data))
        try:
            record = await apart(len(znode.data), parse_record, path, znode.data)
        except NoRecordError:
            bare.append(status_of(path, znode))
        except InvalidRecordError as error:
            broken.append(Unreadable(path, error.what))
        else:
            if query is None or query.matches_record(record):
                entries.append(RegistryEntry(status_of(path, znode), record))
    return TreeReading(tuple(entries), () if query is not None else tuple(bare), tuple(broken))
