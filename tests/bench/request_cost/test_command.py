"""`make bench-http`: what it says when it cannot run, and a short run of all of it."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from nncache.bench.request_cost.command import main
from nncache.bench.request_cost.figures import Shape

PROGRAMS = ("wrk", "nginx", "haproxy")
PATH = "/usr/local/bin:/usr/bin:/usr/sbin"


@pytest.mark.parametrize(
    ("arguments", "missing", "text"),
    [
        (("--only", "nothing"), "", "there are repeated heads, 64 connections;"),
        (("--seconds", "0"), "", "0 is not in the range"),
        ((), "wrk", "wrk is missing: apt-get install wrk"),
        ((), "haproxy", "haproxy is missing: apt-get install haproxy"),
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
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    any(shutil.which(program, path=PATH) is None for program in PROGRAMS),
    reason="apt-get install wrk nginx-light haproxy",
)
def test_every_shape_is_measured_and_judged(tmp_path: Path) -> None:
    """In a round of a second each; no request through nncache fails, whatever else falls short."""
    done = CliRunner().invoke(
        main, ("--seconds", "1", "--rounds", "1", "--warm-up", "5", "--out", str(tmp_path))
    )
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "met   no request through nncache fails: 0" in done.output, done.output
    rounds = json.loads((tmp_path / "rounds.json").read_text(encoding="utf-8"))
    assert {each["shape"] for each in rounds} == set(Shape)
    assert all(each["requests"] > 0 for each in rounds)
    assert (tmp_path / "http.svg").exists()
    assert "an idle connection" in done.output
