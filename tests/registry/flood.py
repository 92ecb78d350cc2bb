"""`python -m tests.registry.flood`: what one client's flood of polls or updates costs others.

On a cluster of its own, over the loopback; the flood is bounded, and has a process of its own.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click
from rich.console import Console

from nncache.proxy.registry_endpoint import BURST, MANY, PER_S
from nncache.registry.pacing import BURST_S
from nncache.registry.settings import UpdateSettings
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import Proxy
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.registry.flooding import FLOODS, UPDATERS, Flood, Others, Where, fill, flooding, others_work, p99
from tests.registry.samples import place_of_its_own

MOST_RATIO: Final = 3.0
NEVER_MIND_S: Final = 0.05
"""A p99 below it harms nobody, whatever it was before."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What came of one flood.

    Attributes:
        kind: of FLOODS.
        before: what others noticed without it, in each round.
        during: and with it.
        floods: what became of it.
    """

    kind: str
    before: tuple[Others, ...]
    during: tuple[Others, ...]
    floods: tuple[Flood, ...]

    def most_done(self, flood: Flood) -> float:
        """Return how much of it may be carried out: its burst, its rate, and what was under way."""
        if self.kind == "polls":
            return (BURST + PER_S * flood.seconds) / MANY + 1
        return UpdateSettings().registry_updates_per_s * (BURST_S + flood.seconds) + UPDATERS

    def lines(self) -> Iterator[str]:
        """Yield what is printed."""
        for flood in self.floods:
            yield (
                f"flood of {self.kind}: {flood.done} done of at most {self.most_done(flood):.0f}, "
                f"{flood.refused} refused, in {flood.seconds:.1f} s"
            )
        for what in self.before[0].times:
            before, during = p99(self.before, what), p99(self.during, what)
            yield f"  {what:18} p99 {before * 1000:7.1f} ms without, {during * 1000:7.1f} ms with it"

    def shortfalls(self) -> Iterator[str]:
        """Yield what is not as it must be."""
        for flood in self.floods:
            if flood.done > self.most_done(flood):
                yield f"{self.kind}: {flood.done} done, which is more than {self.most_done(flood):.0f}"
        for others in (*self.before, *self.during):
            yield from (f"{self.kind}: {failure}" for failure in others.failures)
        for what in self.before[0].times:
            before, during = p99(self.before, what), p99(self.during, what)
            if during > max(MOST_RATIO * before, NEVER_MIND_S):
                yield f"{self.kind}: {what} has a p99 of {during * 1000:.0f} ms, {before * 1000:.0f} ms without"


def proxy(cluster: Cluster, place: dict[str, str]) -> Proxy:
    """Return a proxy that serves the registry."""
    namenode = cluster.namenodes[0]
    return Proxy(
        *("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc, "--user", cluster.superuser),
        *("--glob", "/", "--channel", "direct", "--registry"),
        *("--zookeeper", place["zookeeper"], "--registry-root", place["registry_root"]),
    )


def run(cluster: Cluster, *, records: int, rounds: int, seconds: float) -> tuple[Reported, ...]:
    """Flood a registry of so many records in each way; without and with it take turns, for so long each."""
    found = []
    with place_of_its_own(cluster) as place, proxy(cluster, place) as serving:
        where = Where(place, serving.address)
        asyncio.run(fill(where, records))
        asyncio.run(others_work(where, 1.0))  # connections, caches
        for kind in FLOODS:
            before, during, floods = [], [], []
            for _ in range(rounds):
                before.append(asyncio.run(others_work(where, seconds)))
                with flooding(kind, where, seconds + 1.0) as end:
                    during.append(asyncio.run(others_work(where, seconds)))
                    floods.append(end())
            found.append(Reported(kind, tuple(before), tuple(during), tuple(floods)))
    return tuple(found)


@click.command()
@click.option("--records", default=1_000, show_default=True, help="Records in the registry.")
@click.option("--rounds", default=5, show_default=True, help="How often without and with a flood take turns.")
@click.option("--seconds", default=5.0, show_default=True, help="How long is measured, each time.")
def main(records: int, rounds: int, seconds: float) -> None:
    """Print what other clients notice; exit code 1 if a flood is not throttled, or harms them."""
    spec = ClusterSpec(hadoop_version=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION, with_zookeeper=True)
    with Cluster.start(spec, progress=Console(stderr=True).print) as cluster:
        found = run(cluster, records=records, rounds=rounds, seconds=seconds)
    for reported in found:
        click.echo("\n".join(reported.lines()))
    shortfalls = [what for reported in found for what in reported.shortfalls()]
    for what in shortfalls[:20]:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
