"""Filters come and go, znodes are tampered with, jobs commit: the inotify service goes on."""

import time
from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from tests.channels import Channel, proxied
from tests.faults.tampering import Tampering
from tests.patience import HANG_S
from tests.proxied_cluster import ProxiedCluster, Where

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def proxied_cluster(cluster: Cluster, hdfs_directory: str) -> Iterator[ProxiedCluster]:
    """A service with two filters, f0 for a/*, f1 for b/*, and a proxy."""
    globs = (f"{hdfs_directory}/a/*", f"{hdfs_directory}/b/*")
    with proxied(cluster, *globs, channel=Channel.ZOOKEEPER) as proxied_cluster:
        proxied_cluster.mkdirs(f"{hdfs_directory}/a", "alice")
        proxied_cluster.mkdirs(f"{hdfs_directory}/b", "alice")
        proxied_cluster.settle()
        yield proxied_cluster


@pytest.fixture
def tampering(proxied_cluster: ProxiedCluster) -> Tampering:
    """A foreign hand in the service's znodes."""
    assert proxied_cluster.service is not None
    return Tampering(proxied_cluster.service)


def _is_never_wrong(proxied_cluster: ProxiedCluster, *paths: str) -> None:
    """Change each path behind the proxy's back; both changes are seen within the bound, and kept again."""
    for path in paths:
        made = proxied_cluster.must(proxied_cluster.write(Where.NAMENODE, path, b"x", "alice"))
        proxied_cluster.await_agreement(path, "alice", since=made.ended_at)
        proxied_cluster.make_hit(path, "alice")
        gone = proxied_cluster.must(proxied_cluster.call(Where.NAMENODE, "DELETE", "DELETE", path, "alice"))
        proxied_cluster.await_agreement(path, "alice", since=gone.ended_at)
        proxied_cluster.make_hit(path, "alice")


def test_a_filter_is_added_and_removed_while_everything_runs(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """By inotify itself; nothing is kept for a filter that the publisher does not match (any more)."""
    assert proxied_cluster.service is not None
    path = f"{hdfs_directory}/c/f"
    proxied_cluster.mkdirs(f"{hdfs_directory}/c", "alice")
    assert "no-filter" in proxied_cluster.ask(path, "alice").header("Cache-Status")
    proxied_cluster.service.add("f2", f"{hdfs_directory}/c/*")
    added_at = time.monotonic()
    while "no-filter" in proxied_cluster.ask(path, "alice").header("Cache-Status"):
        assert time.monotonic() - added_at < HANG_S
    _is_never_wrong(proxied_cluster, path)
    proxied_cluster.service.remove("f2")
    removed_at = time.monotonic()
    while "no-filter" not in proxied_cluster.ask(path, "alice").header("Cache-Status"):
        assert time.monotonic() - removed_at < HANG_S
    assert not proxied_cluster.disagreement(path, "alice")


def test_a_filter_is_removed_and_added_again_while_in_use(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """GapFlush: what happened in between was not matched, so nothing kept before may be served after."""
    assert proxied_cluster.service is not None
    path = f"{hdfs_directory}/a/f"
    for _ in range(3):
        proxied_cluster.make_hit(path, "alice")
        proxied_cluster.service.remove("f0")
        made = proxied_cluster.must(proxied_cluster.write(Where.NAMENODE, path, b"x", "alice"))
        proxied_cluster.service.add("f0", f"{hdfs_directory}/a/*")
        proxied_cluster.await_agreement(path, "alice", since=made.ended_at)
        assert proxied_cluster.make_hit(path, "alice").status == 200
        proxied_cluster.must(proxied_cluster.call(Where.PROXY, "DELETE", "DELETE", path, "alice"))
        assert proxied_cluster.disagreement(path, "alice") == []


def test_a_corrupt_definition_costs_only_its_filter(
    proxied_cluster: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """It is counted and logged; the other filter's hits stay."""
    kept, lost = f"{hdfs_directory}/b/f", f"{hdfs_directory}/a/f"
    proxied_cluster.make_hit(kept, "alice")
    tampering.write(".filters/f0", b'{"id": 7')
    _is_never_wrong(proxied_cluster, kept, lost)


def test_a_corrupt_record_costs_a_flush_and_is_counted(
    proxied_cluster: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """A record that cannot be read may have said anything: everything is forgotten, nothing wrong is served."""
    path = f"{hdfs_directory}/a/f"
    proxied_cluster.make_hit(path, "alice")
    proxied_cluster.proxy.process.pause()
    made = proxied_cluster.must(proxied_cluster.write(Where.NAMENODE, path, b"x", "alice"))
    before = tampering.newest(".cache")
    while tampering.newest(".cache") == before:
        assert time.monotonic() - made.ended_at < HANG_S
        proxied_cluster.must(
            proxied_cluster.call(
                Where.NAMENODE, "PUT", "MKDIRS", f"{hdfs_directory}/a/{time.monotonic_ns()}", "alice"
            )
        )
    tampering.write(tampering.newest(".cache"), b"\xff not a record")
    proxied_cluster.proxy.process.resume()
    proxied_cluster.await_agreement(path, "alice", since=time.monotonic())
    _is_never_wrong(proxied_cluster, f"{hdfs_directory}/b/f")
    assert proxied_cluster.proxy.metrics()["nncache_channel_corrupt_znodes_total"] >= 1


def test_foreign_znodes_are_passed_over(
    proxied_cluster: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """Whoever leaves something in the tree costs nobody anything."""
    path = f"{hdfs_directory}/a/f"
    proxied_cluster.make_hit(path, "alice")
    flushes = proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"]
    for place in ("notes", ".cache/notes", ".filters/-odd name", "f0/notes"):
        tampering.create(place, b"\x00\xff")
    _is_never_wrong(proxied_cluster, path, f"{hdfs_directory}/b/f")
    assert proxied_cluster.publisher is not None
    proxied_cluster.publisher.process.kill()
    proxied_cluster.publisher.process.start()
    _is_never_wrong(proxied_cluster, path, f"{hdfs_directory}/b/f")
    assert proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"] == flushes


def test_a_corrupt_record_is_a_gap_for_its_filter_alone(
    proxied_cluster: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """The record's place in the chain is lost with it, so a subscriber that has yet to read it is told of a gap."""
    assert proxied_cluster.service is not None
    path = f"{hdfs_directory}/a/f"
    since = int(tampering.read("f0"))
    proxied_cluster.must(proxied_cluster.write(Where.NAMENODE, path, b"x", "alice"))
    proxied_cluster.settle()
    tampering.write(tampering.newest("f0"), b"{}")
    with proxied_cluster.service.subscriber("f0", "--from", str(since)) as subscriber:
        subscriber.await_that(lambda it: bool(it.gaps()), "tells of no gap")
        proxied_cluster.must(proxied_cluster.call(Where.NAMENODE, "DELETE", "DELETE", path, "alice"))
        subscriber.await_that(lambda it: bool(it.events()), "tells of no event")
        assert subscriber.events()[-1]["type"] == "UNLINK"
    _is_never_wrong(proxied_cluster, path, f"{hdfs_directory}/b/f")
