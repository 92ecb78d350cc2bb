"""FilterPacer and RecordPacer: when filters are read again, and when records are published."""

import math
from collections.abc import Iterable
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.invalidation.publisher.pacing import (
    ALL,
    AT_ONCE,
    BURST_S,
    CALM_S,
    MAX_PACED,
    MAX_PAUSE_S,
    MAX_ROUND_S,
    MAX_SPACING_S,
    MIN_PAUSE_S,
    MIN_SPACING_S,
    NEW_AT_ONCE,
    RETRY_S,
    FilterPacer,
    Pause,
    RecordPacer,
)
from nncache.invalidation.publisher.settings import PublisherSettings

REREAD_S = 600.0


def pacer() -> FilterPacer:
    """Return a pacer that read all filters long enough ago that their pauses are over."""
    made = FilterPacer(REREAD_S)
    assert made.take(-CALM_S) == (ALL,)
    made.read((ALL,), -CALM_S, ())
    return made


@pytest.fixture(name="made")
def made_() -> FilterPacer:
    """A pacer whose last read of all filters has no effect any more."""
    return pacer()


def readings(made: FilterPacer, until: float, *names: str, every_s: float) -> list[tuple[float, str]]:
    """Return times and names of reads, while these known filters change continuously and each due read is made."""
    found: list[tuple[float, str]] = []
    for tick in range(int(until / every_s)):
        now = tick * every_s
        made.invalidate(names)
        if made.due_at() <= now:
            taken = made.take(now, names)
            made.read(taken, now, ())
            found += [(now, name) for name in taken]
    return found


def test_all_are_read_first_and_then_seldom() -> None:
    """F3: a partial read says nothing about the others."""
    made = FilterPacer(REREAD_S)
    made.invalidate(["f"])
    assert made.due_at() == -math.inf
    assert made.take(5.0) == (ALL,)
    made.read((ALL,), 5.0, ())
    assert made.due_at() == 5.0 + REREAD_S, "what was touched before is among all"


def test_a_change_after_quiet_is_due_at_once_and_alone(made: FilterPacer) -> None:
    """Only that filter is read, and only once for two changes."""
    assert made.invalidate(["f"])
    assert not made.invalidate(["f"])
    assert made.due_at() <= 0.0
    assert made.take(0.0) == ("f",)
    assert made.take(0.0) == ()
    made.read(("f",), 0.0, ())
    assert made.due_at() == REREAD_S - CALM_S


def test_a_touch_while_it_is_read_counts(made: FilterPacer) -> None:
    """F2: the read may have seen the earlier state."""
    made.invalidate(["f"])
    taken = made.take(0.0)
    made.invalidate(["f"])
    made.read(taken, 0.0, ())
    assert made.due_at() == MIN_PAUSE_S
    assert made.take(MIN_PAUSE_S) == ("f",)


def test_what_could_not_be_read_stays_touched(made: FilterPacer) -> None:
    """F2: this holds for a single name, and for all."""
    made.invalidate(["f"])
    made.failed(made.take(0.0), 0.0)
    assert made.due_at() == MIN_PAUSE_S
    assert made.take(MIN_PAUSE_S) == ("f",)
    made.forget()
    made.failed(made.take(0.0), 0.0)
    assert made.take(0.0) == (ALL,)


def test_what_could_not_be_read_gives_way(made: FilterPacer) -> None:
    """It may be the reason why the others could not be read."""
    names = [f"f{number}" for number in range(AT_ONCE)]
    made.invalidate(names)
    made.failed(made.take(0.0), 0.0)
    made.invalidate(["g"])
    assert made.take(CALM_S / 2)[0] == "g"


def test_one_that_keeps_changing_is_read_less_and_less_often(made: FilterPacer) -> None:
    """Another filter is still read immediately."""
    found = [now for now, _ in readings(made, 300.0, "f", every_s=0.1)]
    pauses = [after - before for before, after in pairwise(found)]
    assert pauses[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6], abs=0.11)
    assert pauses[-1] == pytest.approx(MAX_PAUSE_S, abs=0.11)
    assert len(found) <= 17
    made.invalidate(["f", "g"])
    assert made.take(301.0) == ("g",)


def test_whose_pause_has_become_the_longest_is_reported_once() -> None:
    """The publisher logs it."""
    made, now = pacer(), 0.0
    slowed = []
    for _ in range(12):
        made.invalidate(["f"])
        now = max(now, made.due_at())
        taken = made.take(now)
        if made.read(taken, now, ()):
            slowed.append(taken)
    assert slowed == [("f",)]


def test_after_a_calm_time_it_is_as_at_first(made: FilterPacer) -> None:
    """Nothing is remembered of a filter after a calm time."""
    last_at, _ = readings(made, 100.0, "f", every_s=0.1)[-1]
    made.take(last_at + MAX_PAUSE_S)
    made.read(("f",), last_at + MAX_PAUSE_S, ())
    later = last_at + MAX_PAUSE_S + CALM_S
    made.invalidate(["f"])
    assert made.due_at() <= later
    assert made.take(later) == ("f",)
    made.read(("f",), later, ())
    made.invalidate(["f"])
    assert made.due_at() == pytest.approx(later + MIN_PAUSE_S)


@given(
    most_s=st.sampled_from([0.2, 2.0, 30.0]),
    calm_s=st.sampled_from([1.0, 10.0, 60.0]),
    waits_s=st.lists(st.floats(0.0, 90.0), min_size=1, max_size=60),
)
def test_no_toggling_brings_more_readings_than_the_bound(
    most_s: float, calm_s: float, waits_s: list[float]
) -> None:
    """F1 holds in every window of that length."""
    pause, now, found = Pause(most_s=most_s, calm_s=calm_s), 0.0, []
    for wait_s in waits_s:
        now = max(now + wait_s, pause.due_at)
        pause.read(now)
        found.append(now)
    bound = math.log2(most_s / MIN_PAUSE_S) + 2 + calm_s / most_s
    for start in found:
        assert sum(start <= each < start + calm_s for each in found) <= bound


def test_all_owners_together_are_bounded_and_each_is_served(made: FilterPacer) -> None:
    """However many filters keep changing, a read has a limited number of names, and reads have pauses."""
    names = [f"f{number}" for number in range(301)]
    found = readings(made, 60.0, *names, every_s=0.1)
    assert len(found) <= 60 / 2.0 * AT_ONCE + 5 * AT_ONCE
    assert {name for now, name in found if now < 15} == set(names)
    rounds = sorted({now for now, _ in found})
    assert max(sum(now == each for now, _ in found) for each in rounds) == AT_ONCE


def test_a_calm_one_comes_before_all_that_keep_changing(made: FilterPacer) -> None:
    """The owner of a calm filter does not wait for owners of busy ones."""
    names = [f"f{number}" for number in range(2 * AT_ONCE)]
    readings(made, 30.0, *names, every_s=0.1)
    made.invalidate([*names, "g"])
    now = made.due_at() + MAX_PAUSE_S
    assert made.take(now)[0] == "g"


def delays(names_per_s: int, *, known: tuple[str, ...] = ()) -> list[float]:
    """Return how long filter g waited after a change at various times of a round, while new names keep coming.

    Each time is a separate story.
    """
    found = []
    for story in range(5):
        made, stale_since, numbers = pacer(), 15 + 0.4 * story, count()
        for tick in range(1_000):
            now = tick / 10
            made.invalidate(f"n{next(numbers)}" for _ in range(names_per_s // 10))
            if tick == round(10 * stale_since):
                made.invalidate(["g"])
            if made.due_at() <= now:
                taken = made.take(now, known)
                made.read(taken, now, ())
                if "g" in taken:
                    found.append(now - stale_since)
                    break
    return found


def test_new_names_delay_no_known_filter_by_more_than_a_round() -> None:
    """However many names are created, g, an existing filter, is read with the next of them."""
    for names_per_s in (20, 200):
        found = delays(names_per_s, known=("g",))
        assert len(found) == 5
        assert max(found) <= MAX_ROUND_S + 0.1


def test_a_new_name_waits_for_those_before_it(made: FilterPacer) -> None:
    """A new name does not wait for later ones."""
    made.invalidate(f"before{number}" for number in range(NEW_AT_ONCE))
    made.invalidate(["g"])
    made.invalidate(f"after{number}" for number in range(NEW_AT_ONCE))
    made.invalidate(["before0", "g"])
    now, taken = 0.0, list[tuple[str, ...]]()
    for _ in range(3):
        now = max(now, made.due_at())
        taken.append(made.take(now))
        made.read(taken[-1], now, ())
    assert [names[0] for names in taken] == ["before0", "g", f"after{NEW_AT_ONCE - 1}"]


def test_what_was_broken_and_is_not_touched_comes_last(made: FilterPacer) -> None:
    """No change waits for a broken filter without edits."""
    made.invalidate(["broken"])
    made.read(made.take(0.0), 0.0, ("broken",))
    made.invalidate(["g"])
    assert made.take(2 * CALM_S) == ("g", "broken")


def test_while_all_wait_to_be_read_no_single_one_is(made: FilterPacer) -> None:
    """F3: a single read would lose the knowledge of the other filters."""
    made.forget()
    made.read(made.take(0.0), 0.0, ())
    made.forget()
    made.invalidate(["f"])
    assert made.take(0.1) == ()
    assert made.due_at() == MIN_PAUSE_S
    assert made.take(MIN_PAUSE_S) == (ALL,)
    assert made.due_at() == REREAD_S


def test_a_broken_one_is_read_again_less_and_less_often() -> None:
    """It may be unreadable only briefly, without an edit; at the latest it is read with all others."""
    made, now, found = pacer(), 0.0, []
    made.invalidate(["f"])
    for _ in range(12):
        now = max(now, made.due_at())
        taken = made.take(now)
        made.read(taken, now, ("f",))
        found.append((now, taken))
    singles = [at for at, taken in found if taken == ("f",)]
    assert singles[1] - singles[0] == RETRY_S
    assert singles[2] - singles[1] == 2 * RETRY_S
    assert (ALL,) in [taken for _, taken in found]
    made.invalidate(["f"])
    made.read(made.take(now + CALM_S), now + CALM_S, ())
    assert made.due_at() > now + CALM_S + RETRY_S, "mended"


def test_one_that_all_readings_find_broken_is_read_again(made: FilterPacer) -> None:
    """It has not changed before; once it is deleted there is nothing to read."""
    made.forget()
    made.read(made.take(0.0), 0.0, ("f",))
    assert made.due_at() == RETRY_S
    made.read(made.take(RETRY_S), RETRY_S, ())
    assert made.due_at() == REREAD_S


def test_a_broken_one_that_is_not_remembered_is_none_of_all(made: FilterPacer) -> None:
    """All are read again after `reread_s`, not as soon and as often as a broken filter."""
    names = {f"f{number}" for number in range(MAX_PACED)}
    made.invalidate([*names, "one more"])
    now = 0.0
    for _ in range(3):
        assert made.take(now) == (ALL,)
        made.read((ALL,), now, {*names, "one more"})
        made.invalidate(names)
        singles = made.take(now + RETRY_S, names)
        assert len(singles) == AT_ONCE
        made.failed(singles, now + RETRY_S)
        made.invalidate([ALL])
        now += MAX_PAUSE_S
    made.take(now)
    made.read((ALL,), now, {"one more"})
    made.read(tuple(names), now, ())
    assert made.due_at() == now + REREAD_S


def test_too_many_to_remember_are_all(made: FilterPacer) -> None:
    """The memory for names is bounded, so that an overflow reads all filters."""
    made.invalidate(f"f{number}" for number in range(MAX_PACED))
    assert made.take(0.0) != (ALL,)
    made.invalidate(["one more"])
    assert made.take(0.0) == (ALL,)


def test_new_names_are_read_together_after_known_ones(made: FilterPacer) -> None:
    """A file of thousands of filters comes into force in a few reads; reads of known filters stay bounded."""
    known = [f"known{number}" for number in range(2 * AT_ONCE)]
    made.invalidate(f"new{number}" for number in range(NEW_AT_ONCE + 1))
    made.invalidate(known)
    taken = made.take(0.0, known)
    assert taken[:AT_ONCE] == tuple(known[:AT_ONCE])
    assert taken[AT_ONCE:] == tuple(f"new{number}" for number in range(NEW_AT_ONCE))
    made.read(taken, 0.0, ())
    now = made.due_at()
    assert made.take(now, known) == (*known[AT_ONCE:], f"new{NEW_AT_ONCE}")


def test_a_new_name_that_keeps_changing_is_new_no_more(made: FilterPacer) -> None:
    """Whether or not it is a filter, its reads are bounded like those of known filters."""
    names = [f"new{number}" for number in range(2 * AT_ONCE)]
    made.invalidate(names)
    assert len(made.take(0.0)) == 2 * AT_ONCE
    made.read(tuple(names), 0.0, ())
    made.invalidate(names)
    assert len(made.take(made.due_at() + MAX_PAUSE_S)) == AT_ONCE


def play(pacer: RecordPacer, happens_at: Iterable[float]) -> list[tuple[float, list[float]]]:
    """Publish transactions that concern a filter when the pacer allows it; return each record's time and content."""
    records: list[tuple[float, list[float]]] = []
    pending: list[float] = []
    for at in [*happens_at, float("inf")]:
        while pending and (due_at := max(pending[0], pacer.due_at(is_relevant=True))) < at:
            records.append((due_at, pending))
            pacer.published(due_at, transactions=len(pending), writes=1)
            pending = []
        pending = [*pending, at]
    return records


def latencies(records: list[tuple[float, list[float]]]) -> list[float]:
    """Return how long each transaction waited."""
    return [at - happened_at for at, content in records for happened_at in content]


def record_pacer(**settings: float) -> RecordPacer:
    """Return a pacer at time 0."""
    return RecordPacer(PublisherSettings(**settings), 0.0)  # type: ignore[arg-type]  # integers among the floats


def test_a_change_after_a_quiet_time_is_published_at_once() -> None:
    """The first change of all, and the first after a burst, are published immediately too."""
    busy = [5.0 + 0.001 * number for number in range(5000)]
    records = play(record_pacer(), [0.0, 3.0, *busy, 30.0])
    assert latencies(records)[:2] == [0.0, 0.0]
    assert records[-1] == (30.0, [30.0])


@pytest.mark.parametrize("per_s", [10, 20])
def test_a_steady_trickle_is_published_change_by_change(per_s: int) -> None:
    """Ten to twenty matching events per second are each published within 50 ms."""
    records = play(record_pacer(), (number / per_s for number in range(60 * per_s)))
    assert max(latencies(records)) <= 0.05


def test_a_trickle_after_a_burst_is_fast_again() -> None:
    """The spacing shrinks again, although 20 changes per second put several into one spacing at its largest."""
    burst = [0.001 * number for number in range(5000)]
    records = play(record_pacer(), [*burst, *(5.0 + number / 20 for number in range(400))])
    assert max(latencies(records[-300:])) <= 0.05


@pytest.mark.parametrize("per_s", [200, 300, 1000, 3000])
def test_a_job_that_commits_many_files_costs_few_records(per_s: int) -> None:
    """10 s of load take at most 60 records, and no change waits longer than the largest spacing."""
    records = play(record_pacer(), (number / per_s for number in range(10 * per_s)))
    assert len(records) <= 60
    assert max(latencies(records)) <= MAX_SPACING_S + 1e-9


def test_between_trickle_and_load_the_budget_decides() -> None:
    """Fifty changes per second: twenty records per second after the burst."""
    records = play(record_pacer(), (number / 50 for number in range(3000)))
    assert len(records) <= 60 * 20 + 20 * BURST_S + 1
    assert max(latencies(records)) <= MAX_SPACING_S


def test_coverage_alone_keeps_its_interval() -> None:
    """Coverage without relevant changes is published twice a second, and immediately after a quiet time."""
    paced = record_pacer()
    assert paced.due_at(is_relevant=False) <= 0.0
    paced.published(0.0, transactions=0, writes=1)
    assert paced.due_at(is_relevant=False) == 0.5
    assert paced.due_at(is_relevant=True) == MIN_SPACING_S


def test_other_writes_count() -> None:
    """Many changed filters leave less of the rate for records."""
    paced = record_pacer()
    paced.wrote(40, 0.0)
    assert paced.due_at(is_relevant=True) == pytest.approx(0.05)
    paced.wrote(3, -1.0)
    assert paced.due_at(is_relevant=True) == pytest.approx(0.2), "a clock that goes back gives nothing"


@given(
    st.floats(0.1, 100),
    st.lists(st.tuples(st.floats(0, 2), st.integers(1, 3)), max_size=50),
)
def test_the_write_rate_is_bounded(per_s: float, wishes: list[tuple[float, int]]) -> None:
    """W1 holds for any pattern of requests."""
    paced = record_pacer(max_write_ops_per_s=per_s)
    now, made = 0.0, list[tuple[float, int]]()
    for pause_s, writes in wishes:
        now = max(now + pause_s, paced.due_at(is_relevant=True))
        paced.published(now, transactions=1, writes=writes)
        made.append((now, writes))
    for first, (since, _) in enumerate(made):
        for last in range(first, len(made)):
            total = sum(writes for _, writes in made[first : last + 1])
            allowed = max(1.0, per_s * BURST_S) + per_s * (made[last][0] - since)
            assert total <= allowed + (made[last][1] - 1) + 1e-6
