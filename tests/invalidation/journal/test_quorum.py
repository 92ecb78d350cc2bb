"""JournalQuorum: edits that a majority shows byte for byte are in the log; coverage needs all acknowledged edits."""

from itertools import permutations

import pytest

from nncache.invalidation.errors import Discontinued, GapKind
from nncache.invalidation.journal.quorum import (
    START_LOG_SEGMENT,
    JournalQuorum,
    NewTransactions,
    ShownTransaction,
)
from tests.invalidation.journal.broken_quorums import BROKEN
from tests.invalidation.journal.journal_simulation import JournalSimulation, NewQuorum, WrongError, shown

THREE = ("jn1", "jn2", "jn3")
NOW = 100.0


def quorum(*, after: int = 10, epochs: tuple[int, ...] = (1, 1, 1)) -> JournalQuorum:
    """Return a quorum whose JournalNodes have reported these epochs."""
    made = JournalQuorum(THREE[: len(epochs)] if len(epochs) <= 3 else THREE, after)
    for name, epoch in zip(THREE, epochs, strict=True):
        assert made.promised(name, epoch, NOW) is None
    return made


@pytest.fixture
def one() -> JournalQuorum:
    """Return a quorum of three JournalNodes, after transaction 10."""
    return quorum()


def answer(
    to: JournalQuorum, name: str, *edits: ShownTransaction, asked_at: float = NOW, is_whole: bool = True
) -> NewTransactions:
    """Pass an answer to the quorum."""
    return to.answered(name, edits, asked_at=asked_at, now=asked_at + 0.001, is_whole=is_whole)


def discontinued(outcome: Discontinued | None) -> Discontinued:
    """Return an outcome that must end the run."""
    assert outcome is not None
    return outcome


def test_a_majority_that_shows_the_same_bytes_decides(one: JournalQuorum) -> None:
    """The position advances over edits that a majority of the configured JournalNodes shows."""
    assert answer(one, "jn1", shown(11), shown(12)) == NewTransactions((shown(11), shown(12)), ())
    assert answer(one, "jn2", shown(11)) == NewTransactions((), (shown(11),))
    assert one.next_txid == 12
    assert answer(one, "jn3", shown(11), shown(12)) == NewTransactions((), (shown(12),))


def test_the_same_bytes_in_another_layout_are_others(one: JournalQuorum) -> None:
    """The meaning of bytes depends on the layout version."""
    answer(one, "jn1", shown(11, layout_version=-66))
    assert not answer(one, "jn2", shown(11, layout_version=-67)).durable


def test_what_is_shown_again_was_seen_before(one: JournalQuorum) -> None:
    """Each version of a transaction is reported as seen once."""
    assert answer(one, "jn1", shown(11)).seen == (shown(11),)
    assert answer(one, "jn1", shown(11)).seen == ()


def test_a_late_answer_does_not_bring_back_what_was_decided(one: JournalQuorum) -> None:
    """Edits before the position stay as they were decided."""
    answer(one, "jn1", shown(11))
    answer(one, "jn2", shown(11))
    assert answer(one, "jn3", shown(11, "old")) == NewTransactions((), ())


def test_one_that_lags_is_fresh_in_sight_and_not_in_the_log(one: JournalQuorum) -> None:
    """It is fresh in the log once the position reaches the edits shown at that time."""
    answer(one, "jn1", shown(11), asked_at=101.0)
    answer(one, "jn2", asked_at=102.0)
    assert one.fresh_as_of == 101.0
    assert one.durable_as_of() is None
    answer(one, "jn2", shown(11), shown(12), asked_at=103.0)  # later edits delay nothing
    assert one.durable_as_of() == 101.0


def test_an_error_takes_the_answer_back(one: JournalQuorum) -> None:
    """A JournalNode without a valid answer does not count for the majority."""
    answer(one, "jn1")
    answer(one, "jn2")
    assert (one.counting, one.is_quorate) == (("jn1", "jn2"), True)
    one.failed("jn2")
    assert (one.counting, one.is_quorate, one.fresh_as_of, one.durable_as_of()) == (
        ("jn1",),
        False,
        None,
        None,
    )


def test_a_higher_epoch_is_another_namenode() -> None:
    """A NameNode that becomes active makes the JournalNodes promise a higher epoch."""
    one = quorum()
    assert one.promised("jn1", 2, 101.0) is None
    end = discontinued(one.promised("jn3", 2, 102.0))
    assert end.kind is GapKind.OTHER
    assert "most JournalNodes have promised an epoch after 1, jn3 epoch 2: another NameNode" in end.reason


@pytest.mark.parametrize("order", [*permutations(THREE)])
def test_a_namenode_that_died_before_it_was_active_ends_nothing(order: tuple[str, ...]) -> None:
    """One JournalNode has promised its epoch; the active NameNode still writes to the others."""
    one = JournalQuorum(THREE, 10)
    for name in order:
        assert one.promised(name, 2 if name == "jn3" else 1, NOW) is None
    assert one.epoch == 1
    for name in THREE:
        answer(one, name, shown(11))
    assert one.counting == ("jn1", "jn2")
    assert (one.through_txid, one.fresh_as_of) == (11, NOW)


def test_lower_epochs_of_most_are_another_journal() -> None:
    """Epochs restart when a journal is formatted; a single wiped JournalNode does not count."""
    one = quorum(epochs=(5, 5, 5))
    assert one.promised("jn1", 1, 101.0) is None
    end = discontinued(one.promised("jn2", 1, 102.0))
    assert end.kind is GapKind.WENT_BACK
    assert "most JournalNodes have promised no epoch as high as 5" in end.reason


def test_nothing_counts_before_the_epoch_is_known() -> None:
    """The epoch is known once a majority has reported it."""
    one = JournalQuorum(THREE, 10)
    one.promised("jn1", 1, NOW)
    assert one.epoch is None
    assert answer(one, "jn1", shown(11)) == NewTransactions((shown(11),), ())
    assert one.counting == ()


def test_the_epoch_is_asked_for_at_intervals_and_after_an_error(one: JournalQuorum) -> None:
    """After an error the connection may lead to another process."""
    assert not one.needs_epoch("jn1", NOW + 0.5, 1.0)
    assert one.needs_epoch("jn1", NOW + 1.0, 1.0)
    one.failed("jn2")
    assert one.needs_epoch("jn2", NOW, 1.0)


def test_a_segment_is_fresh_once_its_epoch_is_known(one: JournalQuorum) -> None:
    """Each NameNode that becomes active begins a segment, so a majority is asked for its epoch afterwards."""
    segment = shown(11, opcode=START_LOG_SEGMENT)
    for name in THREE:
        answer(one, name, segment, asked_at=101.0)
    assert one.through_txid == 11
    assert one.fresh_as_of is None
    assert one.needs_epoch("jn1", 101.1, 1.0)
    one.promised("jn1", 1, 102.0)
    assert one.fresh_as_of is None
    one.promised("jn2", 1, 102.0)
    assert one.fresh_as_of == 101.0


def test_too_few_caches_end_the_run(one: JournalQuorum) -> None:
    """The next transaction cannot be decided any more."""
    assert one.missed("jn1") is None
    answer(one, "jn2", shown(11))
    end = discontinued(one.missed("jn3"))
    assert end.kind is GapKind.PURGED
    assert (
        "transaction 11 is in the caches of too few JournalNodes, of 3 not in those of jn1, jn3" in end.reason
    )


def test_a_cache_that_has_it_again_counts_again(one: JournalQuorum) -> None:
    """The cache may have the next transaction again, for example after others have advanced the position."""
    one.missed("jn1")
    answer(one, "jn1")
    assert one.missed("jn2") is None


def test_what_is_in_no_cache_is_known_of_one_position_only(one: JournalQuorum) -> None:
    """The transactions at the new position may be in its cache."""
    one.missed("jn1")
    answer(one, "jn2", shown(11))
    answer(one, "jn3", shown(11))
    assert one.through_txid == 11
    assert one.missed("jn2") is None


def test_finalized_segments_move_the_position(one: JournalQuorum) -> None:
    """Their edits are in the log. Edits seen before are not reported again, and other versions are discarded."""
    answer(one, "jn1", shown(11), shown(12, "other"))
    one.missed("jn2")
    final = (shown(10), shown(11), shown(12), shown(13))
    assert one.caught_up(final, NOW) == NewTransactions(final[2:], final[1:], discarded=1)
    assert one.next_txid == 14
    assert one.missed("jn3") is None
    assert answer(one, "jn1", shown(13)) == NewTransactions((), ())


@pytest.mark.parametrize("nodes", [3, 5])
def test_no_history_leads_to_a_wrong_conclusion(nodes: int) -> None:
    """Through crashes, restarts, failovers and partitions, durable edits are in the log, and freshness is true."""
    taken = runs = 0
    for seed in range(150):
        simulation = JournalSimulation(seed, nodes=nodes)
        simulation.go(400)
        taken, runs = taken + len(simulation.taken), runs + simulation.runs
    assert taken > 1500
    assert runs > 300


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_each_broken_rule_leads_to_a_wrong_conclusion(broken: NewQuorum) -> None:
    """The histories find each missing rule."""
    with pytest.raises(WrongError):  # noqa: PT012 - some history
        for seed in range(600):
            JournalSimulation(seed, broken).go(400)
