"""Events on their way to subscribers, beside many edits; and how many edits a publisher reads.

(bench/inotify/delivery.py)
"""

import json
import subprocess
import sys
import time
from typing import Final

from nncache.bench.inotify.figures import CatchUp, Delivery, percentile
from nncache.bench.inotify.following import Following
from nncache.bench.inotify.load import DEPTH
from nncache.bench.inotify.made import TXID, await_published, created_in
from nncache.bench.servers.counters import use_of
from nncache.testbed import Cluster
from nncache.testbed.daemon import Publisher

PER_S: Final = 10.0
EDITS_PER_S: Final = 2_000.0
SUBSCRIBERS: Final = 50

_SETTLE_S: Final = 3.0
"""After the last edit; what was not delivered then never will be."""


def measured_delivery(
    cluster: Cluster, publisher: Publisher, names: list[str], seconds: float, filters: int
) -> Delivery:
    """Return how long events took to these filters' subscribers, one each."""
    assert cluster.zookeeper is not None
    namenode = cluster.namenodes[0]
    with Following(names, zookeeper=cluster.zookeeper.address, nameservice="ns1") as following:
        before, cpu_before_s = publisher.metrics(), use_of(publisher.process.running_pid)[0]
        namenode_before_s, began = use_of(namenode.process.running_pid)[0], time.monotonic()
        made = load(
            cluster,
            *("--seconds", str(seconds), "--per-s", str(PER_S), "--places", str(len(names))),
            *("--edits-per-s", str(EDITS_PER_S)),
        )
        took_s = time.monotonic() - began
        after = await_published(publisher, max(created_in(cluster).values()))
        time.sleep(_SETTLE_S)
        cpu_s = use_of(publisher.process.running_pid)[0] - cpu_before_s
        namenode_s = use_of(namenode.process.running_pid)[0] - namenode_before_s
    heard = {path: at for each in following.heard.values() for path, at in each.paths().items()}
    delays_s = sorted(max(0.0, heard[path] - at) for path, at in made.items() if path in heard)

    def grown(name: str) -> float:
        return after[name] - before[name]

    return Delivery(
        filters=filters,
        subscribers=len(names),
        events=len(made),
        lost=len(made) - len(delays_s),
        p50_s=percentile(delays_s, 0.5),
        p99_s=percentile(delays_s, 0.99),
        edits_per_s=grown(TXID) / took_s,
        writes=int(grown("nncache_publisher_writes_total")),
        matched=int(grown("nncache_publisher_events_matched_total")),
        coverage=int(grown("nncache_publisher_coverage_records_total")),
        polls_per_s=grown("nncache_channel_polls_total") / took_s,
        polling_share=grown("nncache_channel_poll_charged_seconds_total") / took_s,
        namenode_cores=namenode_s / took_s,
        publisher_cores=cpu_s / took_s,
    )


def measured_catch_up(cluster: Cluster, publisher: Publisher, edits: int, idle_cpu_s: float) -> CatchUp:
    """Return what it takes a publisher to read what was changed while none was there.

    `idle_cpu_s` is what the same start takes with nothing to read.
    """
    publisher.stop()
    calls_per_s = 1_000.0
    load(
        cluster,
        *("--seconds", str(edits / DEPTH / calls_per_s), "--edits-per-s", str(calls_per_s * DEPTH)),
        *("--directory", "/backlog"),
    )
    publisher.process.launch()
    publisher.process.await_up()
    seen = await_published(publisher, max(created_in(cluster).values()))
    pid = publisher.process.running_pid
    return CatchUp(
        edits=edits,
        cpu_s=max(1e-9, use_of(pid)[0] - idle_cpu_s),
        polls=int(seen["nncache_channel_polls_total"]),
    )


def load(cluster: Cluster, *arguments: str) -> dict[str, float]:
    """Make edits in a process of their own; return what was made, with the time of its acknowledgement."""
    command = (
        sys.executable,
        "-m",
        "nncache.bench.inotify.load",
        cluster.namenodes[0].http,
        cluster.superuser,
    )
    done = subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))
