"""EditsCursor: it skips nothing, repeats nothing, notices every gap, and covers only what was read."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.hadoop.events import EditsPage, EventBatch, Unlink
from nncache.invalidation.edits.cursor import EditsCursor, EditsGap, PageResult
from nncache.invalidation.errors import GapKind


def batch(txid: int) -> EventBatch:
    """Return a transaction with one event."""
    return EventBatch(txid, (Unlink(f"/{txid}"),))


def page(first: int, last: int, sync: int, *txids: int) -> EditsPage:
    """Return a page with events at these transactions."""
    return EditsPage(first, last, sync, tuple(batch(txid) for txid in txids))


def idle(sync: int) -> EditsPage:
    """Return the reply to a poll without new transactions."""
    return page(-1, -1, sync)


def progress(outcome: PageResult | EditsGap) -> PageResult:
    """Return an outcome that must not be a gap."""
    assert isinstance(outcome, PageResult)
    return outcome


def gap(outcome: PageResult | EditsGap) -> str:
    """Return the reason of a gap."""
    assert isinstance(outcome, EditsGap)
    return outcome.reason


def test_a_complete_page_covers_its_own_poll() -> None:
    """Once everything up to a poll's syncTxid is read, all changes acknowledged before the poll have been read."""
    cursor = EditsCursor(10)
    assert cursor.next_txid == 11
    seen = progress(cursor.receive(page(11, 14, 14, 12, 14), 5.0))
    assert seen == PageResult(
        batches=(batch(12), batch(14)),
        through_txid=14,
        covered_at=5.0,
        is_behind=False,
        advanced=True,
        is_durable=True,
    )
    assert (cursor.next_txid, cursor.through_txid) == (15, 14)


def test_a_full_page_covers_nothing_until_the_rest_is_read() -> None:
    """The first of two pages covers nothing; the second covers its own, later poll."""
    cursor = EditsCursor(10)
    first = progress(cursor.receive(page(11, 12, 14, 11, 12), 5.0))
    assert (first.covered_at, first.is_behind) == (None, True)
    second = progress(cursor.receive(page(13, 14, 14, 13), 6.0))
    assert (second.covered_at, second.is_behind) == (6.0, False)


def test_an_earlier_poll_is_covered_while_the_log_runs_ahead() -> None:
    """Under steady load the cursor never reaches the end, but it reaches what was the end for an earlier poll."""
    cursor = EditsCursor(10)
    assert progress(cursor.receive(page(11, 12, 13, 11), 5.0)).covered_at is None
    assert progress(cursor.receive(page(13, 14, 16, 13), 6.0)).covered_at == 5.0
    assert progress(cursor.receive(page(15, 15, 18), 7.0)).covered_at is None
    assert progress(cursor.receive(page(16, 18, 20), 8.0)).covered_at == 6.0
    assert progress(cursor.receive(page(19, 21, 21), 9.0)).covered_at == 9.0
    assert progress(cursor.receive(idle(21), 10.0)).covered_at == 10.0


def test_an_idle_reply_that_missed_something_covers_nothing() -> None:
    """A NameNode that is closing its log returns an empty page although there are transactions to read."""
    seen = progress(EditsCursor(10).receive(idle(12), 5.0))
    assert (seen.covered_at, seen.advanced, seen.is_behind) == (None, False, True)


def test_nothing_is_covered_without_a_durable_txid() -> None:
    """With a syncTxid of 0 (the NameNode has just become active) pages are read, but cover nothing."""
    cursor = EditsCursor(10)
    seen = progress(cursor.receive(page(11, 12, 0, 12), 5.0))
    assert (seen.covered_at, seen.through_txid) == (None, 12)
    assert progress(cursor.receive(idle(0), 6.0)).covered_at is None
    assert progress(cursor.receive(idle(12), 7.0)).covered_at == 7.0
    assert progress(cursor.receive(idle(0), 8.0)).covered_at is None, "no log that went back either"


def test_at_the_present_end_the_log_may_not_be_durable_yet() -> None:
    """The last transaction written may not be durable yet: the log has not gone back."""
    cursor = EditsCursor(10)
    before = progress(cursor.receive(idle(8), 5.0))
    assert (before.covered_at, before.is_durable) == (5.0, False)
    after = progress(cursor.receive(idle(10), 6.0))
    assert (after.covered_at, after.is_durable) == (6.0, True)


def test_what_was_read_is_durable() -> None:
    """C4: edits of finalized segments are durable even without a syncTxid, and so is a checkpoint."""
    assert progress(EditsCursor(10).receive(page(11, 12, 0), 5.0)).is_durable
    assert progress(EditsCursor(10, synced_txid=10).receive(idle(0), 5.0)).is_durable
    assert not progress(EditsCursor(10).receive(idle(0), 5.0)).is_durable


def test_what_a_page_repeats_is_passed_over() -> None:
    """A NameNode repeats them if it reads one stream of a segment, and then another one from its middle on."""
    found = progress(EditsCursor(10).receive(page(11, 13, 13, 11, 12, 13, 12, 13), 0.0))
    assert [each.txid for each in found.batches] == [11, 12, 13]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(page(12, 14, 14, 12), "purged: asked for 11, got 12", id="purged"),
        pytest.param(idle(9), "the log went back: synced to 9, was 10", id="rolled back, looks idle"),
        pytest.param(page(10, 11, 11), "not a page from 11: 10 to 11", id="begins too early"),
        pytest.param(page(11, 10, 11), "not a page from 11: 11 to 10", id="ends before it begins"),
        pytest.param(page(11, -1, 11), "not a page from 11: 11 to -1", id="has no end"),
        pytest.param(page(-1, -1, 11, 11), "a page of nothing has events", id="events of nothing"),
        pytest.param(page(11, 13, 13, 14), "transaction 14 is not in 11 to 13", id="beyond the page"),
        pytest.param(page(11, 13, 13, 10), "transaction 10 is not in 11 to 13", id="before the page"),
        pytest.param(
            EditsPage(11, 13, 13, (batch(12), EventBatch(12, (Unlink("/other"),)))),
            "transaction 12 has two contents in 11 to 13",
            id="twice, with another content",
        ),
    ],
)
def test_a_gap_is_noticed(reply: EditsPage, reason: str) -> None:
    """The NameNode reports none of these gaps (GapFlush); the position stays."""
    cursor = EditsCursor(10, synced_txid=10)
    assert gap(cursor.receive(reply, 5.0)) == reason
    assert cursor.through_txid == 10


def test_a_page_beyond_the_end_of_a_segment_is_read_to_where_it_begins_again() -> None:
    """With in-progress tailing the NameNode then reads the edits twice; the next page is requested immediately."""
    cursor = EditsCursor(10)
    read = progress(cursor.receive(page(11, 16, 16, 11, 13, 11, 13, 16), 5.0))
    assert (read.batches, read.through_txid) == ((batch(11), batch(13)), 13)
    assert read.is_behind
    assert read.covered_at is None
    read = progress(cursor.receive(page(14, 16, 16, 16), 6.0))
    assert (read.batches, read.through_txid, read.covered_at) == ((batch(16),), 16, 6.0)


def test_a_log_that_goes_back_within_a_life_is_noticed() -> None:
    """The highest syncTxid since the start counts, also if the position is lower."""
    cursor = EditsCursor(10)
    progress(cursor.receive(page(11, 12, 20), 5.0))
    assert "went back" in gap(cursor.receive(page(13, 14, 19), 6.0))


def test_a_gap_says_as_a_value_how_to_go_on() -> None:
    """A purge has first and last transactions; a malformed page may be correct when it is requested again."""
    cursor = EditsCursor(10, synced_txid=10)
    purged = cursor.receive(page(14, 15, 15, 14), 5.0)
    assert purged == EditsGap("purged: asked for 11, got 14", GapKind.PURGED, 11, 13)
    assert cursor.receive(idle(9), 5.0) == EditsGap(
        "the log went back: synced to 9, was 10", GapKind.WENT_BACK
    )
    assert cursor.receive(page(10, 11, 11), 5.0) == EditsGap(
        "not a page from 11: 10 to 11", GapKind.UNREADABLE
    )


@dataclass
class Log:
    """A naive NameNode: durable transactions, each acknowledged when it was written."""

    acknowledged_at: list[float] = field(default_factory=list)  # of transaction index + 1
    has_events: list[bool] = field(default_factory=list)

    def write(self, now: float, *, has_events: bool) -> None:
        """Write and acknowledge one transaction."""
        self.acknowledged_at.append(now)
        self.has_events.append(has_events)

    def read(self, asked: int, limit: int) -> EditsPage:
        """Return a page of at most `limit` transactions; at the end of a segment it begins again from `asked`."""
        end = len(self.has_events)
        if asked > end:
            return idle(end)
        last = min(end, asked + limit - 1)
        found = [txid for txid in range(asked, last + 1) if self.has_events[txid - 1]]
        ends = [txid for txid in range(asked, last) if txid % SEGMENT == 0]
        read_before = [txid for txid in found if txid <= ends[0]] if ends else []
        return page(asked, last, end, *read_before, *found)


SEGMENT = 7
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("poll"), st.integers(1, 5), st.booleans()),
    ),
    max_size=60,
)


@settings(max_examples=300)
@given(STEPS, st.integers(1, 5))
def test_nothing_is_skipped_and_covered_means_covered(
    steps: list[tuple[str, int, bool]], before: int
) -> None:
    """The cursor acts like a naive log: each transaction is read once, in order, and before it is covered."""
    log = Log()
    now = 0.0
    for _ in range(before):
        log.write(now, has_events=True)
    cursor = EditsCursor(before, synced_txid=before)
    seen: list[int] = []
    for kind, number, flag in [*steps, *[("poll", 1000, False)] * 40]:  # a page ends with its segment
        now += 1.0
        if kind == "write":
            for _ in range(number):
                log.write(now, has_events=flag)
            continue
        outcome = progress(cursor.receive(log.read(cursor.next_txid, number), now))
        seen += [found.txid for found in outcome.batches]
        if outcome.covered_at is not None:
            covered = [txid for txid, at in enumerate(log.acknowledged_at, 1) if at < outcome.covered_at]
            assert max(covered, default=0) <= outcome.through_txid
        assert outcome.is_behind == (outcome.through_txid < len(log.has_events))
        assert outcome.is_behind or outcome.covered_at == now
    assert cursor.through_txid == len(log.has_events)
    assert seen == [txid for txid, found in enumerate(log.has_events, 1) if found and txid > before]
