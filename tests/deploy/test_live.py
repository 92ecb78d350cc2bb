"""`make dashboards` as a user runs it. Under its load, every panel of every dashboard has data."""

import asyncio
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from tests.cluster import HADOOP
from tools.dashboards.files import BOARDS
from tools.dashboards.live import INTERRUPTED, Stand, live, load, running
from tools.dashboards.panel import Board, Panel

needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus")

LOAD_S = 60.0


def test_without_prometheus_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message comes before a cluster is started."""
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(live, [])
    assert result.exit_code == 1
    assert "apt-get install prometheus" in result.output
    assert "HDFS" not in result.output


@pytest.mark.long
@pytest.mark.timeout(300)
@needs_prometheus
def test_it_says_where_to_look_and_a_signal_ends_all_of_it(tmp_path: Path) -> None:
    """All its child processes end with it."""
    words = (sys.executable, "-m", "tools.dashboards.live", "--duration", "600")
    environ = os.environ | {"NNCACHE_TEST_MARK": str(tmp_path)}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ
    ) as tool:
        assert tool.stdout is not None
        printed = [tool.stdout.readline().partition(":")[0] for _ in range(7)]
        assert len(of_mark(str(tmp_path))) > 6
        tool.send_signal(signal.SIGTERM)
        assert tool.wait() == INTERRUPTED
    assert (printed[0], printed[2], printed[-1]) == ("Prometheus", "publisher", "Grafana, if there")
    assert of_mark(str(tmp_path)) == []


def of_mark(mark: str) -> list[str]:
    """Return the command lines of processes with this mark in their environment."""
    running = psutil.process_iter(["cmdline", "environ"])
    return [
        shlex.join(each.info["cmdline"])
        for each in running
        if (each.info["environ"] or {}).get("NNCACHE_TEST_MARK") == mark
    ]


@pytest.mark.long
@pytest.mark.timeout(600)
@needs_prometheus
def test_every_panel_of_every_dashboard_has_data() -> None:
    """The data comes from a real Prometheus and real daemons, for each query of a panel."""
    with running(HADOOP, print) as stand:
        assert asyncio.run(load(stand, LOAD_S)) > 0
        assert [
            f"{board.name}: {panel.title}"
            for board in BOARDS
            for panel in board.panels
            if not all(answers(stand, board, panel))
        ] == []


def answers(stand: Stand, board: Board, panel: Panel) -> Iterator[bool]:
    """Yield for each query whether it has recent data, with variables replaced as Grafana does."""
    now = stand.prometheus.now()
    instance = stand.proxies[0].admin if board.is_of_one else ".+"
    values = {"$__rate_interval": "15s", "$job": ".+", "$instance": instance}
    for expression in panel.queries.values():
        filled = functools.reduce(lambda text, each: text.replace(*each), values.items(), expression)
        yield bool(stand.prometheus.lines(filled, now - LOAD_S / 2, now, 2.0))
