"""`make bench-connects`: what it says when it cannot run, and a short run of all of it."""

import json
import resource
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.bench.connects.command import main


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--rounds", "0"), "0 is not in the range"),
        (("--other", "/nowhere/nncache"), "'/nowhere/nncache' does not exist"),
        (("--connects", "1000000000"), "files may be open here"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_started(arguments: tuple[str, ...], text: str) -> None:
    """With what is allowed."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] != resource.RLIM_INFINITY
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code not in {0, None}
    assert text in done.output


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("cold", [(), ("--cold",)])
def test_a_storm_is_measured_and_judged(tmp_path: Path, cold: tuple[str, ...]) -> None:
    """No request fails and all is answered from memory, however long it takes on a busy machine."""
    done = CliRunner().invoke(
        main, ("--connects", "500", "--rounds", "1", "--out", str(tmp_path), *cold), catch_exceptions=False
    )
    assert done.exit_code in {0, 1}, done.output
    assert "met   no request fails: 0" in done.output, done.output
    assert "met   the gate stays open: all is answered from memory: 0 forwarded" in done.output, done.output
    rounds = json.loads((tmp_path / "rounds.json").read_text(encoding="utf-8"))
    assert all(each["connected"]["count"] == 500 for each in rounds)
    assert all(
        each["before"]["count"] and each["meanwhile"]["count"] and each["after"]["count"] for each in rounds
    )
