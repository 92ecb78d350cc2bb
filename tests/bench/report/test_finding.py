"""What a run found is said in sentences that hold whatever was run; those of the example: test_table.py."""

from dataclasses import replace

import pytest

from nncache.bench.report.finding import (
    cpu,
    freshness,
    late_periods,
    load,
    meanwhile,
    schedule,
    verdict,
    ways,
)
from nncache.bench.report.savings import all_calls_per_s, share_of_calls_saved
from tests.bench import example_figures as example

INFO = example.info()


def test_a_mode_that_was_not_measured_is_left_out() -> None:
    """In each sentence; without any mode it says so."""
    unknown = replace(example.nncache(), cpu_s={"proxy": 9.6})
    assert cpu(INFO, (example.direct(), unknown, example.nginx())) == (
        "In 60 s the NameNode takes 48.0 CPU seconds directly, 15.0 through nginx"
    )
    assert cpu(INFO, (unknown,)) == "CPU seconds by process in 60 s"
    assert load(INFO, (example.nncache(),)).endswith(
        "the NameNode answers 37.2 calls/s through nncache, and uses 4.00 % of a core"
    )
    assert load(INFO, (example.direct(), unknown)).endswith(
        "answers 2,000 calls/s directly, 37.2 through nncache"
    )
    assert load(INFO, ()) == "10,000 pollers, 2,000 polls/s: nothing was measured"
    assert freshness((example.nothing_happened(),)) == "No change was seen; wrong answers: 0 through nncache"
    assert freshness(()) == "No change was seen"


def test_upkeep_of_a_publisher_that_runs_anyway_is_not_directs() -> None:
    """On a cluster of one's own it polls the edits all the time; nginx needs none either."""
    upkeep = {"getEditsFromTxid": 3_000, "probe (JMX)": 120}
    beside = tuple(replace(mode, upkeep=upkeep) for mode in example.modes())
    assert load(INFO, beside[::2]) == load(INFO, example.modes()[::2])
    assert share_of_calls_saved(beside[1], beside) == pytest.approx(1 - all_calls_per_s(beside[1]) / 2_000)
    assert meanwhile(beside) == (
        "A publisher or a proxy of nncache ran while polls went straight to the NameNode: its 52.0 calls a second are "
        "left out of what is said of direct; their CPU is part of it"
    )
    assert meanwhile(example.modes()) == ""


def test_a_load_at_which_nncache_does_not_pay_is_said() -> None:
    """With so few polls that reading the edits costs more."""
    few = replace(example.direct(), calls={"getFileInfo": 1_200})
    modes = few, replace(example.nncache(), calls={"getFileInfo": 60}, upkeep={"getEditsFromTxid": 5_880})
    assert verdict(modes) == (
        "At this load nncache costs the NameNode more calls than it saves: 99.0 a second in place of 20.0; 98.0 of "
        "them read what has changed, however little is polled"
    )
    assert verdict(example.modes()) == verdict(()) == verdict(modes[:1]) == ""


def test_all_modes_that_were_late_are_named() -> None:
    """Also at further periods, by how much each; nothing is said where none was."""
    late = tuple(replace(mode, kept_schedule=mode.mode == "nncache") for mode in example.modes())
    assert schedule(late) == "The generator did not keep its schedule: direct, nginx"
    assert schedule(example.modes()) == ""
    often = replace(example.also()[0], modes=late)
    assert ", 0 of 120,000 polls not sent; through nginx by p99 " in late_periods((often,))[0]
    assert late_periods(example.also()[1:]) == ()


@pytest.mark.parametrize(
    ("workload", "begins"),
    [({"pollers": 1}, "1 poller, 0.200 polls/s:"), ({"pollers": "many"}, "pollers, ")],
)
def test_a_workload_that_says_little_has_a_sentence(workload: dict[str, object], begins: str) -> None:
    """Reports are also written of figures that others wrote down."""
    assert load(replace(INFO, workload=workload), ()).startswith(begins)


def test_each_way_is_explained_to_a_stranger() -> None:
    """Those that were run, and no other; what wrong means."""
    assert ways(INFO, (example.direct(), example.nginx())) == (
        "Each poller asks for the status of its path every 5 s. direct: it asks the NameNode itself. nginx: through a "
        "cache that keeps each answer for 5 s. Calls are counted without those that make the changes, CPU with them. "
        "Wrong is an answer that had been untrue for more than 3 s, or never was true."
    )
    assert "nncache: through its proxy" in ways(INFO, (example.nncache(),))
