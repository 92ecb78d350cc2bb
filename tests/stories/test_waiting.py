"""Clients that wait for a file, with one header, on a real cluster and on both channels."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX
from nncache.testbed.asker import Asker, RawReply
from tests.patience import HANG_S
from tests.world import Where, World

WAITERS = 16

MOST_CALLS = 6
"""Two callers, a few events of one file; an open file's status is asked for as each of them."""


def _wait(world: World, path: str, user: str, *fields: tuple[str, str]) -> RawReply:
    with Asker(world.proxy.address) as client:
        target = f"{PREFIX}{quote(path)}?op=GETFILESTATUS&user.name={user}"
        return client.ask("GET", target, headers=(("Prefer", "wait=60"), *fields))


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
    assert all(reply.header("Preference-Applied") == "wait=60" for reply in replies)
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


def _calls(world: World) -> float:
    return world.proxy.metrics()["nncache_upstream_calls_total"]
