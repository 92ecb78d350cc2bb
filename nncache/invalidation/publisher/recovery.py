"""Recover the published state from ZooKeeper.

Sans-I/O. A publisher relies on counts and definitions, so it checks each against the znodes around it. Readers check
the contents of records. An inconsistent stream is restarted, never repaired: the changes that it lacks are unknown.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from nncache.coordination.zookeeper import Znode
from nncache.invalidation.channel.published_filters import PublishedFilter, parse_published_filter
from nncache.invalidation.channel.records import parse_cache_record
from nncache.invalidation.channel.znodes import ZnodePaths, is_filter_name, parse_txid
from nncache.invalidation.errors import CorruptZnodeError
from nncache.invalidation.publisher.output_stream import PublishedState
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.publisher.write_plan import PlannedStream, WritePlan

VOID = b""
"""The data of a discarded `.cache`: a publisher that finds it starts over."""

_CHANNEL = frozenset({".publisher", ".epoch", ".filters", ".cache"})


@dataclass(frozen=True, slots=True)
class FoundStream:
    """A stream's znode and the names of its children."""

    znode: Znode
    children: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTree:
    """The znodes found below a nameservice's znode."""

    children: tuple[str, ...]  # names
    cache: FoundStream | None = None
    newest: Znode | None = None  # the newest record of `.cache`
    filters: Znode | None = None
    definitions: Mapping[str, Znode] = field(default_factory=dict)  # by name, valid or not
    streams: Mapping[str, FoundStream] = field(
        default_factory=dict
    )  # by name, for each name that a filter may have


def recover(
    znodes: ZnodePaths,
    found: FoundTree,
    max_records: int,
    counts: OutputStats,
    acl_bytes: Callable[[str], int] = lambda _: 0,
) -> tuple[PublishedState, WritePlan | None]:
    """Return the published state, and the plan that continues it. Without a plan everything must restart.

    `acl_bytes` returns the size of a znode's ACL, by path.
    """
    cache = None if found.cache is None else _cache(znodes, found.cache, found.newest)
    generation = None if found.filters is None else parse_txid(found.filters.data)
    filters, damaged = _definitions(znodes, found)
    if cache is None or generation is None or found.filters is None:
        is_void = found.cache is None or found.cache.znode.data == VOID
        counts.corrupt_znodes += not is_void
        counts.foreign_znodes = _count_foreign(found, ())
        return PublishedState(txid=None, damaged={**damaged, **filters}), None
    tree = WritePlan(
        znodes,
        max_records,
        counts,
        cache=cache,
        generation=generation,
        filters_version=found.filters.version,
        acl_bytes=acl_bytes,
    )
    for name in found.streams:
        tree.add_place(name)
    for name, znode in found.definitions.items():
        if is_filter_name(name):
            tree.add_definition(name, znode.version)
    for name, filter_ in filters.items():
        stream = _filter_stream(filter_, found.streams.get(name), cache.txid)
        if stream is None:
            damaged[name] = filter_
        else:
            tree.add_filter(filter_, stream)
    for name, found_stream in found.streams.items():
        if name not in found.definitions and parse_txid(found_stream.znode.data) is not None:
            damaged[name] = None  # readers may have read its definition before it was lost
    counts.corrupt_znodes += len(damaged)
    counts.foreign_znodes = _count_foreign(found, damaged)
    return PublishedState(txid=cache.txid, filters=tree.positions(), damaged=damaged), tree


def newest_of(children: Iterable[str]) -> int | None:
    """Return the transaction of the newest record; None if there is no record."""
    return max(_records(children), default=None)


def _cache(znodes: ZnodePaths, found: FoundStream, newest: Znode | None) -> PlannedStream | None:
    """Return the stream for caches if it is consistent; its chain is in its records alone."""
    txid, records = parse_txid(found.znode.data), _records(found.children)
    if txid is None or not records or records[-1] != txid or newest is None:
        return None
    try:
        record = parse_cache_record(znodes.record(znodes.cache, txid), newest.data)
    except CorruptZnodeError:
        return None
    return PlannedStream(znodes.cache, record.link.chain, txid, found.znode.version, deque(records))


def _definitions(
    znodes: ZnodePaths, found: FoundTree
) -> tuple[dict[str, PublishedFilter], dict[str, PublishedFilter | None]]:
    """Return the filters whose definitions are valid, and the names of the others."""
    filters: dict[str, PublishedFilter] = {}
    damaged: dict[str, PublishedFilter | None] = {}
    for name, znode in found.definitions.items():
        if not is_filter_name(name):
            continue
        try:
            filters[name] = parse_published_filter(znodes.definition(name), znode.data)
        except CorruptZnodeError:
            damaged[name] = None
    return filters, damaged


def _filter_stream(
    filter_: PublishedFilter, found: FoundStream | None, checkpoint: int
) -> PlannedStream | None:
    """Return a filter's stream if it is consistent."""
    if found is None:
        return None
    txid, records = parse_txid(found.znode.data), _records(found.children)
    if txid is None:
        return None
    if records:
        is_sound = filter_.since_txid < records[0] and records[-1] == txid
    else:
        is_sound = filter_.since_txid <= txid <= checkpoint
    if not is_sound:
        return None
    return PlannedStream(found.znode.path, filter_.chain, txid, found.znode.version, deque(records))


def _records(children: Iterable[str]) -> list[int]:
    return sorted(txid for txid in map(parse_txid, children) if txid is not None)


def _count_foreign(found: FoundTree, damaged: Collection[str]) -> int:
    """Count the znodes that no publisher creates. They stay unless they block a znode of the publisher."""
    ours = _CHANNEL | found.definitions.keys() | set(damaged)
    places = sum(name not in ours for name in found.children)
    definitions = sum(not is_filter_name(name) for name in found.definitions)
    streams = [*found.streams.values(), *(() if found.cache is None else (found.cache,))]
    records = sum(parse_txid(name) is None for stream in streams for name in stream.children)
    return places + definitions + records
