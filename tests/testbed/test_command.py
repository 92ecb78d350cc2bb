"""`nncache cluster` as a process of its own, and the arguments that it refuses."""

import getpass
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from nncache.testbed import readiness
from nncache.testbed.command import run_cluster
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.errors import ServerStartError
from nncache.testbed.ports import is_free
from nncache.testbed.spec import ClusterSpec, ZooKeeperSecurity
from tests.cluster import HADOOP
from tests.kerberos import need_kdc
from tests.testbed.leftovers import nothing_is_left

RUN = "import sys; from nncache.testbed.command import run_cluster; sys.exit(run_cluster(sys.argv[1:]))"


def spawn(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    """Start the command with default signals: under a script's `make check &`, processes ignore SIGINT."""
    return subprocess.Popen(
        ["/usr/bin/env", "--default-signal=INT,TERM", sys.executable, "-c", RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environ,
    )


def line(stream: IO[str] | None) -> str:
    """Return the next line."""
    assert stream is not None
    return stream.readline()


def test_a_wrong_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2, as for every command."""
    assert run_cluster(["--set", "nonsense"]) == 2
    assert "nonsense: must be KEY=VALUE" in capsys.readouterr().err


def test_a_user_id_without_a_name_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Containers may run under any user id: the message names the problem and the entry to add."""
    assert ClusterSpec().superuser == getpass.getuser()
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    assert run_cluster([]) == 1
    assert capsys.readouterr().err == (
        "nncache: user id 54321 has no name, and Hadoop's servers need one: run as a user that has one, or add an "
        "entry such as hdfs:x:54321:0::/tmp:/bin/sh to /etc/passwd\n"
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: ZooKeeperSecurity(kerberos=True, digest_users={"a": "b"}), "one of the two SASL mechanisms"),
        (lambda: ZooKeeperSecurity(sasl_required=True), "sasl_required: needs kerberos or digest_users"),
        (
            lambda: ClusterSpec(zookeeper_security=ZooKeeperSecurity(kerberos=True)),
            "needs a cluster with Kerberos",
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(make: Callable[[], object], reason: str) -> None:
    """The message names the valid choices."""
    with pytest.raises(ValueError, match=reason):
        make()


def test_a_daemon_that_does_not_start_says_why() -> None:
    """The message has the end of its log; its ports are free, and close() may be called again."""
    daemon = ProxyDaemon("--max-staleness-s", "-1")
    with pytest.raises(ServerStartError, match="max_staleness_s"), daemon:
        pass
    daemon.close()
    assert daemon.process.pid is None
    assert all(is_free(int(address.rpartition(":")[2])) for address in (daemon.address, daemon.admin))


def test_a_missing_java_is_one_line(tmp_path: Path) -> None:
    """The line has the command that installs it; nothing else is printed."""
    places = dict.fromkeys(("PATH", "HOME", "XDG_CACHE_HOME"), str(tmp_path))
    with spawn(JAVA_HOME="", **places) as command:
        out, err = command.communicate(timeout=30)
    assert (command.returncode, out) == (1, "")
    assert err == (
        "nncache: not installed: java, mvn; install with: apt-get install openjdk-17-jre-headless maven\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_amid_the_start_leaves_nothing(number: signal.Signals) -> None:
    """The command ends without waiting for the start to complete."""
    with spawn("--hadoop", HADOOP) as command:
        directory = line(command.stderr).rsplit(" ", 1)[1].strip()
        command.send_signal(number)
        out, err = command.communicate(timeout=30)
    assert (command.returncode, out, err) == (0, "", "stopped\n")
    assert nothing_is_left(directory)


def test_the_addresses_are_one_json_object() -> None:
    """They are printed once the cluster and its ZooKeeper serve; SIGTERM then stops everything."""
    with spawn("--hadoop", HADOOP, "--with-zookeeper") as command:
        reported: dict[str, Any] = json.loads(line(command.stdout))
        assert readiness.namenode_is_up(reported["namenode_http"][0], reported["namenode_rpc"][0])
        assert readiness.is_writable(reported["namenode_http"][0])
        assert readiness.zookeeper_is_up(reported["zookeeper"])
        assert reported["pids"].keys() == {"namenode", "datanode", "zookeeper"}
        command.terminate()
        out, _ = command.communicate(timeout=30)
    assert (command.returncode, out) == (0, "")
    assert nothing_is_left(reported["directory"])


def test_a_killed_command_leaves_nothing() -> None:
    """The guards clean up, as SIGKILL leaves the command no chance to do so."""
    with spawn("--hadoop", HADOOP) as command:
        directory = line(command.stderr).rsplit(" ", 1)[1].strip()
        reported: dict[str, Any] = json.loads(line(command.stdout))
        command.kill()
    assert reported["zookeeper"] is None, "it was not asked for"
    assert reported["pids"].keys() == {"namenode", "datanode"}
    assert nothing_is_left(directory)


@pytest.mark.long
def test_a_secured_pair_says_what_to_type() -> None:
    """The commands go to standard error, where they do not disturb scripts."""
    need_kdc()
    with spawn("--hadoop", HADOOP, "--secure", "--tls", "--ha", "--with-zookeeper") as command:
        reported: dict[str, Any] = json.loads(line(command.stdout))
        assert len(reported["tls"]["namenode_https"]) == 2
        assert reported["kerberos"]["keytabs"]["alice"].endswith("alice.keytab")
        printed = list(iter(lambda: line(command.stderr), "Ctrl-C stops it\n"))
        assert any(words.startswith("  kinit -kt ") for words in printed)
        command.terminate()
        command.communicate(timeout=30)
    assert nothing_is_left(reported["directory"])
