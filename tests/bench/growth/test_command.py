"""`make bench-growth`: what it says when it cannot run, and a short run of all of it."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.bench.growth.command import main
from nncache.bench.growth.figures import WAYS, Growth

PROGRAMS = ("wrk", "nginx")
PATH = "/usr/local/bin:/usr/bin:/usr/sbin"


@pytest.mark.parametrize(
    ("arguments", "missing", "text"),
    [
        (("--only", "nothing"), "", "there are filters; entries;"),
        (("--seconds", "0"), "", "0 is not in the range"),
        ((), "wrk", "wrk is missing: apt-get install wrk"),
        ((), "nginx", "nginx is missing: apt-get install nginx-light"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], missing: str, text: str
) -> None:
    """With what is allowed, or with what to install."""
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == missing else f"/bin/{name}")
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code != 0
    assert text in done.output


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    any(shutil.which(program, path=PATH) is None for program in PROGRAMS),
    reason="apt-get install wrk nginx-light",
)
def test_every_growth_is_measured_and_judged(tmp_path: Path) -> None:
    """In a short round, with small caches; hits alone are measured, whatever else falls short."""
    arguments = ("--seconds", "0.5", "--rounds", "1", "--warm-up", "0.5", "--max-entries", "10000")
    done = CliRunner().invoke(main, (*arguments, "--out", str(tmp_path)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "met   no request through nncache fails: 0" in done.output, done.output
    assert "met   at most 0.1% of the requests of a round reach the NameNode" in done.output, done.output
    assert "met   as many entries are held as are said" in done.output, done.output
    rounds = json.loads((tmp_path / "rounds.json").read_text(encoding="utf-8"))
    measured = {(each["growth"], each["way"]) for each in rounds}
    assert measured == {(growth, way) for growth in Growth for way in WAYS[growth]}
    assert all(each["hits"] > 0 for each in rounds)
    assert (tmp_path / "growth.svg").exists()
