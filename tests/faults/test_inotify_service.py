"""The inotify service keeps working while filters are added and removed, and znodes are tampered with."""

import time

import pytest

from tests.faults.outage import is_never_wrong
from tests.faults.tampering import Tampering
from tests.patience import until
from tests.real.faults import paused
from tests.real.proxied_cluster import CallTarget, ProxiedCluster

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def tampering(two_filters: ProxiedCluster) -> Tampering:
    """A client outside the service that changes its znodes."""
    assert two_filters.service is not None
    return Tampering(two_filters.service)


def test_a_filter_is_added_and_removed_while_everything_runs(
    two_filters: ProxiedCluster, hdfs_directory: str
) -> None:
    """Inotify announces both. Nothing is cached for a filter before or after the publisher matches it."""
    assert two_filters.service is not None
    path = f"{hdfs_directory}/c/f"
    assert "no-filter" in two_filters.ask(path, "alice").header("Cache-Status")
    two_filters.service.add("f2", f"{hdfs_directory}/c/*")
    until(lambda: "no-filter" not in two_filters.ask(path, "alice").header("Cache-Status"))
    is_never_wrong(two_filters, path)
    two_filters.service.remove("f2")
    until(lambda: "no-filter" in two_filters.ask(path, "alice").header("Cache-Status"))
    assert not two_filters.disagreement(path, "alice")


def test_a_filter_is_removed_and_added_again_while_in_use(
    two_filters: ProxiedCluster, hdfs_directory: str
) -> None:
    """GapFlush: changes in between were not matched, so no entry from before may be served after."""
    assert two_filters.service is not None
    path = f"{hdfs_directory}/a/f"
    for _ in range(3):
        two_filters.make_hit(path, "alice")
        two_filters.service.remove("f0")
        made = two_filters.put(CallTarget.NAMENODE, path, b"x", "alice")
        two_filters.service.add("f0", f"{hdfs_directory}/a/*")
        two_filters.await_agreement(path, "alice", since=made.ended_at)
        assert two_filters.make_hit(path, "alice").status == 200
        two_filters.do(CallTarget.PROXY, "DELETE", "DELETE", path, "alice")
        assert two_filters.disagreement(path, "alice") == []


def test_a_corrupt_definition_costs_only_its_filter(
    two_filters: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """Answers for the other filter's paths stay right."""
    kept, lost = f"{hdfs_directory}/b/f", f"{hdfs_directory}/a/f"
    two_filters.make_hit(kept, "alice")
    tampering.write(".filters/f0", b'{"id": 7')
    is_never_wrong(two_filters, kept, lost)


def test_a_corrupt_record_costs_a_flush_and_is_counted(
    two_filters: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """An unreadable record may have held any change: everything is forgotten, and no wrong answer is served."""
    path = f"{hdfs_directory}/a/f"
    two_filters.make_hit(path, "alice")
    with paused(two_filters.proxy.process):
        two_filters.put(CallTarget.NAMENODE, path, b"x", "alice")
        before = tampering.newest(".cache")

        def is_another_there() -> bool:
            two_filters.mkdirs(f"{hdfs_directory}/a/{time.monotonic_ns()}", "alice")
            return tampering.newest(".cache") != before

        until(is_another_there)
        tampering.write(tampering.newest(".cache"), b"\xff not a record")
    two_filters.await_agreement(path, "alice", since=time.monotonic())
    is_never_wrong(two_filters, f"{hdfs_directory}/b/f")
    assert two_filters.proxy.metrics()["nncache_channel_corrupt_znodes_total"] >= 1


def test_foreign_znodes_are_passed_over(
    two_filters: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """Foreign znodes cost the service nothing."""
    path = f"{hdfs_directory}/a/f"
    two_filters.make_hit(path, "alice")
    flushes = two_filters.proxy.metrics()["nncache_cache_flushes_total"]
    for place in ("notes", ".cache/notes", ".filters/-odd name", "f0/notes"):
        tampering.create(place, b"\x00\xff")
    is_never_wrong(two_filters, path, f"{hdfs_directory}/b/f")
    assert two_filters.publisher is not None
    two_filters.publisher.process.kill()
    two_filters.publisher.process.start()
    is_never_wrong(two_filters, path, f"{hdfs_directory}/b/f")
    assert two_filters.proxy.metrics()["nncache_cache_flushes_total"] == flushes


def test_a_corrupt_record_is_a_gap_for_its_filter_alone(
    two_filters: ProxiedCluster, tampering: Tampering, hdfs_directory: str
) -> None:
    """The record's link in the chain is lost with it, so a subscriber that has not read it yet sees a gap."""
    assert two_filters.service is not None
    path = f"{hdfs_directory}/a/f"
    since = int(tampering.read("f0"))
    two_filters.put(CallTarget.NAMENODE, path, b"x", "alice")
    two_filters.settle()
    tampering.write(tampering.newest("f0"), b"{}")
    with two_filters.service.subscriber("f0", "--from", str(since)) as subscriber:
        subscriber.await_that(lambda it: bool(it.gaps()), "tells of no gap")
        two_filters.do(CallTarget.NAMENODE, "DELETE", "DELETE", path, "alice")
        subscriber.await_that(lambda it: bool(it.events()), "tells of no event")
        assert subscriber.events()[-1]["type"] == "UNLINK"
    is_never_wrong(two_filters, path, f"{hdfs_directory}/b/f")
