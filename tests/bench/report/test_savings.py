"""What a cache saves, against sums done by hand."""

import math
from dataclasses import replace

import pytest

from nncache.bench.report.savings import (
    Saving,
    polls_asked_per_s,
    savings,
    share_of_calls_saved,
    share_of_cpu_saved,
    share_saved,
)
from tests.bench import example_figures as example


def rows(found: tuple[Saving, ...]) -> list[tuple[str, float, float, float, bool]]:
    """Return the rows without their shares."""
    return [
        (row.mode, row.period_s, row.direct_calls_per_s, row.calls_per_s, row.is_measured) for row in found
    ]


def test_the_period_that_was_run_is_measured_and_others_are_computed() -> None:
    """10 changes/s of 1.12 calls each are 11.2 calls/s at any period; without a cache there is one for each poll."""
    found = savings(example.modes(), example.info(), (), (1.0, 5.0, 30.0))
    assert rows(found) == [
        ("nncache", 1.0, 10_000.0, 11.2, False),
        ("nncache", 5.0, 2_000.0, 11.2, True),
        ("nginx", 5.0, 2_000.0, 600.0, True),
        ("nncache", 30.0, pytest.approx(333.333, abs=0.001), 11.2, False),
    ]
    assert [row.share for row in found] == pytest.approx([0.99888, 0.9944, 0.7, 0.9664])


def test_what_was_run_at_another_period_is_measured_there_if_its_schedule_was_kept() -> None:
    """30 s was (in a third of the time, with 333 calls a second directly), 1 s was not."""
    found = savings(example.modes(), example.info(), example.also())
    assert rows(found) == [
        ("nncache", 1.0, 10_000.0, 11.2, False),
        ("nncache", 5.0, 2_000.0, 11.2, True),
        ("nginx", 5.0, 2_000.0, 600.0, True),
        ("nncache", 30.0, 333.0, 10.0, True),
    ]
    assert found[3].share == pytest.approx(1 - 10 / 333)


@pytest.mark.parametrize("late", ["direct", "nncache"])
def test_what_was_measured_too_slowly_is_computed(late: str) -> None:
    """If the generator fell behind, in this mode or in `direct`, nothing was measured at that period."""
    modes = tuple(replace(mode, kept_schedule=mode.mode != late) for mode in example.modes())
    found = savings(modes, example.info(), (), ())
    (row,) = (row for row in found if row.mode == "nncache")
    assert not row.is_measured
    assert row.direct_calls_per_s == 2_000.0


def test_no_cache_asks_more_often_than_it_is_asked() -> None:
    """With polls rarer than changes, at most a call for each poll; nothing is said of a mode without polls."""
    modes = (replace(example.nncache(), calls={"getFileInfo": 60_000}), example.nothing_happened())
    (at_the_period, rare) = savings(modes, example.info(), (), (30.0,))
    assert (at_the_period.share, rare.share) == (0.5, 0.0)
    assert not at_the_period.is_measured, "there is no direct mode to compare with"


def test_all_calls_and_the_cpu_are_saved_less() -> None:
    """Polls of the edits and probes come without any poll, at any period; an idle NameNode uses CPU as well."""
    found = savings(example.modes(), example.info(), example.also())
    often, at_the_period, by_nginx, rare = found
    assert [row.all_per_s for row in found] == pytest.approx(
        [37.2, 37.2, 600.0, 10 + 5 * 3 + 21 * 3 - 15 + 0.0]
    )
    assert (often.direct_all_per_s, rare.direct_all_per_s) == (10_000.0, 333.0)
    assert (at_the_period.share_of_all, at_the_period.share_of_cpu) == pytest.approx((0.9814, 0.95))
    assert (by_nginx.share_of_all, by_nginx.share_of_cpu) == pytest.approx((0.7, 0.6875))
    assert math.isnan(often.share_of_cpu), "not all polls were sent directly"
    assert (rare.direct_cores, rare.cores) == pytest.approx((48 / 20, 2.4 / 20))


def test_of_a_period_that_was_not_run_no_cpu_is_known() -> None:
    """It is not computed: how much an idle NameNode uses is not known."""
    (row,) = (each for each in savings(example.modes(), example.info(), (), (30.0,)) if each.period_s == 30.0)
    assert math.isnan(row.cores)
    assert row.share_of_all == pytest.approx(1 - 37.2 / (2_000 / 6))


def test_paths_count_as_polls() -> None:
    """A poller with three paths polls three times a period."""
    info = replace(example.info(), workload={"pollers": 100, "paths_per_poller": 3})
    assert polls_asked_per_s(info, 6.0) == 50.0
    assert math.isnan(polls_asked_per_s(replace(info, workload={}), 6.0))


def test_more_calls_than_polls_are_less_than_nothing_saved() -> None:
    """A cache that asks one and a half times as often saves -50 %."""
    worse = replace(example.nncache(), calls={"getFileInfo": 180_000})
    assert share_saved(worse, example.modes()) == -0.5
    assert math.isnan(share_saved(example.direct(), example.modes()))
    assert math.isnan(share_saved(worse, (worse,)))
    assert share_of_calls_saved(example.nncache(), example.modes()) == pytest.approx(0.9814)
    assert share_of_cpu_saved(example.nncache(), example.modes()) == pytest.approx(0.95)
    unknown = replace(example.nncache(), cpu_s={})
    assert math.isnan(share_of_cpu_saved(unknown, example.modes()))
