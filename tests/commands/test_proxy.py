"""`nncache proxy` takes every setting as an option, and the command line of the README works."""

import json
import signal
import time
from pathlib import Path

import pytest

from nncache.checks.table import SETTINGS
from nncache.testbed import Cluster
from tests.commands.planted import Report, checked
from tests.commands.plants import FILES, IN_THE_REGISTRY, PLANTS, SITES, WRONG_SETTINGS
from tests.hadoop.site_files import prop, site
from tests.processes import fetched, free_address, output, running

OF_THE_NAMENODE = "--nameservice ns1 --namenode-http 127.0.0.1:9870 --namenode-rpc 127.0.0.1:8020"
START = (
    f"--listen 127.0.0.1:9871 --admin 127.0.0.1:9872 {OF_THE_NAMENODE} --channel direct "
    "--glob /user/*/workflow/*/_SUCCESS"
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("is_found", [False, True], ids=["addresses", "hadoop-conf-dir"])
def test_the_start_line_serves_a_real_namenode(cluster: Cluster, tmp_path: Path, *, is_found: bool) -> None:
    """It leads to hits, an explanation, metrics and an orderly end. The logs say what happened.

    `--hadoop-conf-dir` replaces all settings of the NameNode.
    """
    listen, admin = free_address(), free_address()
    namenode = cluster.namenodes[0]
    line = START.replace("127.0.0.1:9871", listen).replace("127.0.0.1:9872", admin)
    if is_found:
        line = line.replace(OF_THE_NAMENODE, f"--hadoop-conf-dir {cluster.conf_dir}")
    line = line.replace("127.0.0.1:9870", namenode.http).replace("127.0.0.1:8020", namenode.rpc)
    log, access = tmp_path / "log", tmp_path / "access"
    line += f" --audit-share 1 --access-log {access} --access-log-format json"
    with running("proxy", *line.split(), "--user", cluster.superuser, log=log) as process:
        while not any('"gate": "open"' in body for _, _, body in fetched(admin, "/ready")):
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)  # polled until the test's timeout
        path = "/user/start-line/workflow/1/_SUCCESS"
        target = f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={cluster.superuser}"
        first, *others = fetched(listen, target, times=4)
        assert first[:2] == (404, "nncache; fwd=miss; stored")
        assert [reply[:2] for reply in others] == [(404, "nncache; hit")] * 3
        assert {reply[2] for reply in others} == {first[2]}
        assert json.loads(output("explain", path, "--admin", admin, "--json"))["answer"] == "hit"
        ((_, _, metrics),) = fetched(admin, "/metrics")
        assert "\nnncache_cache_gate_open 1.0\n" in metrics
        while "\nnncache_fast_path_hits_total 0.0\n" in metrics:  # the fast path may not know the entry yet
            assert fetched(listen, target, times=100)[-1] == others[-1]
            ((_, _, metrics),) = fetched(admin, "/metrics")
        while '\nnncache_audit_total{outcome="same"} 1.0\n' not in metrics:
            time.sleep(0.05)  # audited in the background; polled until the test's timeout
            ((_, _, metrics),) = fetched(admin, "/metrics")
        awaited = (f"NameNode {namenode.http} is active", "the gate is open")
        while not all(line in log.read_text() for line in awaited):
            time.sleep(0.05)  # logged within a moment; polled until the test's timeout
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    logged = [json.loads(each) for each in access.read_bytes().splitlines()]
    assert [each["result"] for each in logged[:4]] == ["stored", "hit", "hit", "hit"]
    assert {(each["caller"], each["status"], each["weight"]) for each in logged} == {
        (cluster.superuser, 404, 1)
    }
    lines = log.read_text()
    assert (
        f"serves WebHDFS on {listen} in front of nameservice {'default' if is_found else 'ns1'} ({namenode.http})"
        in lines
    )
    assert "SIGTERM" in lines
    assert " ERROR " not in lines


ADDRESSES = {"superuser": "hdfs", "filters": "/filters", "http": "a:1", "rpc": "a:2"}


def assert_failure_names(report: Report, *parts: str) -> None:
    """Assert that the findings contain each part, and that no daemon can start."""
    assert report.exit_code == 2
    reported = " | ".join(each["text"] for each in report.findings)
    assert [part for part in parts if part not in reported] == [], reported


@pytest.mark.parametrize("name", WRONG_SETTINGS)
def test_a_wrong_setting_is_named(name: str) -> None:
    """The line has its value and a right one."""
    words, parts = WRONG_SETTINGS[name]
    report = checked(*words.format_map(ADDRESSES).split())
    assert {(each["check"], each["verdict"]) for each in report.findings} == {(SETTINGS, "failed")}
    assert_failure_names(report, *parts)


def test_at_least_eighty_mistakes_are_planted() -> None:
    """The mistakes of Kerberos settings are in tests/secured/test_check.py."""
    assert len((*WRONG_SETTINGS, *FILES, *SITES, *PLANTS, *IN_THE_REGISTRY)) >= 80


@pytest.mark.parametrize("name", FILES)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, name: str) -> None:
    """The line has the file, the key and the right value."""
    content, parts = FILES[name]
    config = tmp_path / "nncache.toml"
    config.write_text(content)
    report = checked("proxy", "--config", str(config))
    assert_failure_names(report, str(config), *parts)
    assert "hidden" not in str(report)


@pytest.mark.parametrize("name", SITES)
def test_a_mistake_in_hadoops_files_is_named(tmp_path: Path, name: str) -> None:
    """The line names the missing property. A nameservice's name is not used as a host."""
    values, words, parts = SITES[name]
    (tmp_path / "hdfs-site.xml").write_text(site(*(prop(*each) for each in values.items())))
    report = checked("proxy", "--hadoop-conf-dir", str(tmp_path), *words)
    assert_failure_names(report, str(tmp_path), *parts)


def test_a_variable_that_means_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It nearly has the name of a setting."""
    monkeypatch.setenv("NNCACHE_LISTN", "h:1")
    address = free_address()
    where = ("--namenode-http", address, "--namenode-rpc", address, "--listen", "127.0.0.1:0")
    (line,) = checked("proxy", "--admin", "127.0.0.1:0", *where).of("settings", "warning")
    assert "NNCACHE_LISTN in the environment means nothing: the nearest is NNCACHE_LISTEN" in line
