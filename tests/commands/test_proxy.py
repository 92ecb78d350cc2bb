"""`nncache proxy` takes every setting as an option, and the line of the README works."""

import json
import signal
import time
from pathlib import Path

import pytest

from nncache.testbed import Cluster
from tests.processes import fetched, free_address, running, said

OF_THE_NAMENODE = "--nameservice ns1 --namenode-http 127.0.0.1:9870 --namenode-rpc 127.0.0.1:8020"
START = (
    f"--listen 127.0.0.1:9871 --admin 127.0.0.1:9872 {OF_THE_NAMENODE} --channel direct "
    "--glob /user/*/workflow/*/_SUCCESS"
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("is_found", [False, True], ids=["addresses", "hadoop-conf-dir"])
def test_the_start_line_serves_a_real_namenode(cluster: Cluster, tmp_path: Path, *, is_found: bool) -> None:
    """From the line to hits, an explanation, metrics, and an orderly end; the logs say what happened.

    `--hadoop-conf-dir` stands for all that is said of the NameNode.
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
            time.sleep(0.05)  # asked again until the deadline of the test
        path = "/user/start-line/workflow/1/_SUCCESS"
        target = f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={cluster.superuser}"
        first, *others = fetched(listen, target, times=4)
        assert first[:2] == (404, "nncache; fwd=miss; stored")
        assert [reply[:2] for reply in others] == [(404, "nncache; hit")] * 3
        assert {reply[2] for reply in others} == {first[2]}
        assert json.loads(said("explain", path, "--admin", admin, "--json"))["answer"] == "hit"
        ((_, _, metrics),) = fetched(admin, "/metrics")
        assert "\nnncache_cache_gate_open 1.0\n" in metrics
        while "\nnncache_fast_path_hits_total 0.0\n" in metrics:  # a hasty client may come too early for it
            assert fetched(listen, target, times=100)[-1] == others[-1]
            ((_, _, metrics),) = fetched(admin, "/metrics")
        while '\nnncache_audit_total{outcome="same"} 1.0\n' not in metrics:
            time.sleep(0.05)  # asked in the background; looked at again until the deadline of the test
            ((_, _, metrics),) = fetched(admin, "/metrics")
        awaited = (f"NameNode {namenode.http} is active", "the gate is open")
        while not all(line in log.read_text() for line in awaited):
            time.sleep(0.05)  # said within a moment; asked again until the deadline of the test
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
