"""The contents of the channel's znodes, encoded and parsed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.events import Close, EventBatch, Unlink
from nncache.invalidation.channel.published_filters import (
    FilterTerms,
    parse_published_filter,
)
from nncache.invalidation.channel.records import (
    CacheRecord,
    DroppedTransactions,
    FilterModification,
    FilterRecord,
    MatchedEvents,
    RecordLink,
    StaleChanges,
    encode_cache_record,
    encode_filter_record,
    parse_cache_record,
    parse_filter_record,
)
from nncache.invalidation.channel.znode_json import MAX_RECORD_BYTES
from nncache.invalidation.channel.znodes import MAX_TXID
from nncache.invalidation.errors import CorruptZnodeError
from tests.hadoop.any_events import any_paths, batches, changes_at, in_order, texts
from tests.invalidation.channel.press import PUBLISHED, PUBLISHED_JSON

LINK = RecordLink("c0ffee", 10, 20)

FILTER_RECORD = FilterRecord(
    LINK, MatchedEvents((EventBatch(12, (Close("/a", 7, 8),)), EventBatch(20, (Unlink("/a"), Unlink("/b")))))
)
FILTER_JSON = (
    b'{"version":1,"chain":"c0ffee","previous":10,"txid":20,"batches":['
    b'{"txid":12,"events":[{"type":"CLOSE","path":"/a","fileSize":7,"timestamp":8}]},'
    b'{"txid":20,"events":[{"type":"UNLINK","path":"/a"},{"type":"UNLINK","path":"/b"}]}]}'
)

CACHE_RECORD = CacheRecord(
    LINK,
    3,
    StaleChanges(
        (
            (11, Appeared("/a")),
            (11, Opened("/a")),
            (12, Closed("/a")),
            (13, Touched("/a")),
            (14, AccessChanged("/b")),
            (15, SubtreeUnknown("/")),
            (16, Vanished("/b")),
            (17, Moved("/c", "/é")),
            (20, EverythingUnknown("why")),
        )
    ),
)
CACHE_JSON = (
    b'{"version":1,"chain":"c0ffee","previous":10,"txid":20,"generation":3,"changes":['
    b'[11,"appeared","/a"],[11,"opened","/a"],[12,"closed","/a"],[13,"touched","/a"],[14,"access","/b"],'
    b'[15,"subtree","/"],[16,"vanished","/b"],[17,"moved","/c","/\xc3\xa9"],[20,"everything","why"]]}'
)
DROPPED = DroppedTransactions(11, 20, "the edits were purged")
DROPPED_JSON = b'"dropped":{"first":11,"last":20,"reason":"the edits were purged"}'


def test_a_filters_record_is_plain_json() -> None:
    """Applications in any language read these records, so each event is complete."""
    assert encode_filter_record(FILTER_RECORD) == FILTER_JSON
    assert parse_filter_record("/r/ns1/joe/20", FILTER_JSON) == FILTER_RECORD


def test_a_record_for_caches_is_plain_json() -> None:
    """Every kind of change has a word of its own."""
    assert encode_cache_record(CACHE_RECORD) == CACHE_JSON
    assert parse_cache_record("/r/ns1/.cache/20", CACHE_JSON) == CACHE_RECORD


def test_a_record_can_say_that_something_was_dropped() -> None:
    """GapFlush: edits that will never be published are reported, not skipped."""
    data = encode_filter_record(FilterRecord(LINK, DROPPED))
    assert data == b'{"version":1,"chain":"c0ffee","previous":10,"txid":20,' + DROPPED_JSON + b"}"
    assert parse_filter_record("/r/ns1/joe/20", data) == FilterRecord(LINK, DROPPED)
    data = encode_cache_record(CacheRecord(LINK, 3, DROPPED))
    assert (
        data == b'{"version":1,"chain":"c0ffee","previous":10,"txid":20,' + DROPPED_JSON + b',"generation":3}'
    )
    assert parse_cache_record("/r/ns1/.cache/20", data) == CacheRecord(LINK, 3, DROPPED)


def test_a_record_may_say_that_nothing_has_changed() -> None:
    """Coverage: everything up to its transaction was published, and no change concerned a cache."""
    record = CacheRecord(LINK, 0, StaleChanges(()))
    data = encode_cache_record(record)
    assert b'"changes":[]' in data
    assert parse_cache_record("/r/ns1/.cache/20", data) == record
    empty = FilterRecord(LINK, MatchedEvents(()))
    assert parse_filter_record("/20", encode_filter_record(empty)) == empty


def test_unknown_keys_are_ignored() -> None:
    """A later release may add keys, but not change the meaning of others."""
    later = CACHE_JSON[:-1] + b',"madeBy":{"x":[1,2]}}'
    assert parse_cache_record("/20", later) == CACHE_RECORD
    later = PUBLISHED_JSON[:-1] + b',"comment":null}'
    assert parse_published_filter("/joe", later) == PUBLISHED


def changed(data: bytes, **more: Any) -> bytes:
    """Return the same JSON with other values; `...` removes a key."""
    value = {**json.loads(data), **more}
    return json.dumps({key: held for key, held in value.items() if held is not ...}).encode()


def notice(**more: object) -> dict[str, object]:
    """Return a record's notice of a modified filter."""
    terms = {"pathGlob": "/f", "owner": "joe"}
    return {"after": 10, "old": terms, "new": terms} | more


def test_a_record_can_say_that_the_filter_was_modified() -> None:
    """The notice precedes the record's events, or stands alone; a reader of an earlier release ignores it."""
    modified = FilterModification(10, FilterTerms("/old", "ann"), FilterTerms("/new", "joe"))
    record = FilterRecord(LINK, FILTER_RECORD.content, modified)
    data = encode_filter_record(record)
    assert (
        b'"txid":20,"modified":{"after":10,"old":{"pathGlob":"/old","owner":"ann"},'
        b'"new":{"pathGlob":"/new","owner":"joe"}},"batches":['
    ) in data
    for each in (
        record,
        FilterRecord(LINK, MatchedEvents(()), FilterModification(20, modified.before, modified.after)),
    ):
        assert parse_filter_record("/r/ns1/joe/20", encode_filter_record(each)) == each
    dropped_after = FilterRecord(LINK, DROPPED, modified)
    assert parse_filter_record("/20", encode_filter_record(dropped_after)) == dropped_after


IN_ALL_RECORDS: list[tuple[dict[str, Any], str]] = [
    ({"txid": 21}, "another's name"),
    ({"txid": "20"}, "Expected `int`"),
    ({"txid": True}, "Expected `int`"),
    ({"txid": 20.5}, "Expected `int`"),
    ({"previous": 20}, "follows that of 20"),
    ({"previous": 21}, "follows that of 21"),
    ({"previous": -1}, ">= 0"),
    ({"previous": ...}, "missing required field `previous`"),
    ({"version": 2}, "version 2: this release reads version 1"),
    ({"version": ...}, "missing required field `version`"),
    ({"chain": ""}, "matching regex"),
    ({"chain": "a\n"}, "matching regex"),
    ({"chain": None}, "Expected `str`"),
    ({"dropped": {"first": 12, "last": 11, "reason": ""}}, "dropped from 12 to 11"),
    ({"dropped": {"first": 11, "last": 21, "reason": ""}}, "dropped from 11 to 21 in a record of 20"),
    ({"dropped": {"first": 11, "last": 20}}, "missing required field `reason`"),
    ({"dropped": {"first": 11, "last": 20, "reason": ""}}, "holds either"),
]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        *IN_ALL_RECORDS,
        ({"batches": ...}, "holds either batches or what was dropped"),
        ({"batches": [{"txid": 10, "events": []}]}, "transaction 10 is out of order"),
        ({"batches": [{"txid": 21, "events": []}]}, "transaction 21 is out of order"),
        ({"batches": [{"txid": 12, "events": []}] * 2}, "transaction 12 is out of order"),
        ({"batches": [{"txid": 12, "events": [{"type": "UNLINK"}]}]}, "missing required field `path`"),
        ({"batches": [{"txid": 12, "events": [{"type": "SWAP", "path": "/a"}]}]}, "Invalid value 'SWAP'"),
        ({"batches": [{"txid": 12, "events": ["x"]}]}, "Expected `object`"),
        ({"modified": notice(after=9)}, "modified after transaction 9 in a record of 20"),
        ({"modified": notice(after=21)}, "modified after transaction 21 in a record of 20"),
        ({"modified": notice(after=20)}, "modified after transaction 20, but it begins with transaction 1"),
        (
            {"modified": notice(), "batches": ..., "dropped": {"first": 1, "last": 11, "reason": ""}},
            "begins with",
        ),
        ({"modified": notice(new={"pathGlob": "x", "owner": "joe"})}, "a glob begins with a /"),
        ({"modified": {"after": 10}}, "missing required field `old`"),
    ],
)
def test_a_filters_record_that_is_odd_is_refused_whole(more: dict[str, Any], reason: str) -> None:
    """GapFlush: half of a record would be an unnoticed gap. The error names the znode."""
    with pytest.raises(CorruptZnodeError, match=reason) as caught:
        parse_filter_record("/r/ns1/joe/20", changed(FILTER_JSON, **more))
    assert caught.value.path == "/r/ns1/joe/20"
    assert str(caught.value).startswith("/r/ns1/joe/20: ")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        *IN_ALL_RECORDS,
        ({"changes": ...}, "holds either changes or what was dropped"),
        ({"generation": ...}, "missing required field `generation`"),
        ({"generation": MAX_TXID + 1}, "out of range|<= 9223372036854775807"),
        ({"changes": [[10, "touched", "/a"]]}, "transaction 10 is out of order"),
        ({"changes": [[21, "touched", "/a"]]}, "transaction 21 is out of order"),
        ({"changes": [[1 << 64, "touched", "/a"]]}, "is out of order"),
        ({"changes": [[12, "touched", "/a"], [11, "touched", "/a"]]}, "transaction 11 is out of order"),
        ({"changes": [[11, "improved", "/a"]]}, "no change"),
        ({"changes": [[11, "touched"]]}, "no change"),
        ({"changes": [[11, "touched", "/a", "/b"]]}, "no change"),
        ({"changes": [[11, "moved", "/a"]]}, "no change"),
        ({"changes": [[11, "moved", "/a", "/a"]]}, "no change"),
        ({"changes": [[11, "touched", 12]]}, "no change"),
        ({"changes": [["11", "touched", "/a"]]}, "no change"),
        ({"changes": [[True, "touched", "/a"]]}, "Expected `int | str`"),
        ({"changes": [{}]}, "Expected `array`"),
        ({"changes": [[11, "touched", "a"]]}, "not an absolute path"),
        ({"changes": [[11, "touched", "/a/"]]}, "not a canonical path"),
        ({"changes": [[11, "touched", "//a"]]}, "not a canonical path"),
        ({"changes": [[11, "moved", "/b", "/a\0"]]}, "NUL"),
    ],
)
def test_a_record_for_caches_that_is_odd_is_refused_whole(more: dict[str, Any], reason: str) -> None:
    """GapFlush: a change that is skipped, or attributed to another path, would leave a stale answer."""
    with pytest.raises(CorruptZnodeError, match=reason) as caught:
        parse_cache_record("/r/ns1/.cache/20", changed(CACHE_JSON, **more))
    assert caught.value.path == "/r/ns1/.cache/20"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"{" * 100_000,
        b"[" * 100_000,
        FILTER_JSON + b"x",
        FILTER_JSON[:-1],
        FILTER_JSON[:-1] + b',"deep":' + b"[" * 100_000,
        CACHE_JSON[:-1] + b',"deep":' + b'{"a":' * 100_000,
        CACHE_JSON.replace(b"why", b"\xed\xa0\x80"),
        CACHE_JSON.replace(b"why", b"\\ud800"),
        CACHE_JSON.replace(b"why", b"\\ud800\\u0041"),
        PUBLISHED_JSON.replace(b'"ann"', b'"\\udc00 "'),
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_no_json_text_is_refused(data: bytes) -> None:
    """Bytes that are not UTF-8, unpaired surrogates and endless nesting are refused too."""
    for path, parse in PARSERS:
        with pytest.raises(CorruptZnodeError):
            parse(path, data)


def test_what_is_larger_than_anything_written_is_not_even_parsed() -> None:
    """Parsing it could block the event loop for seconds."""
    for path, parse in PARSERS:
        with pytest.raises(CorruptZnodeError, match="524289 bytes: at most 524288 are written"):
            parse(path, b" " * (MAX_RECORD_BYTES + 1))


PARSERS: list[tuple[str, Callable[[str, bytes], object]]] = [
    ("/r/ns1/joe/20", parse_filter_record),
    ("/r/ns1/.cache/20", parse_cache_record),
    ("/r/ns1/.filters/joe", parse_published_filter),
]

txids = st.integers(0, MAX_TXID - 100)
chains = st.text("abc019._-", min_size=1, max_size=8)


@st.composite
def links(draw: st.DrawFn) -> RecordLink:
    """Draw the link of a record."""
    previous = draw(txids)
    return RecordLink(draw(chains), previous, previous + draw(st.integers(1, 100)))


def dropped(link: RecordLink) -> st.SearchStrategy[DroppedTransactions]:
    """Draw a notice of dropped transactions that a record may have."""
    bounds = st.lists(st.integers(0, link.txid), min_size=2, max_size=2).map(sorted)
    return st.builds(lambda pair, reason: DroppedTransactions(pair[0], pair[1], reason), bounds, texts)


@given(links(), st.data())
def test_filter_records_come_back_as_they_were(link: RecordLink, data: st.DataObject) -> None:
    """The encoding loses nothing."""
    events = batches(link.previous, link.txid).map(MatchedEvents)
    record = FilterRecord(link, data.draw(st.one_of(events, dropped(link))))
    assert parse_filter_record(f"/x/{link.txid}", encode_filter_record(record)) == record


@given(links(), st.integers(0, MAX_TXID), st.data())
def test_cache_records_come_back_as_they_were(link: RecordLink, generation: int, data: st.DataObject) -> None:
    """The encoding loses nothing, whatever the names in a path."""
    changes = in_order(changes_at(any_paths), link.previous + 1, max_size=8).map(
        lambda numbered: StaleChanges(tuple((min(txid, link.txid), change) for txid, change in numbered))
    )
    record = CacheRecord(link, generation, data.draw(st.one_of(changes, dropped(link))))
    assert parse_cache_record(f"/x/{link.txid}", encode_cache_record(record)) == record
