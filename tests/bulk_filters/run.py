"""Apply a file of many filters as an operator would, and watch a proxy's gate during it."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import encode_filters
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import webhdfs
from tests.patience import HANG_S
from tests.processes import output
from tests.real.beside import beside
from tests.real.stand import Channel, proxied
from tests.service import InotifyService

MOST_S = 20.0
"""The limit on the time to apply 5,000 filters, in seconds."""

LOOK_S = 0.05
"""The interval between two checks of the gate and two reads, in seconds."""

HANGS_AFTER = 10
"""Filters that are not in force after this multiple of HANG_S are a failure."""


@dataclass
class Figures:
    """The results of a run."""

    filters: int
    apply_s: float = 0.0  # the duration of the command
    in_force_s: float = 0.0  # from the command's start until the proxy has all filters
    again_s: float = 0.0  # the duration of a second, identical command
    looks: int = 0
    closed: int = 0  # of these checks, those that found a closed gate
    closings: int = 0  # transitions from open to closed
    oldest_s: float = 0.0  # the largest age of the gate
    reads: int = 0  # reads of a cached path
    misses: int = 0  # of these, those that were forwarded
    sets: float = 0.0  # changes of the set of filters by the publisher
    printed: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the figures as lines of text."""
        yield from self.printed
        yield f"{self.filters} filters applied in {self.apply_s:.1f} s, in force in {self.in_force_s:.1f} s"
        yield f"applied once more, with nothing to do, in {self.again_s:.1f} s"
        yield f"the publisher changed the set of filters {self.sets:.0f} times"
        yield (
            f"the gate: {self.closings} closings, closed at {self.closed} of {self.looks} looks, "
            f"at most {self.oldest_s:.2f} s old"
        )
        yield f"reads of a cached path: {self.reads}, of which {self.misses} were forwarded"

    def shortfalls(self) -> list[str]:
        """Return each requirement that was not met."""
        found = []
        if self.closings or self.closed:
            found.append(f"the gate closed {self.closings} times")
        if not self.looks:
            found.append("nobody looked at the gate")
        if self.apply_s > MOST_S:
            found.append(f"the filters were applied in {self.apply_s:.1f} s, not in {MOST_S:g} s")
        return found


def run_bulk(cluster: Cluster, directory: str, scratch: Path, count: int, *, share: float = 0.05) -> Figures:
    """Apply `count` filters to a cluster with a publisher and a proxy.

    `directory` is an existing directory of HDFS, `share` the publisher's poll_budget_share.
    """
    figures = Figures(count)
    file = scratch / "filters.toml"
    file.write_text(encode_filters(many(count)))
    webhdfs(cluster, "PUT", f"{directory}/seen", "MKDIRS")
    polling = {"poll_budget_share": share}
    with proxied(cluster, f"{directory}/*", channel=Channel.ZOOKEEPER, polling=polling) as simulation:
        proxy, publisher, service = simulation.proxy, simulation.publisher, simulation.service
        assert publisher is not None
        assert service is not None
        has(proxy, 1)
        before = publisher.metrics()["nncache_publisher_filter_changes_total"]
        with beside(lambda ending: watch(proxy, f"{directory}/seen", cluster.superuser, figures, ending)):
            began = time.monotonic()
            figures.printed.append(command(service, "apply", str(file)))
            figures.apply_s = time.monotonic() - began
            has(proxy, count + 1)
            figures.in_force_s = time.monotonic() - began
            began = time.monotonic()
            figures.printed.append(command(service, "apply", str(file)))
            figures.again_s = time.monotonic() - began
        figures.sets = publisher.metrics()["nncache_publisher_filter_changes_total"] - before
        assert publisher.readiness()["ready"]
    return figures


def many(count: int) -> Iterator[Filter]:
    """Yield filters of many teams, each with up to two subscribers."""
    for number in range(count):
        users = tuple(f"user{number % 97 + other}" for other in range(number % 3))
        yield Filter(f"team{number:05}", f"/team/{number}/*/*/_SUCCESS", f"user{number % 89}", users)


def command(service: InotifyService, *arguments: str) -> str:
    """Run `nncache filters` and return its output; it must succeed."""
    place = ("--filters-path", service.filters_path, "--user", service.cluster.superuser)
    namenodes = ",".join(namenode.http for namenode in service.cluster.namenodes)
    return output("filters", *arguments, *place, "--namenode-http", namenodes).strip()


def has(proxy: ProxyDaemon, count: int) -> None:
    """Wait until `count` filters are in force in the proxy."""
    began = time.monotonic()
    while (found := proxy.metrics()["nncache_channel_filters"]) != count:
        assert time.monotonic() - began < HANGS_AFTER * HANG_S, (
            f"the proxy has {found:.0f} filters, not {count}"
        )
        proxy.process.wait(LOOK_S)


def watch(proxy: ProxyDaemon, path: str, user: str, figures: Figures, ending: threading.Event) -> None:
    """Check the gate and read a path until `ending` is set."""
    was_open = True
    target = f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}"
    with Asker(proxy.address) as asker:
        asker.ask("GET", target)
        asker.ask("GET", target)
        while not ending.wait(LOOK_S):
            is_open = proxy.readiness().get("is_gate_open") is True
            figures.looks += 1
            figures.closed += not is_open
            figures.closings += was_open and not is_open
            was_open = is_open
            age_s = proxy.metrics()["nncache_cache_gate_age_seconds"]
            figures.oldest_s = max(figures.oldest_s, age_s)
            figures.reads += 1
            figures.misses += not asker.ask("GET", target).is_hit
