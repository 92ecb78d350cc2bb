"""Freshness: a probe is covered once the position reaches its transaction, and a log that went back is not followed."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.hadoop.election_view import Probe
from nncache.invalidation.errors import Discontinued, GapKind
from nncache.invalidation.follower.freshness import MAX_PENDING, MAX_REMEMBERED, Freshness
from nncache.invalidation.stream import CoveredThrough


def probe(at: float, txid: int, *, asked_at: float | None = None, term: int = 1) -> Probe:
    """Return a probe as of `at`."""
    return Probe(as_of=at, txid=txid, asked_at=at if asked_at is None else asked_at, term=term)


def test_a_probe_waits_for_its_own_transaction() -> None:
    """F1: a probe is covered only after everything up to its transaction is yielded."""
    fresh = Freshness(1, 10, 100.0)
    assert fresh.probed(probe(101.0, 15)) is None
    assert (fresh.take(), fresh.is_pending) == (None, True)
    fresh.advance(14, 101.1)
    assert (fresh.take(), fresh.is_pending) == (None, True)
    fresh.advance(16, 101.2)
    assert (fresh.take(), fresh.is_pending) == (CoveredThrough(101.0, 16), False)


def test_a_steady_flow_starves_nobody() -> None:
    """F4: each probe is ahead of the position when it arrives, and each is reached in its turn."""
    fresh = Freshness(1, 0, 100.0)
    covered = []
    for second in range(1, 50):
        fresh.probed(probe(100.0 + second, 100 * second))
        fresh.advance(100 * second - 50, 100.5 + second)
        covered.append(fresh.take())
    assert covered == [None] + [CoveredThrough(100.0 + second, 100 * second + 50) for second in range(1, 49)]


def test_the_newest_of_several_is_what_counts() -> None:
    """F2: a record that reaches several probes gives one coverage."""
    fresh = Freshness(1, 0, 100.0)
    for at in (101.0, 102.0, 103.0, 104.0):
        fresh.probed(probe(at, int(at)))
    fresh.advance(103, 105.0)
    assert (fresh.take(), fresh.take()) == (CoveredThrough(103.0, 103), None)
    fresh.advance(104, 106.0)
    assert fresh.take() == CoveredThrough(104.0, 104)


def test_of_probes_with_the_same_transaction_the_latest_waits() -> None:
    """The later probe covers more, and needs no more records."""
    fresh = Freshness(1, 0, 100.0)
    for at in (101.0, 102.0):
        fresh.probed(probe(at, 5))
    fresh.advance(5, 103.0)
    assert fresh.take() == CoveredThrough(102.0, 5)


def test_what_is_known_already_is_nothing_new() -> None:
    """F2: the same probe again, or an older one, gives no coverage."""
    fresh = Freshness(1, 0, 100.0)
    fresh.probed(probe(101.0, 0))
    assert fresh.take() == CoveredThrough(101.0, 0)
    for at in (101.0, 100.5):
        assert fresh.probed(probe(at, 0)) is None
        assert fresh.take() is None


def test_another_term_is_another_log() -> None:
    """The position of another NameNode's log, or after a restart, says nothing about ours."""
    fresh = Freshness(3, 0, 100.0)
    lost = fresh.probed(probe(101.0, 9, term=4))
    assert isinstance(lost, Discontinued)
    assert "term 4" in lost.reason
    assert lost.kind is GapKind.OTHER
    assert (fresh.take(), fresh.is_pending) == (None, False)


def test_a_log_behind_what_was_known_went_back() -> None:
    """F3, GapFlush: the NameNode was probed after the position was known, and had not reached it."""
    fresh = Freshness(1, 10, 100.0)
    fresh.advance(20, 101.0)
    lost = fresh.probed(probe(101.0, 19))
    assert lost == Discontinued("the log went back: its last transaction is 19, was 20", GapKind.WENT_BACK)
    assert fresh.take() is None


def test_a_position_learnt_after_the_question_accuses_nobody() -> None:
    """A probe in flight while records arrive was true when it was sent."""
    fresh = Freshness(1, 10, 100.0)
    fresh.advance(20, 101.0)
    assert fresh.probed(probe(100.9, 15)) is None
    assert fresh.take() == CoveredThrough(100.9, 20)


def test_as_of_may_be_before_the_question() -> None:
    """With several NameNodes `as_of` is the time of the oldest question; the transaction is from a later one."""
    fresh = Freshness(1, 10, 100.0)
    fresh.advance(20, 101.0)
    assert fresh.probed(probe(100.5, 20, asked_at=101.5)) is None
    assert fresh.take() == CoveredThrough(100.5, 20)
    assert isinstance(fresh.probed(probe(100.6, 19, asked_at=101.6)), Discontinued)


def test_a_log_behind_an_earlier_answer_went_back() -> None:
    """F3: this also holds while the position is far behind both answers."""
    fresh = Freshness(1, 10, 100.0)
    assert fresh.probed(probe(101.0, 30)) is None
    assert isinstance(fresh.probed(probe(102.0, 29)), Discontinued)
    assert fresh.probed(probe(102.0, 29, asked_at=100.5)) is None  # a reply that a later one overtook


def test_a_position_at_the_very_moment_was_known() -> None:
    """The first position of a run is known from the time of its read."""
    fresh = Freshness(1, 10, 100.0)
    assert fresh.probed(probe(99.9, 5)) is None
    assert isinstance(Freshness(1, 10, 100.0).probed(probe(100.0, 5)), Discontinued)


def test_the_same_position_again_is_no_step() -> None:
    """A read without a new record changes nothing."""
    fresh = Freshness(1, 10, 100.0)
    fresh.advance(10, 101.0)
    assert (fresh.txid, fresh.take()) == (10, None)
    with pytest.raises(AssertionError):
        fresh.advance(9, 102.0)


def test_a_long_lag_keeps_few_probes_and_loses_no_end() -> None:
    """However long records are missing, the newest and the oldest probe are kept, and the rest is thinned out."""
    fresh = Freshness(1, 0, 100.0)
    for number in range(1, 20 * MAX_PENDING):
        fresh.probed(probe(100.0 + number, number))
    fresh.advance(1, 5000.0)
    assert fresh.take() == CoveredThrough(101.0, 1)
    covers = 0
    for number in range(2, 20 * MAX_PENDING):
        fresh.advance(number, 5000.0 + number)
        covers += fresh.take() is not None
    assert covers < MAX_PENDING
    assert (fresh.is_pending, fresh.txid) == (False, 20 * MAX_PENDING - 1)


def test_forgotten_positions_accuse_nobody() -> None:
    """If the position at the time of a probe is forgotten, the probe is not a contradiction."""
    fresh = Freshness(1, 0, 100.0)
    for number in range(1, MAX_REMEMBERED + 10):
        fresh.advance(number, 100.0 + number)
    assert fresh.probed(probe(105.0, 3)) is None
    assert isinstance(fresh.probed(probe(1000.0, 4)), Discontinued)


def test_it_is_reported_as_of_when_the_latest_probe_was() -> None:
    """A caller that needs a later coverage must request another probe, whether this one is reached or not."""
    fresh = Freshness(1, 0, 100.0)
    reported = [fresh.probed_as_of]
    for at, txid in ((100.9, 0), (101.0, 7)):
        fresh.probed(probe(at, txid))
        reported.append(fresh.probed_as_of)
    assert reported == [-inf, 100.9, 101.0]


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "publish", "ask", "answer"]), st.integers(1, 3)), max_size=60
)


@settings(max_examples=300)
@given(STEPS)
def test_nothing_is_covered_too_early_and_everything_in_the_end(steps: list[tuple[str, int]]) -> None:
    """Bounded: like a twin that knows the time of every change, with replies late and out of order."""
    now, end, position = 100.0, 0, 0
    fresh = Freshness(1, 0, now)
    written_at = {0: now}
    asked: list[Probe] = []
    last = 0.0
    for step, number in [*steps, ("ask", 1), ("answer", 1), ("publish", 3), ("publish", 1000)]:
        now += 1.0
        match step:
            case "write":
                for _ in range(number):
                    end += 1
                    written_at[end] = now
            case "publish":
                position = min(end, position + number)
                fresh.advance(position, now)
            case "ask":
                asked.append(probe(now, end))
            case "answer" if asked:
                assert fresh.probed(asked.pop(-min(number, len(asked)))) is None
        covered = fresh.take()
        if covered is not None:
            due = [txid for txid, at in written_at.items() if at < covered.as_of]
            assert max(due) <= position == covered.txid
            assert covered.as_of > last
            last = covered.as_of
    assert last == now - 3.0
