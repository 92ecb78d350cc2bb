"""What a run found is said in sentences that hold whatever was run; those of the example: test_table.py."""

from dataclasses import replace

import pytest

from nncache.bench.report.finding import cpu, freshness, late_periods, load, schedule, ways
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
