"""Long polls for a file with one header, on a real cluster and on both channels."""

import json
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.parse import quote

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker, RawReply
from tests.patience import HANG_S
from tests.real.faults import paused
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied

WAITERS = 16

MOST_CALLS = 6
"""For two callers and a few events of one file. An open file's status is requested for each caller."""


def _wait(
    proxied_cluster: ProxiedCluster, path: str, user: str, *fields: tuple[str, str], wait_s: int = 60
) -> RawReply:
    with Asker(proxied_cluster.proxy.address) as client:
        target = f"{PREFIX}{quote(path)}?op=GETFILESTATUS&user.name={user}"
        return client.ask("GET", target, headers=(("Prefer", f"wait={wait_s}"), *fields))


def _are_held(proxied_cluster: ProxiedCluster, waiters: int) -> None:
    proxied_cluster.proxy.process.await_that(
        lambda: proxied_cluster.proxy.metrics()["nncache_waiters"] == waiters, "they are not held"
    )


def test_who_waits_sees_a_file_appear(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """Each gets the NameNode's current answer, and together they cost a few calls."""
    path = f"{hdfs_directory}/_SUCCESS"
    proxied_cluster.mkdirs(f"{hdfs_directory}/else")
    proxied_cluster.settle()
    with ThreadPoolExecutor(WAITERS) as clients:
        waiting: list[Future[RawReply]] = [
            clients.submit(_wait, proxied_cluster, path, user)
            for user in ("alice", "bob")
            for _ in range(WAITERS // 2)
        ]
        _are_held(proxied_cluster, WAITERS)
        calls = _calls(proxied_cluster)
        proxied_cluster.put(CallTarget.NAMENODE, path, b"", None)
        replies = [each.result(HANG_S) for each in waiting]
        calls_made = _calls(proxied_cluster) - calls
    truth = json.loads(proxied_cluster.truth(path, "alice").body)
    assert [reply.status for reply in replies] == [200] * WAITERS
    assert [json.loads(reply.body)["FileStatus"]["fileId"] for reply in replies] == WAITERS * [
        truth["FileStatus"]["fileId"]
    ]
    assert all(reply.header("Preference-Applied") == "wait=50" for reply in replies)
    assert calls_made <= MOST_CALLS, "they are asked for together"


def test_who_waits_sees_a_change_and_no_other(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """With the ETag of a known status, the wait ends at the next different status."""
    path = f"{hdfs_directory}/d"
    proxied_cluster.mkdirs(path)
    proxied_cluster.settle()
    known = _wait(proxied_cluster, path, "alice", ("If-None-Match", '"none"')).header("ETag")
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(_wait, proxied_cluster, path, "alice", ("If-None-Match", known))
        _are_held(proxied_cluster, 1)
        proxied_cluster.mkdirs(f"{hdfs_directory}/other")
        proxied_cluster.settle()
        assert not waiting.done()
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", path, permission="711")
        reply = waiting.result(HANG_S)
    assert (reply.status, json.loads(reply.body)["FileStatus"]["permission"]) == (200, "711")
    assert reply.header("ETag") != known


def test_who_waits_goes_on_waiting_over_a_reload(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """SIGHUP ends no wait; the answer comes with the file."""
    path = f"{hdfs_directory}/_SUCCESS"
    proxied_cluster.mkdirs(f"{hdfs_directory}/else")
    proxied_cluster.settle()
    with ThreadPoolExecutor(4) as clients:
        waiting = [clients.submit(_wait, proxied_cluster, path, "alice") for _ in range(4)]
        _are_held(proxied_cluster, 4)
        proxied_cluster.proxy.process.signal(signal.SIGHUP)
        proxied_cluster.proxy.process.await_that(
            lambda: "SIGHUP: settings were read again" in proxied_cluster.proxy.process.last_words(),
            "does not reload",
        )
        _are_held(proxied_cluster, 4)
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        replies = [each.result(HANG_S) for each in waiting]
    assert [(reply.status, reply.header("Preference-Applied")) for reply in replies] == 4 * [(200, "wait=50")]


def test_who_waits_at_a_closed_gate_is_answered_at_the_end(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """Bounded: while the publisher is paused no event arrives, so the NameNode is asked when the wait ends."""
    if proxied_cluster.publisher is None:
        pytest.skip("tests/faults/test_clients_while_edits_are_cut.py has the direct channel")
    path = f"{hdfs_directory}/_SUCCESS"
    proxied_cluster.mkdirs(f"{hdfs_directory}/else")
    proxied_cluster.settle()
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(_wait, proxied_cluster, path, "alice", wait_s=4)
        _are_held(proxied_cluster, 1)
        with paused(proxied_cluster.publisher.process):
            proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
            proxied_cluster.proxy.await_gate(is_open=False)
            reply = waiting.result(HANG_S)
    assert (reply.status, reply.header("Preference-Applied")) == (200, "wait=4")
    assert "hit" not in reply.header("Cache-Status")
    proxied_cluster.proxy.await_gate()


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_a_proxy_that_stops_answers_all_who_wait(
    cluster: Cluster, hdfs_directory: str, channel: Channel
) -> None:
    """The answer comes immediately with `Connection: close`, so waits do not prolong a drain."""
    with (
        proxied(cluster, f"{hdfs_directory}/*", channel=channel) as proxied_cluster,
        ThreadPoolExecutor(4) as clients,
    ):
        waiting = [
            clients.submit(_wait, proxied_cluster, f"{hdfs_directory}/_SUCCESS", "alice") for _ in range(4)
        ]
        _are_held(proxied_cluster, 4)
        proxied_cluster.proxy.stop()
        replies = [each.result(HANG_S) for each in waiting]
    assert [(reply.status, reply.header("Connection")) for reply in replies] == 4 * [(404, "close")]
    assert not any(reply.header("Preference-Applied") for reply in replies)


def _calls(proxied_cluster: ProxiedCluster) -> float:
    return proxied_cluster.proxy.metrics()["nncache_upstream_calls_total"]
