"""EventBuffer: the events that wait for publication are bounded, and overflow is reported."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Event,
    FileAclEntry,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.invalidation.channel.records import DroppedTransactions, MatchedEvents
from nncache.invalidation.publisher.event_buffer import UNIT_BYTES, EventBuffer, weight_of
from nncache.invalidation.publisher.stats import PublisherStats
from tests.invalidation.publisher.fakes import batch

FULL = "more than 8 events waited to be published (max_buffered_events)"


def filled(
    *names: str, max_events: int = 8, may_drop: bool = True, counts: PublisherStats | None = None
) -> EventBuffer:
    """Return a buffer after these filters have each added one event, in transactions from 1 on."""
    made = EventBuffer(max_events, counts or PublisherStats())
    for txid, name in enumerate(names, start=1):
        if made.misses(name):
            made.leave_out(name, batch(txid, "/a"), "")
        else:
            made.add(name, batch(txid, "/a"), may_drop=may_drop)
    return made


def txids(events: MatchedEvents) -> list[int]:
    """Return the ids of the transactions."""
    return [each.txid for each in events.batches]


def test_the_filter_with_the_most_loses_its_latest_events() -> None:
    """Other filters lose none. It then misses all events until the buffer is taken."""
    counts = PublisherStats()
    made = filled(*"bababaaaa", counts=counts)
    assert made.weight == 6
    assert made.misses("a")
    assert not made.misses("b")
    made.leave_out("a", batch(10, "/a", "/b"), "")
    events, dropped = made.take()
    assert {name: txids(each) for name, each in events.items()} == {"b": [1, 3, 5], "a": [2, 4, 6]}
    assert dropped == {"a": DroppedTransactions(7, 10, FULL)}
    assert (counts.events_overflowed, counts.events_over_limit) == (5, 0)
    assert (made.weight, made.is_full, made.misses("a")) == (0, False, False)
    assert made.take() == ({}, {})


def test_a_transaction_that_does_not_fit_at_all_is_dropped() -> None:
    """None of the transaction's events is buffered."""
    made = filled("b")
    made.add("a", batch(2, *["/a"] * 9), may_drop=True)
    events, dropped = made.take()
    assert events.keys() == {"b"}
    assert dropped == {"a": DroppedTransactions(2, 2, FULL)}


def test_nothing_is_dropped_unless_it_may_be() -> None:
    """Without `may_drop` the reader has to wait for room."""
    counts = PublisherStats()
    made = filled(*"aaaaaaaa", may_drop=False, counts=counts)
    assert made.is_full
    made.add("a", batch(9, "/a"), may_drop=False)
    events, dropped = made.take()
    assert (txids(events["a"]), dropped, counts.events_overflowed) == ([*range(1, 10)], {}, 0)


def test_what_is_left_out_for_another_reason_keeps_it() -> None:
    """More events before it may be dropped; none may be added after it."""
    made = filled(*"aaaa")
    made.leave_out("a", batch(5, "/a"), "over its limit")
    made.leave_out("a", batch(6, "/a"), "over its limit")
    assert made.take()[1] == {"a": DroppedTransactions(5, 6, "over its limit")}
    made = filled(*"aaaaa")
    made.leave_out("a", batch(6, "/a"), "over its limit")
    made.add("b", batch(7, *["/b"] * 4), may_drop=True)
    assert made.take()[1] == {"a": DroppedTransactions(3, 6, FULL)}


def test_large_events_count_for_several() -> None:
    """Paths, ACL entries and extended attributes add to their weight."""
    long, entry = (
        "/" + "x" * UNIT_BYTES,
        FileAclEntry(scope=AclScope.ACCESS, kind=AclKind.USER, name="joe", permissions="rwx"),
    )
    acls = MetadataUpdate(path="/", kind=MetadataKind.ACLS, acls=(entry,) * 32)
    xattr = XAttr(XAttrNamespace.USER, "name", b"x" * 2 * UNIT_BYTES)
    xattrs = MetadataUpdate(path="/", kind=MetadataKind.XATTRS, xattrs=(xattr,))
    weights: Sequence[tuple[Event, int]] = (
        (Unlink("/a"), 1),
        (Unlink(long), 2),
        (Rename(long, long), 3),
        (acls, 3),
        (xattrs, 3),
    )
    assert [weight_of(batch(1, event)) for event, _ in weights] == [weight for _, weight in weights]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), max_size=60))
def test_all_that_is_added_comes_out_or_is_named(added: list[tuple[str, int]]) -> None:
    """B1 and B2: in order, up to the first missed event, after which all are missed."""
    made = EventBuffer(8, PublisherStats())
    given_to: dict[str, list[int]] = {}
    for txid, (name, size) in enumerate(added, start=1):
        given_to.setdefault(name, []).append(txid)
        if made.misses(name):
            made.leave_out(name, batch(txid, *["/a"] * size), "")
        else:
            made.add(name, batch(txid, *["/a"] * size), may_drop=True)
        assert made.weight <= 8
    events, dropped = made.take()
    for name, all_txids in given_to.items():
        kept = txids(events[name]) if name in events else []
        assert kept == all_txids[: len(kept)]
        missed = all_txids[len(kept) :]
        assert (name in dropped) == bool(missed)
        if missed:
            assert (dropped[name].first_txid, dropped[name].last_txid) == (missed[0], missed[-1])
