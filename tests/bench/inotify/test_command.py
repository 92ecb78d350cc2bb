"""`make bench-inotify`: what it says when it cannot run, and a short run of all of it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.bench.inotify.command import main

FILTERS = 40


@pytest.mark.parametrize("arguments", [("--filters", "0"), ("--restarts", "0")])
def test_what_cannot_be_run_is_said_before_anything_is_started(arguments: tuple[str, ...]) -> None:
    """With what is allowed."""
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code not in {0, None}
    assert "0 is not in the range x>=1" in done.output


@pytest.mark.long
def test_a_start_and_a_restart_are_measured(tmp_path: Path) -> None:
    """Each with calls of its own; on a busy machine they may fall short."""
    done = CliRunner().invoke(
        main, ["--part", "starts", "--filters", str(FILTERS), "--restarts", "1", "--out", str(tmp_path)]
    )
    assert done.exit_code in {0, 1}, done.output
    first, again = json.loads((tmp_path / "starts.json").read_text(encoding="utf-8"))
    assert (first["is_restart"], again["is_restart"]) == (False, True)
    for each in (first, again):
        assert each["filters"] == FILTERS
        assert 0 < each["in_force_s"] <= each["compared_s"]
        assert each["attribute_calls"] == FILTERS, "each definition once"
        assert 0 < each["namenode_calls"] < FILTERS
        assert each["zookeeper_calls"] > 0
        assert each["cpu_s"] > 0
        assert each["waited_s"] > 0
    assert done.exit_code == int(
        not all(line.startswith("met") for line in done.output.splitlines() if "with" in line)
    )


@pytest.mark.long
def test_delivery_catching_up_and_a_flood_are_measured(tmp_path: Path) -> None:
    """Nothing is lost or wrong; on a busy machine it may be late."""
    parts = ("--part", "delivery", "--part", "catch-up", "--part", "overload")
    sizes = ("--delivering", "50", "--subscribers", "10", "--seconds", "15", "--backlog", "5000")
    done = CliRunner().invoke(main, [*parts, *sizes, "--out", str(tmp_path)])
    assert done.exit_code in {0, 1}, done.output

    def figures(part: str) -> dict[str, float]:
        (found,) = json.loads((tmp_path / f"{part}.json").read_text(encoding="utf-8"))
        return dict(found)

    assert figures("delivery")["events"] == 150
    assert figures("catch-up")["edits"] == 5000
    flood = figures("overload")
    assert flood["silent"] == flood["wrong"] == flood["quiet_gaps"] == 0
    assert flood["covered"] > 0
