"""Uploads of others, begun or finished, cost nobody hits (findings of a service without rights and of a flood)."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from nncache.testbed import Cluster
from tests.channels import Channel, proxied
from tests.cluster import make_directory
from tests.world import Where, World

FLOOD = 150


@pytest.fixture(scope="module", params=Channel, ids=lambda channel: channel.value)
def homes(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[tuple[World, str]]:
    """A proxy whose filter begins at a top directory of homes; on ZooKeeper its service has no right in HDFS."""
    top = f"/h{uuid.uuid4().hex[:10]}"
    make_directory(cluster, top, "777")
    flags: dict[str, Any] = {"user": "svc"} if request.param is Channel.ZOOKEEPER else {}
    with proxied(cluster, f"{top}/*/workflow/*", channel=request.param, **flags) as world:
        for user, mode in (("alice", "711"), ("bob", "700")):
            world.mkdirs(f"{top}/{user}", user, mode)
        world.mkdirs(f"{top}/alice/workflow", "alice")
        world.must(world.call(Where.NAMENODE, "PUT", "SETPERMISSION", top, permission="755"))
        world.settle()
        yield world, top


def _hits(world: World, top: str) -> list[str]:
    paths = [f"{top}/alice/workflow/{n}" for n in range(5)]
    for path in paths:
        world.make_hit(path, "alice")
    return paths


def test_an_upload_into_a_private_directory_costs_others_nothing(homes: tuple[World, str]) -> None:
    """What the service may not see is asked as the caller; both steps, deep and with missing ancestors."""
    world, top = homes
    for path in (f"{top}/bob/x", f"{top}/bob/new/deep/x", f"{top}/bob/workflow/y"):
        paths = _hits(world, top)
        assert world.write(Where.PROXY, path, b"data", "bob").status == 201
        assert all(world.ask(each, "alice").is_hit for each in paths), path
        assert world.ask(path, "bob").status == 200


def test_a_flood_of_redirects_of_those_without_a_right_costs_nobody_anything(
    homes: tuple[World, str],
) -> None:
    """HitsKept: the NameNode redirects anybody; no window is opened, and it is asked next to nothing."""
    world, top = homes
    paths = _hits(world, top)
    before = world.proxy.metrics()
    for number in range(FLOOD):
        for place in (f"{top}/alice/workflow/{number}", f"{top}/bob/{number}", f"/nobodys/{number}/x"):
            begun = world.call(Where.PROXY, "PUT", "CREATE", place, "carol", noredirect="true")
            assert begun.status == 200
    after = world.proxy.metrics()
    assert all(world.ask(path, "alice").is_hit for path in paths)
    windows = "nncache_cache_two_step_windows"
    assert after[windows] <= before[windows]  # one of an earlier upload may have ended meanwhile
    written = after["nncache_two_step_writes_total"] - before["nncache_two_step_writes_total"]
    assert written <= FLOOD  # below the root, which is everybody's here and not in any filter


def test_own_writes_who_has_got_the_right_since_the_redirect_sees_what_they_wrote(
    homes: tuple[World, str],
) -> None:
    """OwnWrites: the second step is made once its caller may write, and their next read sees it."""
    world, top = homes
    path = f"{top}/alice/workflow/shared"
    world.make_hit(path, "carol")

    def let() -> None:
        place = f"{top}/alice/workflow"
        world.must(world.call(Where.PROXY, "PUT", "SETPERMISSION", place, "alice", permission="777"))
        world.settle()
        world.make_hit(f"{top}/alice/workflow/other", "carol")

    assert world.write(Where.PROXY, path, b"data", "carol", between=let).status == 201
    assert world.ask(path, "carol").status == 200
    world.must(
        world.call(Where.NAMENODE, "PUT", "SETPERMISSION", f"{top}/alice/workflow", "alice", permission="755")
    )
