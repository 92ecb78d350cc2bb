"""A tenant that floods its filter, beside one that does not."""

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from nncache.bench.inotify.figures import Overload, percentile
from nncache.bench.inotify.following import Following, Heard
from nncache.bench.inotify.made import await_published, created_in
from nncache.bench.servers.counters import use_of
from nncache.testbed import Cluster
from nncache.testbed.daemon import Publisher
from nncache.testbed.errors import TestbedError

LOUD: Final = "loud"
QUIET: Final = "quiet"
WRITES_PER_S: Final = 20.0
"""The publisher's limit of ZooKeeper transactions, and here also that of each filter's events."""

TIMES: Final = 20
"""So many times that limit the flood has."""

QUIET_PER_S: Final = 2.0
BEFORE_S: Final = 15.0
AFTER_S: Final = 15.0
SOON_S: Final = 1.0
"""So late an event may be when all is normal."""

_LOOK_S: Final = 0.2
SETTLE_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Accounting:
    """What a subscriber misses of what was made in order."""

    delivered: int
    covered: int  # made, not delivered, and within a gap that was named
    silent: int  # made, and neither delivered nor within one
    wrong: int  # delivered twice, or out of order


def measured_overload(cluster: Cluster, publisher: Publisher, seconds: float) -> Overload:
    """Flood the filter LOUD for so long, and return what its subscriber and that of QUIET received."""
    assert cluster.zookeeper is not None
    pid, most, waiting = publisher.process.running_pid, 0, 0.0
    with Following((LOUD, QUIET), zookeeper=cluster.zookeeper.address, nameservice="ns1") as following:
        in_all = BEFORE_S + seconds + AFTER_S
        quiet = _Making(cluster, QUIET, in_all, QUIET_PER_S)
        time.sleep(BEFORE_S)
        resident, before = use_of(pid)[1], publisher.metrics()
        began = time.monotonic()
        loud = _Making(cluster, LOUD, seconds, WRITES_PER_S * TIMES)
        while loud.is_running:
            most = max(most, use_of(pid)[1])
            waiting = max(waiting, publisher.metrics()["nncache_publisher_events_waiting"])
            time.sleep(_LOOK_S)
        ended = time.monotonic()
        after_flood = _Making(cluster, f"{LOUD}/after", AFTER_S, QUIET_PER_S)
        made_loud, made_after, made_quiet = loud.made(), after_flood.made(), quiet.made()
        txids = created_in(cluster)
        after = await_published(publisher, max(txids.values()))
        time.sleep(SETTLE_S)
    accounts = accounting(following.heard[LOUD], {path: txids[path] for path in made_loud})
    back = following.heard[LOUD].paths()
    late = [at for path, at in made_after.items() if back.get(path, math.inf) - at > SOON_S]
    next_ones = [at - ended for at in made_after.values() if late and at > max(late)]
    normal_s = min(next_ones, default=math.inf) if late else 0.0
    during = [at for at in made_quiet.values() if began <= at <= ended]
    delays = following.heard[QUIET].paths()

    def quiet_p99(*, is_during: bool) -> float:
        return percentile(
            sorted(
                max(0.0, delays.get(path, math.inf) - at)
                for path, at in made_quiet.items()
                if (began <= at <= ended) is is_during
            ),
            0.99,
        )

    return Overload(
        seconds=ended - began,
        per_s=len(made_loud) / (ended - began),
        limit_per_s=WRITES_PER_S,
        made=len(made_loud),
        delivered=accounts.delivered,
        covered=accounts.covered,
        silent=accounts.silent,
        wrong=accounts.wrong,
        over_limit=int(
            after["nncache_publisher_events_over_limit_total"]
            - before["nncache_publisher_events_over_limit_total"]
        ),
        grown_mib=(most - resident) / 2**20,
        most_waiting=int(waiting),
        normal_after_s=normal_s,
        quiet_events=len(during),
        quiet_p99_s=quiet_p99(is_during=True),
        quiet_p99_before_s=quiet_p99(is_during=False),
        quiet_gaps=sum(not each.path for each in following.heard[QUIET].received),
    )


def accounting(heard: Heard, made: Mapping[str, int]) -> Accounting:
    """Hold what a subscriber received against what was made, given with its transactions."""
    delivered = [each for each in heard.received if each.path in made]
    gaps = [each for each in heard.received if not each.path]
    missing = made.keys() - {each.path for each in delivered}
    covered = sum(any(gap.first_txid <= made[path] <= gap.last_txid for gap in gaps) for path in missing)
    order = [each.last_txid for each in heard.received]
    return Accounting(
        delivered=len(made) - len(missing),
        covered=covered,
        silent=len(missing) - covered,
        wrong=sum(later <= earlier for earlier, later in pairwise(order)),
    )


class _Making:
    """Makes edits beside us. What was made is in a file: a pipe would be full before it ends."""

    def __init__(self, cluster: Cluster, directory: str, seconds: float, per_s: float) -> None:
        self._written = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it was read
        self._process = subprocess.Popen(
            (
                *(sys.executable, "-m", "nncache.bench.inotify.load"),
                *(cluster.namenodes[0].http, cluster.superuser, "--seconds", str(seconds)),
                *("--per-s", str(per_s), "--directory", f"/{directory}"),
            ),
            stdout=self._written,
        )

    @property
    def is_running(self) -> bool:
        """Whether it makes more."""
        return self._process.poll() is None

    def made(self) -> dict[str, float]:
        """Return what was made in all, with the time of its acknowledgement."""
        if self._process.wait():
            raise TestbedError(f"bench.inotify.load ended with {self._process.returncode}")
        with self._written as written:
            written.seek(0)
            return dict(json.load(written))
