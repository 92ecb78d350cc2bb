"""Overlap: a source takes over once it has read all returned edits without a difference, and continues after them."""

import pytest

from nncache.hadoop.change import AccessChanged
from nncache.hadoop.events import Create, Event, EventBatch, Unlink
from nncache.hadoop.filestatus import FileType
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.journal import overlap
from nncache.invalidation.journal.overlap import Overlap


def read(
    *txids: int,
    through: int,
    fresh_as_of: float | None = 1.0,
    seen_as_of: float | None = None,
    path: str = "/",
) -> EditsRead:
    """Return a read of these transactions."""
    batches = tuple(EventBatch(txid, (Unlink(f"{path}{txid}"),)) for txid in txids)
    return EditsRead(batches, through, fresh_as_of, seen_as_of=seen_as_of)


def txids(found: EditsRead) -> list[int]:
    """Return the ids of its transactions."""
    return [batch.txid for batch in found.batches]


def is_ready(between: Overlap) -> bool:
    """Return whether the other source can take over now."""
    return between.is_ready


def test_it_takes_over_once_it_has_read_what_was_returned() -> None:
    """O1: with the edits that it has read beyond that, and with its own coverage (O3)."""
    between = Overlap(10)
    assert not is_ready(between), "nothing is covered yet"
    between.returned(read(11, 12, through=12, fresh_as_of=7.0))
    between.read(read(11, through=11, fresh_as_of=8.0, seen_as_of=3.0))
    assert not is_ready(between), "transaction 12 is not known to be the same"
    between.read(read(12, 14, through=15, fresh_as_of=9.0))
    assert is_ready(between)
    between.returned(read(through=13))
    taken = between.take()
    assert (txids(taken), taken.through_txid) == ([14], 15)
    assert (taken.fresh_as_of, taken.seen_as_of) == (9.0, 3.0)


def test_without_coverage_it_does_not_take_over() -> None:
    """Taking over without coverage would close the gate, so the source in use continues."""
    between = Overlap(10)
    between.read(read(through=10, fresh_as_of=None))
    assert not is_ready(between)
    between.read(read(through=10))
    assert is_ready(between)


def test_what_was_shown_early_is_kept() -> None:
    """At first sight a source returns edits beyond its position, in each version; they are compared when it arrives."""
    between = Overlap(10)
    between.read(read(11, 12, through=10))
    between.read(read(11, through=11, path="/other/"))
    between.returned(read(11, through=11))
    assert is_ready(between)
    assert txids(between.take()) == [12]


@pytest.mark.parametrize(
    ("returned", "other"),
    [
        (read(11, through=11), read(through=11)),
        (read(through=11), read(11, through=11)),
        (read(11, through=11), read(11, through=11, path="/other/")),
    ],
    ids=["lacks one", "makes one up", "another content"],
)
def test_a_contradiction_is_no_take_over(returned: EditsRead, other: EditsRead) -> None:
    """O2: neither the order of the reads nor later reads change that."""
    for first, second in ((True, False), (False, True)):
        between = Overlap(10)
        for is_returned in (first, second):
            if is_returned:
                between.returned(returned)
            else:
                between.read(other)
        assert between.trouble == "it has other events for transaction 11"
        between.returned(read(12, through=12))
        between.read(read(12, through=12))
        assert not is_ready(between)


def test_what_only_one_can_say_is_no_contradiction() -> None:
    """Changes without an event, and erasure coding, which an old NameNode omits in its events."""
    between = Overlap(10)

    def created(*, erasure_coded: bool) -> Event:
        return Create(kind=FileType.FILE, path="/a", erasure_coded=erasure_coded)

    between.returned(EditsRead((EventBatch(12, (created(erasure_coded=False),)),), 12, 1.0))
    beyond = EventBatch(11, (), (AccessChanged("/b"),))
    between.read(EditsRead((beyond, EventBatch(12, (created(erasure_coded=True),))), 12, 1.0))
    assert is_ready(between)
    assert txids(between.take()) == []


def test_one_that_does_not_catch_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for the comparison is limited."""
    monkeypatch.setattr(overlap, "MAX_AHEAD", 3)
    between = Overlap(10)
    between.returned(read(11, 12, 13, through=13))
    between.read(read(through=10))
    between.returned(read(14, through=14))
    assert between.trouble == "it does not catch up: it has read up to transaction 10"
