"""Read and write the records in the channel's znodes.

JSON, for applications in any language. `chain` identifies one continuous run of a stream and is replaced whenever
continuity is given up. `previous` is the record before, or for the first record the start of the stream, so a gap is
known exactly. A record that is partly unreadable, or has another `version`, is rejected; unknown keys are ignored
(docs/releasing.md).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

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
from nncache.hadoop.paths import canonical, name
from nncache.invalidation.channel.published_filters import FilterTerms, TermsJson, read_terms
from nncache.invalidation.channel.znode_json import ENCODER, VERSION, Id, Number, Versioned, checked
from nncache.invalidation.channel.znodes import parse_txid


@dataclass(frozen=True, slots=True)
class RecordLink:
    """A record's place in its stream: it covers the transactions after `previous` up to `txid`."""

    chain: str
    previous: int
    txid: int


@dataclass(frozen=True, slots=True)
class MatchedEvents:
    """The events that match a filter, in order."""

    batches: tuple[EventBatch, ...]


@dataclass(frozen=True, slots=True)
class StaleChanges:
    """The changes that make cached data stale, each with its transaction id, in order."""

    changes: tuple[tuple[int, Change], ...]


@dataclass(frozen=True, slots=True)
class DroppedTransactions:
    """The events or changes of these transactions, both ends included, will never be published."""

    first_txid: int
    last_txid: int
    reason: str  # for people


@dataclass(frozen=True, slots=True)
class FilterModification:
    """A filter was modified: transactions after `after_txid` are matched with the new glob, earlier ones are not."""

    after_txid: int
    before: FilterTerms
    after: FilterTerms


@dataclass(frozen=True, slots=True)
class FilterRecord:
    """A record of a filter's stream. `modified` comes before the content, whose events are all after `after_txid`."""

    link: RecordLink
    content: MatchedEvents | DroppedTransactions
    modified: FilterModification | None = None


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """A record of the stream for caches, matched with the filters of this generation."""

    link: RecordLink
    generation: int
    content: StaleChanges | DroppedTransactions


# -- the form of the JSON ---------------------------------------------------------------------------------


class _Dropped(msgspec.Struct, frozen=True):
    first: Number
    last: Number
    reason: str


class _Batch(msgspec.Struct, frozen=True):
    txid: Number
    events: list[dict[str, object]]


class _Record(Versioned, frozen=True, omit_defaults=True, kw_only=True):
    chain: Id
    previous: Number
    txid: Number
    dropped: _Dropped | None = None


class _Modified(msgspec.Struct, frozen=True):
    after: Number
    old: TermsJson
    new: TermsJson


class _FilterRecord(_Record, frozen=True, omit_defaults=True, kw_only=True):
    modified: _Modified | None = None
    batches: list[_Batch] | None = None


class _CacheRecord(_Record, frozen=True, omit_defaults=True, kw_only=True):
    generation: Number
    changes: list[list[int | str]] | None = None


_FILTER_RECORD: Final = msgspec.json.Decoder(_FilterRecord)
_CACHE_RECORD: Final = msgspec.json.Decoder(_CacheRecord)

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
    """Return the data of a record of a filter's stream."""
    link, content, modified = record.link, record.content, None
    batches, dropped = None, None
    if isinstance(content, MatchedEvents):
        batches = [
            _Batch(batch.txid, [encode_event(event) for event in batch.events]) for batch in content.batches
        ]
    else:
        dropped = _spelled_dropped(content)
    if record.modified is not None:
        old, new = record.modified.before, record.modified.after
        modified = _Modified(
            record.modified.after_txid,
            TermsJson(old.path_glob, old.owner),
            TermsJson(new.path_glob, new.owner),
        )
    return ENCODER.encode(
        _FilterRecord(
            version=VERSION,
            chain=link.chain,
            previous=link.previous,
            txid=link.txid,
            modified=modified,
            batches=batches,
            dropped=dropped,
        )
    )


@checked
def parse_filter_record(path: str, data: bytes) -> FilterRecord:
    """Return the record in the data of the znode `path` of a filter's stream. Raises CorruptZnodeError."""
    record = _FILTER_RECORD.decode(data)
    link = _link(path, record)
    dropped = _dropped(record.dropped, link)
    if (dropped is None) == (record.batches is None):
        raise ValueError("a record holds either batches or what was dropped")
    batches = tuple(
        EventBatch(batch.txid, tuple(decode_event(event) for event in batch.events))
        for batch in record.batches or ()
    )
    _check_order(link, (batch.txid for batch in batches), least_step=1)
    modified = None if record.modified is None else _modified(record.modified, link)
    first = dropped.first_txid if dropped else batches[0].txid if batches else link.txid + 1
    if modified is not None and first <= modified.after_txid:
        raise ValueError(
            f"modified after transaction {modified.after_txid}, but it begins with transaction {first}"
        )
    return FilterRecord(link, dropped or MatchedEvents(batches), modified)


def _modified(found: _Modified, link: RecordLink) -> FilterModification:
    if not link.previous <= found.after <= link.txid:
        raise ValueError(f"modified after transaction {found.after} in a record of {link.txid}")
    return FilterModification(found.after, read_terms(found.old), read_terms(found.new))


# -- the stream for caches --------------------------------------------------------------------------------


def encode_cache_record(record: CacheRecord) -> bytes:
    """Return the data of a record of the stream for caches."""
    link, content = record.link, record.content
    changes, dropped = None, None
    if isinstance(content, StaleChanges):
        changes = [_spell(txid, change) for txid, change in content.changes]
    else:
        dropped = _spelled_dropped(content)
    return ENCODER.encode(
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


@checked
def parse_cache_record(path: str, data: bytes) -> CacheRecord:
    """Return the record in the data of the znode `path` of the stream for caches. Raises CorruptZnodeError."""
    record = _CACHE_RECORD.decode(data)
    link = _link(path, record)
    dropped = _dropped(record.dropped, link)
    if (dropped is None) == (record.changes is None):
        raise ValueError("a record holds either changes or what was dropped")
    changes = tuple(_change(spelled) for spelled in record.changes or ())
    _check_order(link, (txid for txid, _ in changes), least_step=0)
    return CacheRecord(link, record.generation, dropped or StaleChanges(changes))


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


# -- what records have in common --------------------------------------------------------------------------


def _link(path: str, record: _Record) -> RecordLink:
    if parse_txid(name(path)) != record.txid:
        raise ValueError(f"the record of transaction {record.txid} has another's name")
    if record.previous >= record.txid:
        raise ValueError(f"the record of transaction {record.txid} follows that of {record.previous}")
    return RecordLink(record.chain, record.previous, record.txid)


def _spelled_dropped(content: DroppedTransactions) -> _Dropped:
    return _Dropped(content.first_txid, content.last_txid, content.reason)


def _dropped(dropped: _Dropped | None, link: RecordLink) -> DroppedTransactions | None:
    if dropped is None:
        return None
    if not dropped.first <= dropped.last <= link.txid:
        raise ValueError(f"dropped from {dropped.first} to {dropped.last} in a record of {link.txid}")
    return DroppedTransactions(dropped.first, dropped.last, dropped.reason)


def _check_order(link: RecordLink, txids: Iterable[int], *, least_step: int) -> None:
    least = link.previous + 1
    for txid in txids:
        if not least <= txid <= link.txid:
            raise ValueError(f"transaction {txid} is out of order in ({link.previous}, {link.txid}]")
        least = txid + least_step
