"""recover: sound chains continue, damaged ones restart, and foreign znodes are left alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from nncache.coordination.zookeeper import CreateOp, SetDataOp, Znode
from nncache.invalidation.channel.published_filters import PublishedFilter, encode_published_filter
from nncache.invalidation.channel.records import CacheRecord, RecordLink, StaleChanges, encode_cache_record
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.publisher.output_stream import FilterPosition, Publication, PublishedState
from nncache.invalidation.publisher.recovery import FoundStream, FoundTree, newest_of, recover
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.publisher.write_plan import WritePlan
from tests.invalidation.publisher.fakes import published

ZNODES = ZnodePaths("/inotify", "ns")
CACHE = "/inotify/ns/.cache"
NEWEST = encode_cache_record(CacheRecord(RecordLink("chain", 9, 10), 4, StaleChanges(())))


def znode(path: str, data: bytes, version: int = 3, children: int = 0) -> Znode:
    """Return a znode."""
    return Znode(path=path, data=data, version=version, created_zxid=1, children=children, owner_session=0)


def stream(path: str, data: bytes, *children: str) -> FoundStream:
    """Return a stream's znode with these children."""
    return FoundStream(znode(path, data, children=len(children)), children)


def definition(filter_: PublishedFilter) -> Znode:
    """Return the znode of a filter's definition."""
    return znode(ZNODES.definition(filter_.name), encode_published_filter(filter_), version=2)


SOUND: Mapping[str, Any] = {
    "children": (".publisher", ".filters", ".cache", "f"),
    "cache": stream(CACHE, b"10", "9", "10"),
    "newest": znode(f"{CACHE}/10", NEWEST),
    "filters": znode("/inotify/ns/.filters", b"4"),
    "definitions": {"f": definition(published("f", since_txid=2))},
    "streams": {"f": stream("/inotify/ns/f", b"7", "5", "7")},
}


def made_out(counts: OutputStats | None = None, **changed: object) -> tuple[PublishedState, WritePlan | None]:
    """Return the state recovered from a sound tree with some changes."""
    found = FoundTree(**(dict(SOUND) | changed))
    return recover(ZNODES, found, 8, counts or OutputStats())


def test_a_sound_tree_is_gone_on_from() -> None:
    """It continues the chain, generation, positions and versions of the tree."""
    counts = OutputStats()
    state, tree = made_out(counts)
    position = FilterPosition(published("f", since_txid=2), 7)
    assert state == PublishedState(txid=10, filters={"f": position})
    assert (counts.corrupt_znodes, counts.foreign_znodes) == (0, 0)
    assert tree is not None
    (multi,) = tree.plan_publication(Publication(txid=11, content=StaleChanges(()), filters={}))
    record = CacheRecord(RecordLink("chain", 10, 11), 4, StaleChanges(()))
    assert multi == [CreateOp(f"{CACHE}/11", encode_cache_record(record)), SetDataOp(CACHE, b"11", 3)]
    assert tree.versions() == {
        "/inotify/ns/.filters": 3,
        CACHE: 4,
        "/inotify/ns/f": 3,
        "/inotify/ns/.filters/f": 2,
    }


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"cache": stream(CACHE, b"x", "10")}, id="no number"),
        pytest.param({"cache": stream(CACHE, b"11", "9", "10")}, id="ahead of its records"),
        pytest.param({"cache": stream(CACHE, b"9", "9", "10")}, id="behind its records"),
        pytest.param({"cache": stream(CACHE, b"10", "else")}, id="no records: the chain is not known"),
        pytest.param({"newest": None}, id="the newest record is gone"),
        pytest.param({"newest": znode(f"{CACHE}/10", b"{")}, id="the newest record can't be read"),
        pytest.param({"filters": znode("/inotify/ns/.filters", b"x")}, id="no generation"),
        pytest.param({"filters": None, "definitions": {}}, id="no filters at all"),
    ],
)
def test_without_a_sound_stream_for_caches_all_begins_anew(changed: dict[str, Any]) -> None:
    """The coverage is unknown. Readable definitions are kept."""
    counts = OutputStats()
    state, tree = made_out(counts, **changed)
    filters = {} if "definitions" in changed else {"f": published("f", since_txid=2)}
    assert (state, tree) == (PublishedState(txid=None, damaged=filters), None)
    assert counts.corrupt_znodes == 1


@pytest.mark.parametrize("cache", [None, stream(CACHE, b"", "9", "10")])
def test_what_was_given_up_is_no_damage(cache: FoundStream | None) -> None:
    """The tree is empty, or an unfinished restart has emptied `.cache`."""
    counts = OutputStats()
    state, tree = made_out(counts, cache=cache)
    assert (state.txid, tree, counts.corrupt_znodes) == (None, None, 0)


@pytest.mark.parametrize(
    ("found", "is_sound"),
    [
        pytest.param(stream("/inotify/ns/f", b"2"), True, id="nothing has matched yet"),
        pytest.param(stream("/inotify/ns/f", b"10"), True, id="its records are gone"),
        pytest.param(
            stream("/inotify/ns/f", b"12", "12"), True, id="ahead of the caches: a crash in between"
        ),
        pytest.param(stream("/inotify/ns/f", b"7", "7", "else"), True, id="with a foreign child"),
        pytest.param(stream("/inotify/ns/f", b"x", "7"), False, id="no number"),
        pytest.param(stream("/inotify/ns/f", b"8", "5", "7"), False, id="ahead of its records"),
        pytest.param(stream("/inotify/ns/f", b"5", "5", "7"), False, id="behind its records"),
        pytest.param(stream("/inotify/ns/f", b"7", "2", "7"), False, id="a record from before its beginning"),
        pytest.param(stream("/inotify/ns/f", b"1"), False, id="before its beginning"),
        pytest.param(stream("/inotify/ns/f", b"11"), False, id="ahead of everything"),
        pytest.param(None, False, id="not there"),
    ],
)
def test_a_filter_goes_on_where_its_znodes_agree(found: FoundStream | None, *, is_sound: bool) -> None:
    """Otherwise it restarts: the events that it missed are unknown."""
    counts = OutputStats()
    state, tree = made_out(counts, streams={} if found is None else {"f": found})
    filter_ = published("f", since_txid=2)
    assert state.damaged == ({} if is_sound else {"f": filter_})
    assert list(state.filters) == (["f"] if is_sound else [])
    assert counts.corrupt_znodes == (not is_sound)
    assert tree is not None


def test_a_definition_that_cannot_be_read_is_damage() -> None:
    """The filter is damaged whatever the state of its stream."""
    state, _ = made_out(definitions={"f": znode("/inotify/ns/.filters/f", b"{")})
    assert (state.filters, state.damaged) == ({}, {"f": None})


def test_a_stream_without_its_definition_is_damage() -> None:
    """Readers may have read the definition before it was lost, so the filter is taken out of force."""
    counts = OutputStats()
    state, _ = made_out(counts, definitions={})
    assert (state.filters, state.damaged) == ({}, {"f": None})
    assert (counts.corrupt_znodes, counts.foreign_znodes) == (1, 0)


def test_what_others_put_there_is_counted() -> None:
    """Foreign znodes are counted and stay."""
    counts = OutputStats()
    state, _ = made_out(
        counts,
        children=(*SOUND["children"], "orphan", ".hidden"),
        cache=stream(CACHE, b"10", "9", "10", "else"),
        definitions=SOUND["definitions"] | {"not a name": znode("/inotify/ns/.filters/not a name", b"")},
        streams=SOUND["streams"] | {"orphan": stream("/inotify/ns/orphan", b"", "007")},
    )
    assert state.damaged == {}
    assert counts.foreign_znodes == 5


def test_the_newest_record_is_found_by_its_number() -> None:
    """ZooKeeper does not order names as numbers."""
    assert newest_of(["9", "10", "else"]) == 10
    assert newest_of(["else"]) is None
