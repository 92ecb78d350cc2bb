"""With a filter `/` the root is answered from memory: Airflow's hook asks for it before each poke."""

import time
from collections.abc import Iterator
from typing import Final

import pytest

from nncache.testbed import Cluster
from tests.cluster import SESSION, make_directory
from tests.real.proxied_cluster import CallTarget
from tests.real.stand import Channel, proxied
from tests.stories.changes import Act, call, write

CHANGES: Final[dict[str, Act]] = {
    "a directory comes": call("PUT", "MKDIRS", "new/x/y", None),
    "a file comes": write("file", user=None),
    "with its directories": write("made/by/file", user=None),
    "a directory moves in": call("PUT", "RENAME", "new/x", None, destination="/moved"),
    "a name changes": call("PUT", "RENAME", "moved", None, destination="/again"),
    "a directory goes": call("DELETE", "DELETE", "again", None, recursive="true"),
    "its permission": call("PUT", "SETPERMISSION", "", None, permission="751"),
    "its owner": call("PUT", "SETOWNER", "", None, group="staff"),
    "its times": call("PUT", "SETTIMES", "", None, modificationtime="1234567890123"),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A separate cluster: other tests make directories in the root of the session's cluster."""
    with Cluster.start(SESSION) as started:
        yield started


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
@pytest.mark.parametrize("where", CallTarget, ids=lambda where: where.name)
def test_a_change_of_the_root_is_seen(cluster: Cluster, channel: Channel, where: CallTarget) -> None:
    """OwnWrites and Bounded: each new or removed entry changes the root's times and number of children."""
    with proxied(cluster, "/", channel=channel) as proxied_cluster:
        for name, act in CHANGES.items():
            proxied_cluster.make_hit("/", "alice")
            act(proxied_cluster, "", where)
            since = time.monotonic()
            if where is CallTarget.PROXY:
                assert proxied_cluster.disagreement("/", "alice") == [], name
            proxied_cluster.await_agreement("/", "alice", since=since)
        proxied_cluster.make_hit("/", "alice")
        for path in ("/new", "/file", "/made"):
            proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", path, recursive="true")


@pytest.mark.parametrize("grants", ["per_directory", "per_path"])
def test_who_sees_the_root_may_not_see_what_is_in_it(cluster: Cluster, grants: str) -> None:
    """ProvenGrant: with a root of mode 700 everybody gets the status of `/`, but only alice that of `/f`."""
    with proxied(cluster, "/", "/*", grants=grants) as proxied_cluster:
        try:
            make_directory(cluster, "/", "700")
            proxied_cluster.do(CallTarget.NAMENODE, "PUT", "SETOWNER", "/", owner="alice")
            proxied_cluster.make_hit("/f", "alice")
            for _ in range(3):
                proxied_cluster.make_hit("/", "bob")
                assert (
                    proxied_cluster.ask("/f", "bob").status
                    == proxied_cluster.truth("/f", "bob").status
                    == 403
                )
        finally:
            proxied_cluster.do(CallTarget.NAMENODE, "PUT", "SETOWNER", "/", owner=cluster.superuser)
            make_directory(cluster, "/", "755")
