"""What a run found is said in sentences that hold whatever was run."""

from dataclasses import replace

import pytest

from nncache.bench.report.finding import (
    cpu,
    freshness,
    load,
    pollers_of,
    schedule,
    tried,
    way,
    workload_name,
)
from tests.bench import example_figures as example

INFO = example.info()


def test_what_the_namenode_had_to_answer() -> None:
    """The first mode has the unit, those after it the number alone."""
    assert load(INFO, example.modes()) == (
        "10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, "
        "11.2 through nncache, 600 through nginx"
    )
    assert load(INFO, (example.nncache(),)).endswith("the NameNode answers 11.2 calls/s through nncache")
    assert load(INFO, ()) == "10,000 pollers, 2,000 polls/s: nothing was measured"


def test_what_that_cost_it() -> None:
    """Modes whose NameNode's CPU time is not known are left out."""
    unknown = replace(example.nncache(), cpu_s={"proxy": 9.6})
    assert cpu(INFO, (example.direct(), unknown, example.nginx())) == (
        "In 60 s the NameNode takes 48.0 CPU seconds directly, 15.0 through nginx"
    )
    assert cpu(INFO, (unknown,)) == "CPU seconds by process in 60 s"


def test_how_late_changes_were_seen_and_who_was_wrong() -> None:
    """Where no change could be seen only the wrong answers are said."""
    assert freshness((example.direct(), example.nginx())) == (
        "99 % of pollers see a change within 4.85 s directly, 9.70 s through nginx; "
        "wrong answers: 0 directly, 1,234 through nginx"
    )
    assert freshness((example.nothing_happened(),)) == "no change was seen; wrong answers: 0 through nncache"
    assert freshness(()) == "no change was seen"


def test_who_did_not_keep_the_schedule_is_named() -> None:
    """And nothing is said where all did."""
    late = tuple(replace(mode, kept_schedule=False) for mode in (example.direct(), example.nginx()))
    assert schedule((late[0], example.nncache(), late[1])) == (
        "The generator did not keep its schedule: direct, nginx"
    )
    assert schedule(example.modes()) == ""


def test_of_a_further_period_is_said_how_late_it_was() -> None:
    """A sentence for each period with a mode that was late, with those modes alone."""
    (said,) = tried(example.also())
    assert said == (
        "At a poll period of 1 s the generator was late: "
        "directly by p99 14,142 ms, 1,234 of 200,000 polls not sent."
    )
    both = replace(
        example.also()[0],
        modes=tuple(replace(mode, kept_schedule=False) for mode in example.also()[0].modes),
    )
    (said,) = tried((both,))
    assert "; through nncache by p99 " in said
    assert tried(example.also()[1:]) == ()


@pytest.mark.parametrize(
    ("workload", "pollers", "name"),
    [
        ({"pollers": 1, "name": "lonely"}, "1 poller", "lonely"),
        ({"pollers": "many"}, "pollers", "unnamed workload"),
        ({}, "pollers", "unnamed workload"),
    ],
)
def test_a_workload_that_says_little_is_called_something(
    workload: dict[str, object], pollers: str, name: str
) -> None:
    """Reports are also written of figures that others wrote down."""
    info = replace(INFO, workload=workload)
    assert (pollers_of(info), workload_name(info)) == (pollers, name)


def test_there_is_one_way_without_a_cache() -> None:
    """All others lead through something."""
    assert [way(mode) for mode in example.modes()] == ["directly", "through nncache", "through nginx"]
