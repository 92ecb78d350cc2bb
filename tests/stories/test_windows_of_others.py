"""Uploads of others, begun or finished, cost nobody hits (findings of a service without rights and of a flood)."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.real.proxied_cluster import ProxiedCluster, Where
from tests.real.stand import Channel, proxied

FLOOD = 150


@pytest.fixture(scope="module", params=Channel, ids=lambda channel: channel.value)
def homes(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[tuple[ProxiedCluster, str]]:
    """A proxy whose filter begins at a top directory of homes; on ZooKeeper its service has no right in HDFS."""
    top = f"/h{uuid.uuid4().hex[:10]}"
    make_directory(cluster, top, "777")
    flags: dict[str, Any] = {"user": "svc"} if request.param is Channel.ZOOKEEPER else {}
    with proxied(cluster, f"{top}/*/workflow/*", channel=request.param, **flags) as proxied_cluster:
        for user, mode in (("alice", "711"), ("bob", "700")):
            proxied_cluster.mkdirs(f"{top}/{user}", user, mode)
        proxied_cluster.mkdirs(f"{top}/alice/workflow", "alice")
        proxied_cluster.do(Where.NAMENODE, "PUT", "SETPERMISSION", top, permission="755")
        proxied_cluster.settle()
        yield proxied_cluster, top


def _hits(proxied_cluster: ProxiedCluster, top: str) -> list[str]:
    paths = [f"{top}/alice/workflow/{n}" for n in range(5)]
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    return paths


def test_an_upload_into_a_private_directory_costs_others_nothing(homes: tuple[ProxiedCluster, str]) -> None:
    """What the service may not see is asked as the caller; both steps, deep and with missing ancestors."""
    proxied_cluster, top = homes
    for path in (f"{top}/bob/x", f"{top}/bob/new/deep/x", f"{top}/bob/workflow/y"):
        paths = _hits(proxied_cluster, top)
        assert proxied_cluster.write(Where.PROXY, path, b"data", "bob").status == 201
        assert all(proxied_cluster.ask(each, "alice").is_hit for each in paths), path
        assert proxied_cluster.ask(path, "bob").status == 200


def test_redirects_without_a_right_cost_no_other_caller(homes: tuple[ProxiedCluster, str]) -> None:
    """HitsKept: the NameNode redirects anybody; no window is opened, and it is asked next to nothing."""
    proxied_cluster, top = homes
    paths = _hits(proxied_cluster, top)
    before = proxied_cluster.proxy.metrics()
    for number in range(FLOOD):
        for place in (f"{top}/alice/workflow/{number}", f"{top}/bob/{number}", f"/nobodys/{number}/x"):
            begun = proxied_cluster.call(Where.PROXY, "PUT", "CREATE", place, "carol", noredirect="true")
            assert begun.status == 200
    after = proxied_cluster.proxy.metrics()
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in paths)
    windows = "nncache_cache_two_step_windows"
    assert after[windows] <= before[windows]  # one of an earlier upload may have ended meanwhile
    written = after["nncache_two_step_writes_total"] - before["nncache_two_step_writes_total"]
    assert written <= FLOOD  # below the root, which is everybody's here and not in any filter


def test_own_writes_a_right_since_the_redirect_counts(homes: tuple[ProxiedCluster, str]) -> None:
    """OwnWrites: the second step is made once its caller may write, and their next read sees it."""
    proxied_cluster, top = homes
    path = f"{top}/alice/workflow/shared"
    proxied_cluster.make_hit(path, "carol")

    def let() -> None:
        place = f"{top}/alice/workflow"
        proxied_cluster.do(Where.PROXY, "PUT", "SETPERMISSION", place, "alice", permission="777")
        proxied_cluster.settle()
        proxied_cluster.make_hit(f"{top}/alice/workflow/other", "carol")

    assert proxied_cluster.write(Where.PROXY, path, b"data", "carol", between=let).status == 201
    assert proxied_cluster.ask(path, "carol").status == 200
    proxied_cluster.do(
        Where.NAMENODE, "PUT", "SETPERMISSION", f"{top}/alice/workflow", "alice", permission="755"
    )
