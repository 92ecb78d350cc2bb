"""Locate segments in the lists of JournalNodes, and compare transactions across epochs."""

import pytest

from nncache.hadoop.editlog.frames import Frame, Segment
from nncache.invalidation.errors import GapKind
from nncache.invalidation.journal.quorum import ShownTransaction
from nncache.invalidation.journal.segments import (
    MAX_REMEMBERED,
    Located,
    PurgedEdits,
    TransactionCrcs,
    locate,
)


def test_any_that_has_the_segment_will_do() -> None:
    """A single JournalNode suffices: a finalized segment is in the log for good."""
    listed = {"jn1": (Segment(1, 10), Segment(21, 30)), "jn2": (Segment(11, 20),)}
    assert [locate(txid, listed, 3) for txid in (1, 10, 11, 20, 30)] == [
        Located("jn1", Segment(1, 10)),
        Located("jn1", Segment(1, 10)),
        Located("jn2", Segment(11, 20)),
        Located("jn2", Segment(11, 20)),
        Located("jn1", Segment(21, 30)),
    ]
    assert locate(5, {"jn3": (Segment(1, 10),)}, 3) == Located("jn3", Segment(1, 10))


def test_what_no_majority_lists_is_purged_up_to_the_first_there_is() -> None:
    """A segment is finalized at a majority; a single JournalNode may have missed it."""
    listed = {"jn1": (Segment(31, 40),), "jn2": (Segment(21, 30), Segment(31, 40))}
    assert locate(15, listed, 3) == PurgedEdits(20)
    with pytest.raises(LookupError, match="2 of 5 JournalNodes"):
        locate(15, listed, 5)


def test_what_is_after_all_segments_is_in_the_open_one() -> None:
    """No finalized segment has it yet, whether or not an open segment exists."""
    assert locate(31, {"jn1": (Segment(21, 30),), "jn2": ()}, 3) is None
    with pytest.raises(LookupError, match="1 of 3 JournalNodes"):
        locate(31, {"jn1": (Segment(21, 30),)}, 3)


def test_one_that_did_not_send_a_segment_is_not_asked_for_it_again() -> None:
    """The JournalNode still counts as one that has it."""
    listed = {"jn1": (Segment(1, 10),), "jn2": (Segment(1, 10), Segment(11, 20))}
    assert locate(5, listed, 3, {"jn1"}) == Located("jn2", Segment(1, 10))
    with pytest.raises(LookupError, match="no JournalNode sends the segment with transaction 5"):
        locate(5, listed, 3, {"jn1", "jn2"})


def shown(txid: int, crc: int = 0, layout_version: int = -67) -> ShownTransaction:
    """Return a transaction."""
    return ShownTransaction(layout_version, Frame(txid, 3, b"", crc))


def taken(*crcs: int, epoch: int = 1) -> TransactionCrcs:
    """Return the transactions from 11 on, as taken in an epoch."""
    made = TransactionCrcs()
    assert made.take(epoch, [shown(11 + number, crc) for number, crc in enumerate(crcs)]) is None
    return made


def test_a_new_epoch_is_compared_once() -> None:
    """Transactions that are equal count as the new epoch's afterwards."""
    made = taken(5, 6, 7)
    made.resume(13)
    assert made.compare_from(1) is None
    assert made.compare_from(2) == 11
    assert made.take(2, [shown(11, 5), shown(12, 6)]) is None
    assert made.compare_from(2) == 13
    assert made.take(2, [shown(13, 7), shown(14, 8)]) is None
    assert made.compare_from(2) is None


@pytest.mark.parametrize("other", [shown(12, 9), shown(12, 6, layout_version=-66)])
def test_another_transaction_of_the_same_id_is_another_log(other: ShownTransaction) -> None:
    """Everything is forgotten: the caches and the transactions taken."""
    made = taken(5, 6, 7)
    found = made.take(2, [shown(11, 5), other])
    assert found is not None
    assert found.kind is GapKind.WENT_BACK
    assert "transaction 12 is another one" in found.reason
    assert made.compare_from(2) is None


def test_what_was_taken_and_not_passed_on_is_not_compared() -> None:
    """Transactions after the beginning of the run are not compared."""
    made = taken(5, 6, 7)
    made.resume(12)
    assert made.take(2, [shown(13, 9)]) is None


@pytest.mark.parametrize("after_txid", [None, 10, 14])
def test_after_another_position_there_is_nothing_to_compare(after_txid: int | None) -> None:
    """Other sources were read in between, or another process has published."""
    made = taken(5, 6, 7)
    made.resume(after_txid)
    assert made.compare_from(2) is None


def test_no_more_is_kept_than_allowed() -> None:
    """The oldest transactions are dropped first."""
    made = taken(*range(MAX_REMEMBERED + 5))
    assert made.compare_from(2) == 16
