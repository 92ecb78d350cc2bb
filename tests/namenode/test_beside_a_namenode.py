"""A light cluster answers as a real NameNode: random operations, trees, events, odd requests, RPC and JMX.

Longer runs: `python -m tests.namenode.differential` and `python -m tests.namenode.oddities`.
"""

import random
import re

import pytest

from nncache.hadoop.jmx import BLOCK_POOL_QUERY, CLUSTER_QUERY, JOURNAL_QUERY, STARTED_QUERY, STATUS_QUERY
from nncache.hadoop.server_kind import PROCESS_QUERY
from nncache.namenode.cluster import LightCluster
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from tests.cluster import HADOOP, webhdfs
from tests.namenode import differential, odd_calls, oddities
from tests.namenode.asking import call, comparable

SPEAKS = "3.5.0"
"""The release whose answers a light cluster implements."""


def test_random_operations_have_the_same_answers(cluster: Cluster) -> None:
    """The superuser and three other users send them; the resulting trees agree in data, ACLs and quotas.

    The edits agree event by event, and byte for byte except for times.
    """
    seed = random.randrange(10**9)
    with LightCluster(superuser=cluster.superuser) as light:
        found = differential.compare(
            [cluster.namenodes[0].http],
            [light.namenode_http],
            cluster.superuser,
            operations=300,
            seed=seed,
            every=100,
            rpc=(cluster.namenodes[0].rpc, light.namenode_rpc),
        )
    differences = [each for each in found.differences if HADOOP == SPEAKS or not each[0].isdigit()]
    assert differences == [], f"seed {seed}"
    assert found.operations == 300
    assert found.events > 0, f"seed {seed}"  # how many operations succeed depends on the seed


def test_odd_requests_have_the_same_answers(cluster: Cluster) -> None:
    """Status, media type, Location and body agree, except addresses; other releases word some of them differently."""
    seed = random.randrange(10**9)
    requests = oddities.drawn("/odd", 250, seed)
    with LightCluster(superuser=cluster.superuser) as light:
        real = cluster.namenodes[0].http
        differences = oddities.compare(real, light.namenode_http, cluster.superuser, requests, "/odd")
    assert HADOOP != SPEAKS or differences == [], f"seed {seed}"


def test_calls_over_rpc_have_the_same_answers(cluster: Cluster) -> None:
    """The calls of nncache, also without permission for a path; unsupported calls; connections with a bad preamble."""
    root = f"/calls-{random.randrange(10**9)}"
    with LightCluster(superuser=cluster.superuser) as light:
        for http in (cluster.namenodes[0].http, light.namenode_http):
            odd_calls.lay_out(http, cluster.superuser, root)
        differences = [
            (exchange.name, real, answer)
            for exchange in odd_calls.exchanges(root)
            if (real := odd_calls.ask(cluster.namenodes[0].rpc, exchange))
            != (answer := odd_calls.ask(light.namenode_rpc, exchange))
        ]
    webhdfs(cluster, "DELETE", root, "DELETE", recursive="true")
    assert HADOOP != SPEAKS or differences == []


@pytest.mark.parametrize(
    "query",
    [
        STATUS_QUERY,
        STARTED_QUERY,
        JOURNAL_QUERY,
        BLOCK_POOL_QUERY,
        CLUSTER_QUERY,
        PROCESS_QUERY,
        "/jmx?qry=Hadoop:service=NameNode,name=NoSuchBean",
        "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::NoSuchAttribute",
        "/jmx?get=NoBean",
        "/jmx?get=NoBean::X",
        "/jmx?qry=NoBean",
    ],
)
def test_jmx_has_the_same_shape(cluster: Cluster, query: str) -> None:
    """Beans, attributes, value types, number formats, headers and status agree.

    The order of attributes is the JVM's (Class.getMethods), and differs between JVMs.
    """
    with LightCluster(superuser=cluster.superuser) as light:
        texts = []
        for http in (cluster.namenodes[0].http, light.namenode_http):
            with Asker(http) as asker:
                reply = asker.ask("GET", query)
            assert reply.status == 200
            assert reply.header("Content-Type") == "application/json; charset=utf8"
            texts.append(_shape(reply.body.decode()))
    assert set(texts[1]) <= set(texts[0])
    assert query == PROCESS_QUERY or sorted(texts[0]) == sorted(texts[1])


def _shape(text: str) -> list[str]:
    """Return the lines, with each value replaced by its type."""
    return [
        re.sub(r"-?[0-9][0-9.E+-]*", "NUMBER", re.sub(r' : "(?!Hadoop:|org\.).*"', ' : "TEXT"', line)).rstrip(
            ","
        )
        for line in text.splitlines()
    ]


BY_INODE = (
    ("GET", "DIR", "GETFILESTATUS"),
    ("GET", "DIR/f", "GETFILESTATUS"),
    ("GET", "FILE/x", "GETFILESTATUS"),
    ("GET", "FILE/..", "LISTSTATUS"),
    ("GET", "DIR/../x", "GETFILESTATUS"),
    ("GET", "/.reserved/.inodes/16385", "LISTSTATUS"),
    ("GET", "/.reserved/.inodes/9999999999", "GETFILESTATUS"),
    ("GET", "/.reserved/.inodes/abc", "GETFILESTATUS"),
    ("GET", "/.reserved/.inodes", "GETFILESTATUS"),
    ("POST", "FILE", "APPEND"),
    ("PUT", "DIR/new", "MKDIRS"),
    ("PUT", "DIR/h", "CREATE"),
    ("GET", "DIR", "LISTSTATUS"),
    ("PUT", "/.reserved/.inodes/9999999999/x", "MKDIRS"),
    ("PUT", "/.reserved/x", "MKDIRS"),
    ("DELETE", "FILE", "DELETE"),
    ("GET", "FILE", "GETFILESTATUS"),
)
"""Calls that name a directory, and the file `f` in it, by inode id."""


def test_names_by_inode_have_the_same_answers(cluster: Cluster) -> None:
    """Paths below /.reserved/.inodes: existing and missing inodes, reads, writes and deletions."""
    with LightCluster(superuser=cluster.superuser) as light:
        real, own = (
            _by_inode(http, cluster.superuser) for http in (cluster.namenodes[0].http, light.namenode_http)
        )
    assert [pair for pair in zip(BY_INODE, real, own, strict=True) if pair[1] != pair[2]] == []


def _by_inode(http: str, superuser: str) -> list[tuple[int, bytes]]:
    top = f"/by-inode-{random.randrange(10**9)}"
    call(http, "PUT", top, "MKDIRS", superuser, permission="777")
    call(http, "PUT", f"{top}/f", "CREATE", "alice", b"123")
    ids = {
        name: str(call(http, "GET", path, "GETFILESTATUS").json["FileStatus"]["fileId"])
        for name, path in (("DIR", top), ("FILE", f"{top}/f"))
    }
    found = []
    for method, path, op in BY_INODE:
        named = re.sub("DIR|FILE", lambda name: f"/.reserved/.inodes/{ids[name[0]]}", path)
        status, body = comparable(call(http, method, named, op, "alice", b"45"))
        for name, number in ids.items():
            body = body.replace(number.encode(), name.encode())
        is_root = named.endswith(("16385", "/../x"))  # other tests create directories there
        found.append((status, b"" if is_root else body.replace(top.encode(), b"TOP")))
    call(http, "DELETE", top, "DELETE", superuser, recursive="true")
    return found


def test_hadoops_own_shell(cluster: Cluster) -> None:
    """`hdfs dfs` over webhdfs:// creates, writes, appends, lists, moves, sets, reads, and moves to the trash."""
    with LightCluster(superuser=cluster.superuser) as light:
        web = f"webhdfs://{light.namenode_http}"
        script = (
            (("-mkdir", "-p", f"{web}/x/y"), "", ""),
            (("-put", "-", f"{web}/x/f"), "hello ", ""),
            (("-appendToFile", "-", f"{web}/x/f"), "world", ""),
            (("-cat", f"{web}/x/f"), "", "hello world"),
            (("-mv", f"{web}/x/f", f"{web}/x/y"), "", ""),
            (("-setfacl", "-m", "user:bob:r-x", f"{web}/x"), "", ""),
            (("-getfacl", f"{web}/x"), "", "user:bob:r-x"),
            (("-stat", "%n %b %u %g", f"{web}/x/y/f"), "", f"f 11 {cluster.superuser} supergroup"),
            (("-checksum", f"{web}/x/y/f"), "", "MD5-of-0MD5-of-512CRC32"),
            (("-rm", "-r", f"{web}/x/y"), "", ""),
            (("-ls", "-R", f"{web}/user"), "", ".Trash/Current/x/y/f"),
        )
        for arguments, stdin, expected in script:
            result = cluster.fs_shell(*arguments, stdin=stdin)
            assert result.returncode == 0, (arguments, result.stderr)
            assert expected in result.stdout + result.stderr, arguments
