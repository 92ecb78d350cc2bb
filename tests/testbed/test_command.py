"""`nncache cluster`, run as a process of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from nncache.testbed import readiness
from nncache.testbed.command import run_cluster
from tests.cluster import HADOOP
from tests.testbed.leftovers import nothing_is_left

RUN = "import sys; from testbed.command import run_cluster; sys.exit(run_cluster(sys.argv[1:]))"


def spawn(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environ,
    )


def line(stream: IO[str] | None) -> str:
    """Read the next line."""
    assert stream is not None
    return stream.readline()


def test_help_needs_no_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """And says how it is ended."""
    assert run_cluster(["--help"]) == 0
    assert "Ctrl-C or SIGTERM" in capsys.readouterr().out


def test_a_wrong_option_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, as for every command."""
    assert run_cluster(["--set", "nonsense"]) == 2
    assert "nonsense: must be KEY=VALUE" in capsys.readouterr().err


def test_a_missing_java_is_one_line(tmp_path: Path) -> None:
    """With the command that installs it, and nothing else."""
    with spawn(PATH=str(tmp_path), JAVA_HOME="") as command:
        out, err = command.communicate(timeout=30)
    assert (command.returncode, out) == (1, "")
    assert err == (
        "nncache: not on the PATH: java, mvn; install with: apt-get install openjdk-17-jre-headless maven\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_amid_the_start_leaves_nothing(number: signal.Signals) -> None:
    """Nobody waits for a start only to be allowed to end it."""
    with spawn("--hadoop", HADOOP) as command:
        directory = line(command.stderr).rsplit(" ", 1)[1].strip()
        command.send_signal(number)
        out, err = command.communicate(timeout=30)
    assert (command.returncode, out, err) == (0, "", "stopped\n")
    assert nothing_is_left(directory)


def test_the_addresses_are_one_json_object() -> None:
    """They are printed when the cluster serves; SIGTERM then ends all of it."""
    with spawn("--hadoop", HADOOP) as command:
        told: dict[str, Any] = json.loads(line(command.stdout))
        assert readiness.namenode_is_up(told["namenode_http"][0], told["namenode_rpc"][0])
        assert readiness.is_writable(told["namenode_http"][0])
        assert told["zookeeper"] is None
        assert told["pids"].keys() == {"namenode", "datanode"}
        command.terminate()
        out, _ = command.communicate(timeout=30)
    assert (command.returncode, out) == (0, "")
    assert nothing_is_left(told["directory"])


def test_a_zookeeper_beside_it_is_named() -> None:
    """And serves."""
    with spawn("--hadoop", HADOOP, "--with-zookeeper") as command:
        told: dict[str, Any] = json.loads(line(command.stdout))
        assert readiness.zookeeper_is_up(told["zookeeper"])
        command.terminate()
        command.communicate(timeout=30)
    assert nothing_is_left(told["directory"])


def test_a_killed_command_leaves_nothing() -> None:
    """Its guards see to it: SIGKILL gives it no chance to do so itself."""
    with spawn("--hadoop", HADOOP) as command:
        directory = line(command.stderr).rsplit(" ", 1)[1].strip()
        json.loads(line(command.stdout))
        command.kill()
    assert nothing_is_left(directory)
