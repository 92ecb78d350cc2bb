"""A short history of faults; `make journal-faults` plays long ones."""

import pytest

from tests.journal_faults.__main__ import stand
from tests.journal_faults.changes import Changed
from tests.journal_faults.figures import Figures
from tests.journal_faults.history import play
from tests.journal_faults.plan import Fault, Kind, draw
from tests.real.proxied_cluster import MAX_STALENESS_S

pytestmark = pytest.mark.timeout(300)

FAULTS = (
    Fault(at_s=1.0, kind=Kind.JOURNALNODE_KILLED, lasts_s=0.5, which=1),
    Fault(at_s=2.0, kind=Kind.EDITS_ROLLED, lasts_s=0.0),
    Fault(at_s=3.0, kind=Kind.CHANGE_DISCARDED, lasts_s=1.0, which=0),
    Fault(at_s=5.0, kind=Kind.JOURNALNODE_WIPED, lasts_s=0.5, which=2),
    Fault(at_s=6.0, kind=Kind.READER_WITHOUT_MAJORITY, lasts_s=2.0, which=2),
)


def test_what_is_read_is_what_is_in_the_finalized_log() -> None:
    """Whatever becomes of JournalNodes and NameNodes; and nothing older than allowed is answered from memory."""
    with stand("journalnodes") as (pair, proxy):
        played = play(pair, proxy, FAULTS, seconds=9.0, name="short", edits_source="journalnodes")
    assert Figures([played]).shortfalls() == ()
    assert played.made > 100
    assert played.runs > 1, "a failover ends a run"


def test_a_history_is_drawn_again_from_its_seed() -> None:
    """All kinds of faults come, and each ends before the history does."""
    drawn = [draw(seed, 20.0) for seed in range(60)]
    assert drawn == [draw(seed, 20.0) for seed in range(60)]
    assert {fault.kind for faults in drawn for fault in faults} == set(Kind)
    assert all(fault.at_s + fault.lasts_s <= 20.0 for faults in drawn for fault in faults)


def test_what_was_acknowledged_long_ago_must_be_seen() -> None:
    """An answer may be as old as Bounded allows, counted from the question."""
    changed = Changed("/d", [(100.0, 0), (101.0, 1)])
    asked_at = (100.0, 100.5 + MAX_STALENESS_S, 101.5 + MAX_STALENESS_S)
    assert [changed.oldest_allowed(each) for each in asked_at] == [-1, 0, 1]
