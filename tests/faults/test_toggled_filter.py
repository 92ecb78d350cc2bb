"""An owner who changes a filter as fast as possible costs NameNode and ZooKeeper little, and delays no other owner."""

import json
import math
import time

import pytest

from nncache.invalidation.filters.definition import SUBSCRIBERS, Filter
from nncache.invalidation.publisher.pacing import CALM_S, MAX_PAUSE_S, MIN_PAUSE_S
from nncache.testbed import Cluster
from tests.cluster import webhdfs
from tests.faults.tampering import Tampering
from tests.service import InotifyService

pytestmark = pytest.mark.timeout(300)

MANY = 60
"""Number of filters of other owners."""

TOGGLES = 1500
"""Number of changes of the one filter: several seconds of calls."""

LISTINGS = 2
"""Listings per reading of a filter: its directory, and its subscribers."""

QUIET_CALLS_PER_S = 30
"""A proxy's calls to ZooKeeper: it reads coverage several times a second, whatever changes."""

OWN = Filter("toggled", "/t/toggled/*", "alice", ("ann",))


@pytest.mark.usefixtures("hdfs_directory")
def test_one_owners_changes_are_read_at_a_bounded_rate(cluster: Cluster) -> None:
    """The NameNode counts its listings, and the proxy its calls to ZooKeeper. The last change arrives."""
    service = InotifyService.of(cluster)
    tampering = Tampering(service)
    service.add_all(OWN, *(Filter(f"f{number}", f"/t/{number}/*", "carol") for number in range(MANY)))

    def has_filters(number: int) -> bool:
        return proxy.metrics()["nncache_channel_filters"] == number

    with service.publisher() as publisher, service.proxy() as proxy:
        proxy.await_gate()
        proxy.process.await_that(lambda: has_filters(MANY + 1), "has not all filters")
        generation, calls = tampering.read(".filters"), zookeeper_calls(proxy.metrics())
        listed, began_at = cluster.calls("listStatus"), time.monotonic()
        toggle(service)
        service.add("another", "/t/another/*")
        proxy.process.await_that(lambda: has_filters(MANY + 2), "has not the other owner's filter")
        listed = cluster.calls("listStatus") - listed
        calls, took_s = zookeeper_calls(proxy.metrics()) - calls, time.monotonic() - began_at
        readings = math.ceil(took_s / CALM_S) * (math.log2(MAX_PAUSE_S / MIN_PAUSE_S) + 2)
        print(f"{TOGGLES} changes: {listed} listings, {calls:.0f} calls to ZooKeeper in {took_s:.1f} s")  # noqa: T201 - figures for the report
        assert listed <= LISTINGS * (readings + took_s / MAX_PAUSE_S) + 4 * LISTINGS, (
            "of `another`, when added"
        )
        assert calls <= QUIET_CALLS_PER_S * took_s + 2 * (MANY + 2)
        assert int(tampering.read(".filters")) == int(generation) + 1, "that of `another`"
        while subscribers(tampering) != ["bob"]:
            time.sleep(0.2)  # at most MAX_PAUSE_S; the test's own timeout ends a hang
        assert publisher.readiness()["ready"]


def toggle(service: InotifyService) -> None:
    """Change the subscribers as their owner. The final list differs from the first."""
    place = f"{service.filters_path}/{OWN.name}/{SUBSCRIBERS}"
    for number in range(TOGGLES):
        op, method = (("MKDIRS", "PUT"), ("DELETE", "DELETE"))[number % 2]
        assert webhdfs(service.cluster, method, f"{place}/carl", op, user=OWN.owner)[0] == 200
    assert webhdfs(service.cluster, "DELETE", f"{place}/ann", "DELETE", user=OWN.owner)[0] == 200
    assert webhdfs(service.cluster, "PUT", f"{place}/bob", "MKDIRS", user=OWN.owner)[0] == 200


def subscribers(tampering: Tampering) -> list[str]:
    """Return the users in ZooKeeper who may subscribe."""
    found: list[str] = json.loads(tampering.read(f".filters/{OWN.name}"))["allowedSubscribers"]
    return found


def zookeeper_calls(metrics: dict[str, float]) -> float:
    """Return the number of calls that a proxy has made to ZooKeeper."""
    return metrics["nncache_zookeeper_calls_total"]
