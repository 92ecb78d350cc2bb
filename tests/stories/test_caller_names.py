"""Caller names as other projects' clients send them, on a cluster that accepts them."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.testbed import Cluster
from nncache.testbed.asker import RawReply
from tests.cluster import SESSION, make_directory, webhdfs
from tests.patience import HANG_S
from tests.real.proxied_cluster import ProxiedCluster, differences, was_forwarded
from tests.real.stand import proxied

SPEC = replace(
    SESSION,
    with_zookeeper=False,
    overrides={
        "dfs.webhdfs.user.provider.user.pattern": ".+",  # HDFS-4983
        "hadoop.proxyuser.knox.hosts": "*",
        "hadoop.proxyuser.knox.users": "*",
    },
)

AS_ALICE = ("user.name=alice", "user.name=knox&doas=alice")
BY_KNOX = ("user.name=knox&doAs=alice", "user.name=knox&DOAS=alice")


@pytest.fixture(scope="module")
def proxied_cluster() -> Iterator[ProxiedCluster]:
    """A cluster whose pattern accepts every name, behind a proxy; only alice may enter /n/private."""
    with Cluster.start(SPEC) as cluster, proxied(cluster, "/n/*", "/n/private/*") as proxied_cluster:
        make_directory(cluster, "/n")
        make_directory(cluster, "/n/private", "700")
        assert webhdfs(cluster, "PUT", "/n/private", "SETOWNER", owner="alice")[0] == 200
        yield proxied_cluster


def asked(proxied_cluster: ProxiedCluster, path: str, query: str) -> RawReply:
    """Ask the proxy until it has a hit or refuses; each answer must equal the NameNode's."""
    target = f"{PREFIX}{path}?op=GETFILESTATUS&{query}"
    until = time.monotonic() + HANG_S
    while True:
        seen = proxied_cluster.through.ask("GET", target)
        assert differences(seen, proxied_cluster.direct.ask("GET", target)) == []
        if seen.status == 403 or not was_forwarded(seen):
            return seen
        assert time.monotonic() < until, f"{target} is never a hit: {seen.header('Cache-Status')}"


@pytest.mark.parametrize(
    "spellings",
    [
        ("jane%40corp.example", "jane@corp.example", "jane%40corp%2Eexample"),
        ("HOST%24", "HOST$"),
        ("11100215", "%311100215"),
        ("a%20b", "a+b"),
        ("CORP%5Cjane",),
        ("m%C3%BCller", "m%c3%bcller"),
    ],
    ids=lambda spellings: str(spellings[0]),
)
def test_a_name_is_one_caller_however_it_is_escaped(
    proxied_cluster: ProxiedCluster, spellings: tuple[str, ...]
) -> None:
    """mtth/hdfs #140, HDFS-11391: after a grant for the first spelling, all others get a hit immediately."""
    asked(proxied_cluster, "/n/_SUCCESS", f"user.name={spellings[0]}")
    for spelled in spellings[1:]:
        reply = proxied_cluster.through.ask(
            "GET", f"{PREFIX}/n/_SUCCESS?op=GETFILESTATUS&user.name={spelled}"
        )
        assert reply.header("Cache-Status").startswith("nncache; hit"), spelled


@pytest.mark.parametrize(
    "order", [(*AS_ALICE, *BY_KNOX), (*BY_KNOX, *AS_ALICE)], ids=["doas first", "doAs first"]
)
def test_knoxs_doas_is_answered_as_its_release_reads_it(
    proxied_cluster: ProxiedCluster, order: tuple[str, ...]
) -> None:
    """apache/knox KNOX-440: 3.5.0 reads `doAs`, 3.4.1 answers for knox. ProvenGrant holds and hits occur on both."""
    path = f"/n/private/{len(order[0])}"
    for query in order:
        asked(proxied_cluster, path, query)
        assert asked(proxied_cluster, "/n/_SUCCESS", query).status == 404
    assert asked(proxied_cluster, path, "user.name=knox").status == 403
    assert asked(proxied_cluster, path, AS_ALICE[1]).status == 404
