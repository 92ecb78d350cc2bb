"""The command itself, on several executors, against a cluster that it did not start."""

import subprocess
import sys
import uuid
from pathlib import Path

import msgspec
import pandas as pd
import psutil
import pytest

from nncache.bench.report.report import FIGURES
from nncache.bench.shared.figures import RunFigures
from nncache.testbed import Cluster

COMMAND = (sys.executable, "bench/run_pollers.py")

pytestmark = [pytest.mark.long, pytest.mark.timeout(1000)]


def read_figures(directory: Path) -> RunFigures:
    """Return the figures that a run has left."""
    return msgspec.json.decode((directory / FIGURES).read_bytes(), type=RunFigures)


def called(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        (*COMMAND, *map(str, arguments)), capture_output=True, text=True, timeout=900, check=False
    )


def test_executors_poll_and_their_clocks_are_measured(cluster: Cluster, tmp_path: Path) -> None:
    """Two executors in processes of their own see the one truth; the report is written."""
    done = called(
        *("--master", "local-cluster[2,1,1024]", "--modes", "direct", "--out", tmp_path / "out"),
        *("--namenode", cluster.namenodes[0].http, "--superuser", cluster.superuser),
        *("--root", f"/bench-{uuid.uuid4().hex[:8]}"),
        *("--pollers", 60, "--period", 0.5, "--duration", 4, "--warm-up", 2, "--jvm-warm-up", 0),
        *("--also-periods", "1"),
    )
    assert done.returncode in {0, 1}, done.stderr[-3000:]  # 1: a busy machine has not kept the schedule
    assert "WRONG answers" in done.stdout
    found = read_figures(tmp_path / "out")
    info, (direct,), (also,) = found.info, found.modes, found.also
    assert info.master == "local-cluster[2,1,1024]"
    assert 0 < direct.due <= 60 * 8  # what was due before a busy machine got to it is left out
    assert (direct.failed, direct.wrong_count) == (0, 0)
    (rarer,) = also.modes
    assert 0 < rarer.due <= 60 * 4
    assert (also.period_s, rarer.failed, rarer.wrong_count) == (1.0, 0, 0)
    hosts = pd.read_parquet(tmp_path / "out" / "direct" / "hosts.parquet")
    assert sorted(hosts.task) == [0, 1]
    assert hosts.pollers.sum() == 60
    assert (hosts.clock_offset_s.abs() <= hosts.clock_error_s).all()  # one host: one clock
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


def test_it_starts_all_that_it_needs_and_leaves_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cluster, warm-up of the NameNode, publisher and proxy; results of both modes."""
    places = {"TMPDIR": str(tmp_path)}  # all its processes inherit it
    monkeypatch.setenv("TMPDIR", places["TMPDIR"])
    done = called(
        *("--modes", "direct,nncache", "--out", tmp_path / "out", "--pollers", 40, "--period", 0.5),
        *("--duration", 4, "--warm-up", 2, "--jvm-warm-up", 3),
    )
    assert done.returncode in {0, 1}, done.stderr[-3000:]  # 1: a busy machine has not kept the schedule
    direct, nncache = read_figures(tmp_path / "out").modes
    assert 0 < direct.due <= 40 * 8
    assert 0 < nncache.due <= 40 * 8
    assert (direct.hits, direct.wrong_count, nncache.wrong_count, nncache.failed) == (0, 0, 0, 0)
    assert nncache.hits > 0
    assert direct.calls["getFileInfo"] >= 0.9 * direct.sent  # some are counted a moment later than asked
    running = psutil.process_iter(["cmdline", "environ"])
    assert [
        each.info["cmdline"] for each in running if places.items() <= (each.info["environ"] or {}).items()
    ] == []
