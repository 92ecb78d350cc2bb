"""Read and write what the channel's znodes hold. (invalidation/channel/records.py)

JSON, for applications in any language. `chain` stands for one continuous run of a stream and is replaced whenever
continuity is given up; `previous` is the record before (or, for the first, where the stream begins), so a gap is
known exactly. What cannot be read whole is refused whole, and so is another `version`; keys that are not known here are
ignored (docs/releasing.md).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias, TypeVar, assert_never

import msgspec

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.event_json import decode_event, encode_event
from nncache.hadoop.events import EventBatch
from nncache.hadoop.globs import compile_glob
from nncache.hadoop.paths import InvalidPathError, canonical, name
from nncache.invalidation.channel.znodes import MAX_TXID, is_filter_name, parse_txid
from nncache.invalidation.errors import CorruptZnodeError

VERSION: Final = 1
"""Of the JSON in records and definitions; another one is for changes that older readers must not overlook."""

MAX_RECORD_BYTES: Final = 512 * 1024
"""Half of what ZooKeeper takes as one packet by default (jute.maxbuffer, 1 MiB); of what is larger nothing is ours."""

MAX_GLOB_LENGTH: Final = 8000
"""As a path's: HdfsServerConstants.MAX_PATH_LENGTH. To work out a longer one could take seconds."""

MAX_REASON: Final = 200
"""Characters that are told of why a znode is corrupt: it may quote what it holds."""


@dataclass(frozen=True, slots=True)
class Link:
    """A record's place in its stream: it covers the transactions after `previous` up to `txid`."""

    chain: str
    previous: int
    txid: int


@dataclass(frozen=True, slots=True)
class Events:
    """What matched a filter, in order."""

    batches: tuple[EventBatch, ...]


@dataclass(frozen=True, slots=True)
class Stale:
    """What caches must forget, each change with its transaction id, in order."""

    changes: tuple[tuple[int, Change], ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """What these transactions, both ends included, brought will never be published."""

    first_txid: int
    last_txid: int
    reason: str  # for people


@dataclass(frozen=True, slots=True)
class FilterTerms:
    """What of a filter its subscribers count on, and learn in their stream when it changes."""

    path_glob: str
    owner: str


@dataclass(frozen=True, slots=True)
class Modified:
    """A filter was modified: the transactions behind `after_txid` are matched with the new glob, no earlier one is."""

    after_txid: int
    before: FilterTerms
    after: FilterTerms


@dataclass(frozen=True, slots=True)
class FilterRecord:
    """A record of a filter's stream. What was modified comes before the content, which holds no events up to then."""

    link: Link
    content: Events | Dropped
    modified: Modified | None = None


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """A record of the stream for caches, made with the filters of this generation."""

    link: Link
    generation: int
    content: Stale | Dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFilter:
    """A filter as it is in force.

    `id` stands for it with this glob, and is never used again: caches go by it. `chain` is that of its stream, which
    goes on when the glob changes; it is the first id that the filter had.
    """

    name: str
    id: str
    path_glob: str
    since_txid: int  # its stream begins behind this transaction
    owner: str
    allowed_subscribers: tuple[str, ...]
    chain: str = ""  # the id unless it is given
    file_id: int = 0  # HDFS's id of what it was made from; 0 where that is not known
    replaces: FilterTerms | None = None  # what its subscribers know, until a record says what it has become

    def __post_init__(self) -> None:
        if not self.chain:
            object.__setattr__(self, "chain", self.id)

    @property
    def terms(self) -> FilterTerms:
        """What its subscribers count on."""
        return FilterTerms(self.path_glob, self.owner)


def fits(data: bytes) -> bool:
    """Tell whether a record is small enough to be written."""
    return len(data) <= MAX_RECORD_BYTES


# -- the form of the JSON ---------------------------------------------------------------------------------

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MAX_TXID)]
_Id: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._-]{1,128}\Z")]


class _Dropped(msgspec.Struct, frozen=True):
    first: _Number
    last: _Number
    reason: str


class _Batch(msgspec.Struct, frozen=True):
    txid: _Number
    events: list[dict[str, object]]


class _Versioned(msgspec.Struct, frozen=True, kw_only=True):
    version: int


class _Record(_Versioned, frozen=True, omit_defaults=True, kw_only=True):
    chain: _Id
    previous: _Number
    txid: _Number
    dropped: _Dropped | None = None


class _Terms(msgspec.Struct, frozen=True, rename="camel"):
    path_glob: str
    owner: str


class _Modified(msgspec.Struct, frozen=True):
    after: _Number
    old: _Terms
    new: _Terms


class _FilterRecord(_Record, frozen=True, omit_defaults=True, kw_only=True):
    modified: _Modified | None = None
    batches: list[_Batch] | None = None


class _CacheRecord(_Record, frozen=True, omit_defaults=True, kw_only=True):
    generation: _Number
    changes: list[list[int | str]] | None = None


class _Definition(_Versioned, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    id: _Id
    path_glob: str
    since: _Number
    owner: str
    allowed_subscribers: tuple[str, ...]
    chain: _Id | None = None
    file_id: _Number = 0
    replaces: _Terms | None = None


_VERSIONED: Final = msgspec.json.Decoder(_Versioned)
_FILTER_RECORD: Final = msgspec.json.Decoder(_FilterRecord)
_CACHE_RECORD: Final = msgspec.json.Decoder(_CacheRecord)
_DEFINITION: Final = msgspec.json.Decoder(_Definition)
_ENCODER: Final = msgspec.json.Encoder()

_Parsed = TypeVar("_Parsed")

_Single: TypeAlias = Appeared | Vanished | Touched | Opened | Closed | AccessChanged | SubtreeUnknown
_SINGLE: Final[dict[str, type[_Single]]] = {
    "appeared": Appeared,
    "vanished": Vanished,
    "touched": Touched,
    "opened": Opened,
    "closed": Closed,
    "access": AccessChanged,
    "subtree": SubtreeUnknown,
}
_WORDS: Final = {made: word for word, made in _SINGLE.items()}


# -- a filter's stream ------------------------------------------------------------------------------------


def encode_filter_record(record: FilterRecord) -> bytes:
    """Give what a record of a filter's stream holds."""
    link, content = record.link, record.content
    batches, dropped = None, None
    match content:
        case Events():
            batches = [
                _Batch(batch.txid, [encode_event(event) for event in batch.events])
                for batch in content.batches
            ]
        case Dropped():
            dropped = _Dropped(content.first_txid, content.last_txid, content.reason)
        case _:
            assert_never(content)
    return _ENCODER.encode(
        _FilterRecord(
            version=VERSION,
            chain=link.chain,
            previous=link.previous,
            txid=link.txid,
            modified=None if record.modified is None else _spelled_modified(record.modified),
            batches=batches,
            dropped=dropped,
        )
    )


def parse_filter_record(path: str, data: bytes) -> FilterRecord:
    """Read the data of the znode `path`, a record of a filter's stream.

    Raises:
        CorruptZnodeError: see the class.
    """
    return _parse(path, data, _filter_record)


def _filter_record(path: str, data: bytes) -> FilterRecord:
    record = _FILTER_RECORD.decode(data)
    link = _link(path, record)
    dropped = _dropped(record.dropped, link)
    if (dropped is None) == (record.batches is None):
        raise ValueError("a record holds either batches or what was dropped")
    batches = tuple(
        EventBatch(batch.txid, tuple(decode_event(event) for event in batch.events))
        for batch in record.batches or ()
    )
    _see_order(link, (batch.txid for batch in batches), least_step=1)
    modified = None if record.modified is None else _modified(record.modified, link)
    first = dropped.first_txid if dropped else batches[0].txid if batches else link.txid + 1
    if modified is not None and first <= modified.after_txid:
        raise ValueError(
            f"modified after transaction {modified.after_txid}, but it begins with transaction {first}"
        )
    return FilterRecord(link, dropped or Events(batches), modified)


def _spelled_modified(modified: Modified) -> _Modified:
    old, new = modified.before, modified.after
    return _Modified(modified.after_txid, _Terms(old.path_glob, old.owner), _Terms(new.path_glob, new.owner))


def _modified(found: _Modified, link: Link) -> Modified:
    if not link.previous <= found.after <= link.txid:
        raise ValueError(f"modified after transaction {found.after} in a record of {link.txid}")
    return Modified(found.after, _terms(found.old), _terms(found.new))


def _terms(found: _Terms) -> FilterTerms:
    _see_glob(found.path_glob)
    return FilterTerms(found.path_glob, found.owner)


def _see_glob(glob: str) -> None:
    if len(glob) > MAX_GLOB_LENGTH:
        raise ValueError(f"a glob of {len(glob)} characters: at most {MAX_GLOB_LENGTH} are possible")
    compile_glob(glob)


# -- the stream for caches --------------------------------------------------------------------------------


def encode_cache_record(record: CacheRecord) -> bytes:
    """Give what a record of the stream for caches holds."""
    link, content = record.link, record.content
    changes, dropped = None, None
    match content:
        case Stale():
            changes = [_spell(txid, change) for txid, change in content.changes]
        case Dropped():
            dropped = _Dropped(content.first_txid, content.last_txid, content.reason)
        case _:
            assert_never(content)
    return _ENCODER.encode(
        _CacheRecord(
            version=VERSION,
            chain=link.chain,
            previous=link.previous,
            txid=link.txid,
            generation=record.generation,
            changes=changes,
            dropped=dropped,
        )
    )


def parse_cache_record(path: str, data: bytes) -> CacheRecord:
    """Read the data of the znode `path`, a record of the stream for caches.

    Raises:
        CorruptZnodeError: see the class.
    """
    return _parse(path, data, _cache_record)


def _cache_record(path: str, data: bytes) -> CacheRecord:
    record = _CACHE_RECORD.decode(data)
    link = _link(path, record)
    dropped = _dropped(record.dropped, link)
    if (dropped is None) == (record.changes is None):
        raise ValueError("a record holds either changes or what was dropped")
    changes = tuple(_change(spelled) for spelled in record.changes or ())
    _see_order(link, (txid for txid, _ in changes), least_step=0)
    return CacheRecord(link, record.generation, dropped or Stale(changes))


def _spell(txid: int, change: Change) -> list[int | str]:
    match change:
        case Moved(source, destination):
            return [txid, "moved", source, destination]
        case EverythingUnknown(reason):
            return [txid, "everything", reason]
        case _:
            return [txid, _WORDS[type(change)], change.path]


def _change(spelled: list[int | str]) -> tuple[int, Change]:
    match spelled:
        case [int(txid), "moved", str(source), str(destination)] if source != destination:
            return txid, Moved(_path(source), _path(destination))
        case [int(txid), "everything", str(reason)]:
            return txid, EverythingUnknown(reason)
        case [int(txid), str(word), str(path)] if word in _SINGLE:
            return txid, _SINGLE[word](_path(path))
        case _:
            raise ValueError(f"no change: {spelled!r}")


def _path(text: str) -> str:
    if canonical(text) != text:
        raise ValueError(f"not a canonical path: {text!r}")
    return text


# -- definitions ------------------------------------------------------------------------------------------


def encode_published_filter(published: PublishedFilter) -> bytes:
    """Give what the znode of a filter's definition holds; the name is the znode's own."""
    known = published.replaces
    return _ENCODER.encode(
        _Definition(
            version=VERSION,
            id=published.id,
            path_glob=published.path_glob,
            since=published.since_txid,
            owner=published.owner,
            allowed_subscribers=published.allowed_subscribers,
            chain=None if published.chain == published.id else published.chain,
            file_id=published.file_id,
            replaces=None if known is None else _Terms(known.path_glob, known.owner),
        )
    )


def parse_published_filter(path: str, data: bytes) -> PublishedFilter:
    """Read the data of the znode `path`, a filter's definition.

    Raises:
        CorruptZnodeError: see the class.
    """
    return _parse(path, data, _published_filter)


def _published_filter(path: str, data: bytes) -> PublishedFilter:
    if not is_filter_name(name(path)):
        raise ValueError("no filter may be called so")
    definition = _DEFINITION.decode(data)
    _see_glob(definition.path_glob)
    return PublishedFilter(
        name=name(path),
        id=definition.id,
        path_glob=definition.path_glob,
        since_txid=definition.since,
        owner=definition.owner,
        allowed_subscribers=definition.allowed_subscribers,
        chain=definition.chain or definition.id,
        file_id=definition.file_id,
        replaces=None if definition.replaces is None else _terms(definition.replaces),
    )


# -- what records have in common --------------------------------------------------------------------------


def _parse(path: str, data: bytes, parse: Callable[[str, bytes], _Parsed]) -> _Parsed:
    if not fits(data):
        raise CorruptZnodeError(path, f"{len(data)} bytes: at most {MAX_RECORD_BYTES} are written")
    try:
        _see_version(_VERSIONED.decode(data).version)
        return parse(path, data)
    except (
        ValueError,  # also EventJsonError, GlobError, msgspec's own, and bytes that are not UTF-8
        InvalidPathError,
        RecursionError,  # of msgspec, for what is nested a thousand deep
    ) as exc:
        raise CorruptZnodeError(path, str(exc)[:MAX_REASON]) from exc


def _see_version(version: int) -> None:
    if version != VERSION:
        raise ValueError(f"version {version}: this release reads version {VERSION}; upgrade it")


def _link(path: str, record: _Record) -> Link:
    if parse_txid(name(path)) != record.txid:
        raise ValueError(f"the record of transaction {record.txid} has another's name")
    if record.previous >= record.txid:
        raise ValueError(f"the record of transaction {record.txid} follows that of {record.previous}")
    return Link(record.chain, record.previous, record.txid)


def _dropped(dropped: _Dropped | None, link: Link) -> Dropped | None:
    if dropped is None:
        return None
    if not dropped.first <= dropped.last <= link.txid:
        raise ValueError(f"dropped from {dropped.first} to {dropped.last} in a record of {link.txid}")
    return Dropped(dropped.first, dropped.last, dropped.reason)


def _see_order(link: Link, txids: Iterable[int], *, least_step: int) -> None:
    least = link.previous + 1
    for txid in txids:
        if not least <= txid <= link.txid:
            raise ValueError(f"transaction {txid} is out of order in ({link.previous}, {link.txid}]")
        least = txid + least_step
