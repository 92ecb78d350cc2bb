"""`make bench-waiting`: what it says when it cannot run, and a short run of all of it."""

import json
import resource
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.bench.waiting.command import main


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--clients", "1"), "1 is not in the range"),
        (("--channel", "carrier pigeon"), "is not one of"),
        (("--clients", "1000000000"), "files may be open here"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_started(
    tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    """With what is allowed."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] != resource.RLIM_INFINITY
    done = CliRunner().invoke(main, (*arguments, "--out", str(tmp_path)))
    assert done.exit_code not in {0, None}
    assert text in done.output


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("channel", ["direct", "zookeeper"])
def test_clients_that_wait_are_measured_and_judged(tmp_path: Path, channel: str) -> None:
    """Each has its answer, and none costs a call while it waits; a busy machine may be slow."""
    arguments = ("--clients", "200", "--paths", "20", "--over", "2", "--quiet", "2", "--channel", channel)
    done = CliRunner().invoke(main, (*arguments, "--out", str(tmp_path)), catch_exceptions=False)
    assert done.exit_code in {0, 1}, done.output
    assert "met   no call of the NameNode while they wait, but the gate's own: 0 in 2 s" in done.output
    assert done.output.count(": each client has its answer: 0 of 200 have not") == 3, done.output
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert figures["held"]["idle_bytes"] > figures["held"]["before_bytes"]
    assert [each["paths"] for each in figures["delivered"]] == [20, 20, 1]
    assert all(each["after_ack"]["count"] == 200 for each in figures["delivered"])
    assert all(each["others"]["count"] for each in figures["delivered"])
