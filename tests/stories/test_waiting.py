"""Clients that wait for a file, with one header, on a real cluster and on both channels."""

import json
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.parse import quote

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker, RawReply
from tests.channels import Channel, proxied
from tests.patience import HANG_S
from tests.world import Where, World

WAITERS = 16

MOST_CALLS = 6
"""Two callers, a few events of one file; an open file's status is asked for as each of them."""


def _wait(world: World, path: str, user: str, *fields: tuple[str, str], wait_s: int = 60) -> RawReply:
    with Asker(world.proxy.address) as client:
        target = f"{PREFIX}{quote(path)}?op=GETFILESTATUS&user.name={user}"
        return client.ask("GET", target, headers=(("Prefer", f"wait={wait_s}"), *fields))


def _are_held(world: World, waiters: int) -> None:
    world.proxy.process.await_that(
        lambda: world.proxy.metrics()["nncache_waiters"] == waiters, "they are not held"
    )


def test_who_waits_sees_a_file_appear(world: World, hdfs_directory: str) -> None:
    """Each gets what the NameNode says then, and together they cost a few questions."""
    path = f"{hdfs_directory}/_SUCCESS"
    world.mkdirs(f"{hdfs_directory}/else")
    world.settle()
    with ThreadPoolExecutor(WAITERS) as clients:
        waiting: list[Future[RawReply]] = [
            clients.submit(_wait, world, path, user) for user in ("alice", "bob") for _ in range(WAITERS // 2)
        ]
        _are_held(world, WAITERS)
        calls = _calls(world)
        world.must(world.write(Where.NAMENODE, path, b"", None))
        replies = [each.result(HANG_S) for each in waiting]
        calls_made = _calls(world) - calls
    truth = json.loads(world.truth(path, "alice").body)
    assert [reply.status for reply in replies] == [200] * WAITERS
    assert [json.loads(reply.body)["FileStatus"]["fileId"] for reply in replies] == WAITERS * [
        truth["FileStatus"]["fileId"]
    ]
    assert all(reply.header("Preference-Applied") == "wait=50" for reply in replies)
    assert calls_made <= MOST_CALLS, "they are asked for together"


def test_who_waits_sees_a_change_and_no_other(world: World, hdfs_directory: str) -> None:
    """With the tag of what is known, for the next status that is another one."""
    path = f"{hdfs_directory}/d"
    world.mkdirs(path)
    world.settle()
    known = _wait(world, path, "alice", ("If-None-Match", '"none"')).header("ETag")
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(_wait, world, path, "alice", ("If-None-Match", known))
        _are_held(world, 1)
        world.mkdirs(f"{hdfs_directory}/other")
        world.settle()
        assert not waiting.done()
        world.must(world.call(Where.NAMENODE, "PUT", "SETPERMISSION", path, permission="711"))
        reply = waiting.result(HANG_S)
    assert (reply.status, json.loads(reply.body)["FileStatus"]["permission"]) == (200, "711")
    assert reply.header("ETag") != known


def test_who_waits_goes_on_waiting_over_a_reload(world: World, hdfs_directory: str) -> None:
    """SIGHUP costs no client its wait; the answer comes with the file."""
    path = f"{hdfs_directory}/_SUCCESS"
    world.mkdirs(f"{hdfs_directory}/else")
    world.settle()
    with ThreadPoolExecutor(4) as clients:
        waiting = [clients.submit(_wait, world, path, "alice") for _ in range(4)]
        _are_held(world, 4)
        world.proxy.process.signal(signal.SIGHUP)
        world.proxy.process.await_that(
            lambda: "SIGHUP: settings were read again" in world.proxy.process.last_words(), "does not reload"
        )
        _are_held(world, 4)
        world.must(world.call(Where.NAMENODE, "PUT", "MKDIRS", path))
        replies = [each.result(HANG_S) for each in waiting]
    assert [(reply.status, reply.header("Preference-Applied")) for reply in replies] == 4 * [(200, "wait=50")]


def test_who_waits_at_a_closed_gate_is_answered_at_the_end(world: World, hdfs_directory: str) -> None:
    """Bounded: nothing tells of the file while the publisher stands still; the NameNode is asked when time is over."""
    if world.publisher is None:
        pytest.skip("tests/faults/test_clients_while_edits_are_cut.py has the direct channel")
    path = f"{hdfs_directory}/_SUCCESS"
    world.mkdirs(f"{hdfs_directory}/else")
    world.settle()
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(_wait, world, path, "alice", wait_s=4)
        _are_held(world, 1)
        world.publisher.process.pause()
        try:
            world.must(world.call(Where.NAMENODE, "PUT", "MKDIRS", path))
            world.proxy.await_gate(is_open=False)
            reply = waiting.result(HANG_S)
        finally:
            world.publisher.process.resume()
    assert (reply.status, reply.header("Preference-Applied")) == (200, "wait=4")
    assert "hit" not in reply.header("Cache-Status")
    world.proxy.await_gate()


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_a_proxy_that_stops_answers_all_who_wait(
    cluster: Cluster, hdfs_directory: str, channel: Channel
) -> None:
    """At once, and with a word that the connection ends: a drain takes no longer for them."""
    with proxied(cluster, f"{hdfs_directory}/*", channel=channel) as world, ThreadPoolExecutor(4) as clients:
        waiting = [clients.submit(_wait, world, f"{hdfs_directory}/_SUCCESS", "alice") for _ in range(4)]
        _are_held(world, 4)
        world.proxy.stop()
        replies = [each.result(HANG_S) for each in waiting]
    assert [(reply.status, reply.header("Connection")) for reply in replies] == 4 * [(404, "close")]
    assert not any(reply.header("Preference-Applied") for reply in replies)


def _calls(world: World) -> float:
    return world.proxy.metrics()["nncache_upstream_calls_total"]
