"""The real clusters of the tests."""

import http.client
import os
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote, urlencode

from nncache.testbed import Cluster, ClusterSpec, Kerberos, ProxyUserSpec, Tls, ZooKeeperSecurity
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION

HADOOP = os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
"""The Hadoop release of this test session: `make test HADOOP=3.4.1`."""

ZOOKEEPER = os.environ.get("ZOOKEEPER") or None
"""The ZooKeeper release of this test session, such as 3.9.5; None: the 3.8 of Hadoop's artifact."""

SESSION = ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, zookeeper_version=ZOOKEEPER)
"""The cluster that a test session starts when a test requests it."""

JOURNALED = replace(SESSION, ha=True, journalnodes=3, overrides={"dfs.ha.tail-edits.in-progress": "true"})
"""An HA pair whose JournalNodes serve edits in progress; each test that needs it starts its own."""

SECURED = ClusterSpec(
    hadoop_version=HADOOP,
    with_zookeeper=True,
    kerberos=Kerberos(
        protection="authentication,integrity,privacy",  # clients choose
        proxy_users=(
            ProxyUserSpec(name="proxy", users="alice,bob"),
            ProxyUserSpec(name="nncache", users="*"),  # for proxies that authenticate their clients
        ),
    ),
    tls=Tls(),
    zookeeper_security=ZooKeeperSecurity(kerberos=True, tls=True, client_certificates="want"),
)
"""The cluster with Kerberos. The tests that request it are in tests/secured, so that only one worker starts it."""


def webhdfs(
    cluster: Cluster, method: str, path: str, op: str, *, user: str | None = None, **parameters: str | int
) -> tuple[int, bytes]:
    """Send a call directly to the first NameNode; return the status and the body.

    It serves synchronous code of tests. `user` None is the superuser, who needs no ticket. It follows no redirects.
    """
    name = user or cluster.superuser
    query: Mapping[str, str | int] = {"op": op, "user.name": name} | parameters
    namenode = cluster.namenodes[0]
    reply = namenode.ask(method, f"/webhdfs/v1{quote(path)}?{urlencode(query)}", name)
    return reply.status, reply.body


def settle(cluster: Cluster, proxy: ProxyDaemon) -> None:
    """Wait until the proxy has applied all transactions that the first NameNode has acknowledged so far."""
    last = cluster.last_txid()
    proxy.process.await_that(
        lambda: proxy.metrics()["nncache_cache_covered_txid"] >= last, f"has not applied {last}"
    )


def make_directory(cluster: Cluster, path: str, permission: str = "777") -> None:
    """Make a directory as the superuser, with exactly this mode."""
    for op in ("MKDIRS", "SETPERMISSION"):
        status, body = webhdfs(cluster, "PUT", path, op, permission=permission)
        assert status == http.client.OK, (op, path, status, body)
