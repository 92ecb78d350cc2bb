"""`make dashboards` as a user meets it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.dashboards.live.command import INTERRUPTED, live


def test_without_prometheus_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a cluster is started."""
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(live, [])
    assert result.exit_code == 1
    assert "apt-get install prometheus" in result.output
    assert "HDFS" not in result.output


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus")
def test_it_says_where_to_look_and_a_signal_ends_all_of_it(tmp_path: Path) -> None:
    """Every process that it has started is gone when it is."""
    words = (sys.executable, "-m", "tools.dashboards.live", "--duration", "600")
    environ = os.environ | {"NNCACHE_TEST_MARK": str(tmp_path)}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ
    ) as tool:
        assert tool.stdout is not None
        said = [tool.stdout.readline() for _ in range(7)]
        assert len(of_mark(str(tmp_path))) > 6
        tool.send_signal(signal.SIGTERM)
        assert tool.wait() == INTERRUPTED
    assert [line.partition(":")[0] for line in said] == [
        "Prometheus",
        "its alerts",
        "publisher",
        "proxy 1",
        "proxy 2",
        "clients ask",
        "Grafana, if there",
    ]
    assert of_mark(str(tmp_path)) == []


def of_mark(mark: str) -> list[str]:
    """Return the processes that were given this mark in their environment."""
    found = list[str]()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            is_ours = f"NNCACHE_TEST_MARK={mark}".encode() in environ.read_bytes()
        except OSError:
            continue  # it has ended, or is another user's
        if is_ours and int(environ.parent.name) != os.getpid():
            found.append(environ.parent.joinpath("cmdline").read_bytes().decode(errors="replace"))
    return found
