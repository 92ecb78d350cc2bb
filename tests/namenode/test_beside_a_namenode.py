"""A light cluster and a real NameNode answer the same: random operations, whole trees, odd requests.

Longer: `python -m tests.namenode.differential` and `python -m tests.namenode.oddities`.
"""

import random

from nncache.namenode.cluster import LightCluster
from nncache.testbed import Cluster
from tests.cluster import HADOOP
from tests.namenode import differential, oddities

SPEAKS = "3.5.0"
"""The release whose answers a light cluster gives."""


def test_random_operations_have_the_same_answers(cluster: Cluster) -> None:
    """Those of the superuser and three others; what there is then is the same, with data, ACLs and quotas.

    So is what the edits say of it, event by event and byte for byte but for the times.
    """
    seed = random.randrange(10**9)
    with LightCluster(superuser=cluster.superuser) as light:
        found = differential.compare(
            cluster.namenodes[0].http,
            light.namenode_http,
            cluster.superuser,
            operations=300,
            seed=seed,
            every=100,
            rpc=(cluster.namenodes[0].rpc, light.namenode_rpc),
        )
    differences = [each for each in found.differences if HADOOP == SPEAKS or not each[0].isdigit()]
    assert differences == [], f"seed {seed}"
    assert found.operations == 300
    assert found.events > 50


def test_odd_requests_have_the_same_answers(cluster: Cluster) -> None:
    """Status, kind, Location and body, apart from addresses; another release words some of them otherwise."""
    seed = random.randrange(10**9)
    requests = oddities.drawn("/odd", 250, seed)
    with LightCluster(superuser=cluster.superuser) as light:
        real = cluster.namenodes[0].http
        differences = oddities.compare(real, light.namenode_http, cluster.superuser, requests, "/odd")
    assert HADOOP != SPEAKS or differences == [], f"seed {seed}"


def test_hadoops_own_shell(cluster: Cluster) -> None:
    """`hdfs dfs` over webhdfs://: makes, writes, appends, lists, moves, sets and reads, and moves to the trash."""
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
            assert result.exit_code == 0, (arguments, result.stderr)
            assert expected in result.stdout + result.stderr, arguments
