"""No call may cost other callers a hit, except on paths that it changed."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any, Final

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.rpc.connection import Method, RpcConnection
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied

_FILES: Final = 5

# "$" is a directory that all may write; "$/p/d" is alice's, and others may not enter it; "@" is the alias of "$".
CALLS = """
a redirect to an alias             | PUT /.reserved/.inodes/16385/x?op=CREATE&user.name=carol&noredirect=true
a rename of nothing                | PUT $/none?op=RENAME&destination=$/p&user.name=carol
a deletion that is refused softly  | DELETE /?op=DELETE&recursive=true&user.name=root
an empty user.name                 | DELETE /?op=DELETE&recursive=true&user.name=
an empty user.name of another call | PUT $/p?op=SETPERMISSION&permission=700&user.name=
a method of no use                 | PATCH /?op=X
a method of no use, with paths     | PATCH $/x?op=X&a=$/p&b=$/p/d
a read that is refused             | GET $/p/d/0?op=OPEN&user.name=carol
a read that is none                | GET $/p/d/0?op=X&user.name=carol
a write that is none               | PUT /x?op=X&a=$/p/d/0&b=$/p/d/1&user.name=carol
a write that is refused            | DELETE $/p/d/0?op=DELETE&user.name=carol
a directory that is there          | PUT $/p/d?op=MKDIRS&user.name=root
a directory made by an alias       | PUT @/by-alias?op=MKDIRS&user.name=carol
a name that is not UTF-8           | PUT $/%ff?op=MKDIRS&user.name=carol
two operations in one call         | PUT $/two?op=MKDIRS&op=RENAME&destination=$/p&a=$/p/d&user.name=carol
two destinations                   | PUT $/two?op=RENAME&destination=$/three&destination=$/p&user.name=carol
a destination with a host          | PUT $/three?op=RENAME&destination=//h$/four&user.name=carol
a rename into a directory          | PUT $/four?op=RENAME&destination=$/&user.name=carol
a directory to be renamed          | PUT $/five/x?op=MKDIRS&user.name=carol
an older rename into a directory   | PUT $/five/x?op=RENAME&destination=$&renameoptions=&user.name=carol
several sources                    | POST $/t?op=CONCAT&sources=$/s&sources=$/p&user.name=carol
several names of attributes        | PUT $/t?op=SETXATTR&xattr.name=user.a&xattr.name=raw.b&flag=CREATE&user.name=carol
a path below a file                | PUT $/p/d/0/x/y?op=MKDIRS&user.name=alice
"""


def _kept(proxied_cluster: ProxiedCluster, directory: str) -> list[str]:
    """Make hits of alice in a directory of hers; return their paths."""
    proxied_cluster.mkdirs(f"{directory}/p", "alice", "711")
    proxied_cluster.mkdirs(f"{directory}/p/d", "alice", "700")
    files = [f"{directory}/p/d/{n}" for n in range(_FILES)]
    proxied_cluster.put(CallTarget.NAMENODE, files[0], b"x", "alice")
    proxied_cluster.settle()
    for path in files:
        proxied_cluster.make_hit(path, "alice")
    return files


def test_what_changes_nothing_of_theirs_costs_others_nothing(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """A single cheap call by anybody, in any form, leaves alice's hits in the cache."""
    files = _kept(proxied_cluster, hdfs_directory)
    status = json.loads(proxied_cluster.truth(hdfs_directory, "alice").body)["FileStatus"]
    for name in "st":
        proxied_cluster.put(CallTarget.NAMENODE, f"{hdfs_directory}/{name}", b"x", "carol")
    lost = []
    for row in CALLS.strip().splitlines():
        what, request = (part.strip() for part in row.split("|"))
        method, target = request.split(" ")
        alias = f"/.reserved/.inodes/{status['fileId']}"
        target = target.replace("$", hdfs_directory).replace("@", alias)
        reply = proxied_cluster.through.ask(method, PREFIX + target)
        missed = [path for path in files if not proxied_cluster.ask(path, "alice").is_hit]
        if missed:
            lost.append(f"{what}: {reply.status} {reply.body[:60]!r}")
            for path in missed:
                proxied_cluster.make_hit(path, "alice")
    assert not lost
    assert not any(proxied_cluster.disagreement(path, "alice") for path in files)


def test_own_writes_in_odd_forms_are_seen_at_once(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """OwnWrites: changes that only the events name are applied before the reply."""
    proxied_cluster.mkdirs(f"{hdfs_directory}/o", "carol", "755")
    status = json.loads(proxied_cluster.truth(f"{hdfs_directory}/o", "carol").body)["FileStatus"]
    proxied_cluster.settle()
    for name, target in (
        ("a", f"/.reserved/.inodes/{status['fileId']}/a?op=MKDIRS"),
        ("b", f"{hdfs_directory}/o/b?op=MKDIRS&op=DELETE"),
        ("c", f"{hdfs_directory}/o/b?op=RENAME&destination=//h{hdfs_directory}/o/c"),
        ("d", f"{hdfs_directory}/o/c?op=RENAME&destination={hdfs_directory}/o/./d"),
    ):
        path = f"{hdfs_directory}/o/{name}"
        proxied_cluster.make_hit(path, "carol")
        proxied_cluster.make_hit(f"{hdfs_directory}/o", "carol")
        proxied_cluster.must(proxied_cluster.through.ask("PUT", f"{PREFIX}{target}&user.name=carol"))
        seen = proxied_cluster.ask(path, "carol")
        assert seen.status == 200, (target, seen)
        assert not proxied_cluster.disagreement(f"{hdfs_directory}/o", "carol")


def test_a_name_with_a_nul_costs_others_nothing(
    proxied_cluster: ProxiedCluster, hdfs_directory: str, cluster: Cluster
) -> None:
    """Anybody can make it over RPC. Its event reaches every proxy on both channels."""
    files = _kept(proxied_cluster, hdfs_directory)
    proxied_cluster.make_hit(hdfs_directory, "alice")
    asyncio.run(_make_odd_name(cluster.namenodes[0].rpc, f"{hdfs_directory}/x\0y"))
    proxied_cluster.settle()
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)
    assert not proxied_cluster.disagreement(hdfs_directory, "alice")


async def _make_odd_name(address: str, path: str) -> None:
    request = client.GetFileInfoRequest(src=path)
    request.MergeFromString(b"\x12\x03\x08\xed\x03\x18\x01")  # masked: 0755, createParent: true
    connection = RpcConnection(address, "carol")
    method = Method("org.apache.hadoop.hdfs.protocol.ClientProtocol", "mkdirs", is_repeatable=False)
    try:
        made = await connection.call(method, request, client.IsFileClosedResponse, 10.0)
    finally:
        await connection.close()
    assert made.result


# ---- changes below a directory ----------------------------------------------------------------------

SIBLINGS = 100


def test_a_change_below_one_sibling_costs_no_other(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """After each kind of change below one sibling, at least 99 % of the other entries are still cached."""
    places = [f"{hdfs_directory}/d{n:03}" for n in range(SIBLINGS)]
    for place in places:
        proxied_cluster.mkdirs(place, "alice")
    files = [f"{place}/_SUCCESS" for place in places]
    proxied_cluster.settle()
    for path in files:
        proxied_cluster.make_hit(path, "bob")
    changed = places[42]
    others = [path for path in files if not path.startswith(changed + "/")]
    proxied_cluster.put(CallTarget.NAMENODE, f"{changed}/_SUCCESS", b"", "alice")
    proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", f"{changed}/sub", "alice")
    proxied_cluster.do(CallTarget.PROXY, "PUT", "SETPERMISSION", f"{changed}/sub", "alice", permission="700")
    proxied_cluster.do(
        CallTarget.NAMENODE, "PUT", "RENAME", f"{changed}/sub", "alice", destination=f"{changed}/z"
    )
    proxied_cluster.do(CallTarget.PROXY, "DELETE", "DELETE", f"{changed}/z", "alice", recursive="true")
    proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", changed, "alice", recursive="true")
    proxied_cluster.settle()
    kept = sum(proxied_cluster.ask(path, "bob").is_hit for path in others)
    assert kept >= 0.99 * len(others), f"{kept} of {len(others)} are still hits"
    assert not any(proxied_cluster.disagreement(path, "bob") for path in files)


def test_a_refused_write_costs_next_to_nothing(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """Only the entries of the path and of its parent are dropped, so refused writes cannot empty the cache."""
    files = _kept(proxied_cluster, hdfs_directory)
    refused = proxied_cluster.call(
        CallTarget.PROXY, "DELETE", "DELETE", f"{hdfs_directory}/p/d", "bob", recursive="true"
    )
    assert refused.status == 403
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)


def test_pretended_writes_keep_no_directory_uncached(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """The NameNode redirects anybody's CREATE of any path; over a directory the second step always fails."""
    files = _kept(proxied_cluster, hdfs_directory)
    for place in ("/", "/t", hdfs_directory, f"{hdfs_directory}/p", f"{hdfs_directory}/p/d"):
        begun = proxied_cluster.call(CallTarget.PROXY, "PUT", "CREATE", place, "carol", noredirect="true")
        assert begun.status == 200
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)


def test_making_a_directory_that_is_there_costs_next_to_nothing(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """Jobs create their output directories repeatedly."""
    files = _kept(proxied_cluster, hdfs_directory)
    proxied_cluster.do(CallTarget.PROXY, "PUT", "MKDIRS", f"{hdfs_directory}/p/d", "alice")
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in files)


FLOOD = 150


@pytest.fixture(scope="module", params=Channel, ids=lambda channel: channel.value)
def homes(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[tuple[ProxiedCluster, str]]:
    """A proxy whose filter starts at the parent of the homes; on ZooKeeper its service has no permission in HDFS."""
    top = f"/h{uuid.uuid4().hex[:10]}"
    make_directory(cluster, top, "777")
    flags: dict[str, Any] = {"user": "svc"} if request.param is Channel.ZOOKEEPER else {}
    with proxied(cluster, f"{top}/*/workflow/*", channel=request.param, **flags) as proxied_cluster:
        for user, mode in (("alice", "711"), ("bob", "700")):
            proxied_cluster.mkdirs(f"{top}/{user}", user, mode)
        proxied_cluster.mkdirs(f"{top}/alice/workflow", "alice")
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", top, permission="755")
        proxied_cluster.settle()
        yield proxied_cluster, top


def _hits(proxied_cluster: ProxiedCluster, top: str) -> list[str]:
    paths = [f"{top}/alice/workflow/{n}" for n in range(5)]
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    return paths


def test_an_upload_into_a_private_directory_costs_others_nothing(homes: tuple[ProxiedCluster, str]) -> None:
    """The service may not read the path, so the caller's identity is used, also below missing ancestors."""
    proxied_cluster, top = homes
    for path in (f"{top}/bob/x", f"{top}/bob/new/deep/x", f"{top}/bob/workflow/y"):
        paths = _hits(proxied_cluster, top)
        assert proxied_cluster.write(CallTarget.PROXY, path, b"data", "bob").status == 201
        assert all(proxied_cluster.ask(each, "alice").is_hit for each in paths), path
        assert proxied_cluster.ask(path, "bob").status == 200


def test_redirects_without_a_right_cost_no_other_caller(homes: tuple[ProxiedCluster, str]) -> None:
    """HitsKept: the NameNode redirects anybody. No window is opened, and the NameNode gets almost no questions."""
    proxied_cluster, top = homes
    paths = _hits(proxied_cluster, top)
    before = proxied_cluster.proxy.metrics()
    for number in range(FLOOD):
        for place in (f"{top}/alice/workflow/{number}", f"{top}/bob/{number}", f"/nobodys/{number}/x"):
            begun = proxied_cluster.call(CallTarget.PROXY, "PUT", "CREATE", place, "carol", noredirect="true")
            assert begun.status == 200
    after = proxied_cluster.proxy.metrics()
    assert all(proxied_cluster.ask(path, "alice").is_hit for path in paths)
    windows = "nncache_cache_two_step_windows"
    assert after[windows] <= before[windows]  # a window of an earlier upload may have ended meanwhile
    written = after["nncache_two_step_writes_total"] - before["nncache_two_step_writes_total"]
    assert written <= FLOOD  # below the root, which everybody may write here and no filter matches


def test_own_writes_a_right_since_the_redirect_counts(homes: tuple[ProxiedCluster, str]) -> None:
    """OwnWrites: the second step follows when its caller may write, and their next read sees the file."""
    proxied_cluster, top = homes
    path = f"{top}/alice/workflow/shared"
    proxied_cluster.make_hit(path, "carol")

    def let() -> None:
        place = f"{top}/alice/workflow"
        proxied_cluster.do(CallTarget.PROXY, "PUT", "SETPERMISSION", place, "alice", permission="777")
        proxied_cluster.settle()
        proxied_cluster.make_hit(f"{top}/alice/workflow/other", "carol")

    assert proxied_cluster.write(CallTarget.PROXY, path, b"data", "carol", between=let).status == 201
    assert proxied_cluster.ask(path, "carol").status == 200
    proxied_cluster.do(
        CallTarget.NAMENODE, "PUT", "SETPERMISSION", f"{top}/alice/workflow", "alice", permission="755"
    )


REFUSED = 403, "nncache; fwd=miss"


def test_cache_status_leaks_nothing_of_a_private_tree(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """ProvenGrant: existing, missing, cached, changed and open paths look alike to carol, but not to alice."""
    home = f"{hdfs_directory}/home"
    proxied_cluster.mkdirs(home, "alice", "700")
    proxied_cluster.mkdirs(f"{home}/there", "alice")
    for name in ("there", "missing"):
        proxied_cluster.make_hit(f"{home}/{name}", "alice")

    def carol(name: str, *fields: tuple[str, str]) -> tuple[int, str]:
        target = f"{PREFIX}{home}/{name}?op=GETFILESTATUS&user.name=carol"
        reply = proxied_cluster.through.ask("GET", target, headers=fields)
        return reply.status, reply.header("Cache-Status")

    def begin(name: str, user: str) -> tuple[int, str]:
        reply = proxied_cluster.call(CallTarget.PROXY, "PUT", "CREATE", f"{home}/{name}", user)
        return reply.status, reply.header("Cache-Status")

    for name in ("there", "missing", "unknown"):
        assert carol(name) == carol(name, ("Cache-Control", "no-cache")) == REFUSED
    assert begin("missing", "alice")[0] == 307
    hers = proxied_cluster.ask(f"{home}/missing", "alice")
    assert hers.header("Cache-Status") == "nncache; fwd=bypass; detail=two-step-write"
    assert carol("missing") == REFUSED
    for name in ("there", "unknown"):
        assert begin(name, "carol") == (307, "nncache; fwd=method"), (
            "the first step is redirected for anybody"
        )
        assert carol(name) == carol(f"{name}/below") == REFUSED
