"""The servers of one growth, all sizes beside each other, one of them under load at a time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from nncache.bench.growth.asked import GLOB, MOST_PATHS, PATHS, Asked, globs, making
from nncache.bench.growth.figures import Growth, sizes_of
from nncache.bench.growth.measuring import Subject, ask, fill
from nncache.bench.request_cost.figures import Name
from nncache.bench.request_cost.floor import floor
from nncache.bench.request_cost.load import Target
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.servers.nginx import nginx
from nncache.bench.servers.nncache import Channel, nncache
from nncache.bench.servers.running import Running
from nncache.testbed import Cluster

CONNECTIONS: Final = 64
"""Where it is not these that grow."""
FLAGS: Final = ("--grant-ttl-s", "36000", "--max-entry-age-s", "36000", "--poll-interval-s", "0.1")
"""Hits are measured: no right or entry is renewed meanwhile, and the idle ones leave the machine alone."""
_VALID_S: Final = 36_000


def make_paths(cluster: Cluster) -> None:
    """Make what is asked for again and again."""
    ask(cluster.namenodes[0].http, making(cluster.superuser), MOST_PATHS)


@contextmanager
def stand(growth: Growth, cluster: Cluster, most_entries: int) -> Iterator[Sequence[Subject]]:
    """Start the servers of each size, smallest first, and fill their caches."""
    namenode = cluster.namenodes[0]
    pid = namenode.process.running_pid
    counted = NameNodeAt(namenode.http, cluster.superuser, pid)

    def subject(
        size: int,
        running: Running,
        asked: Asked | None = None,
        *,
        connections: int = CONNECTIONS,
        name: Name = Name.NNCACHE,
    ) -> Subject:
        assert running.progress is not None
        target = Target(name, running.address, tuple(running.processes.values()), pid)
        return Subject(growth, size, target, running.progress, counted, asked or Asked(), connections)

    with ExitStack() as close:

        def proxy(these: Sequence[str] = (GLOB,)) -> Running:
            return close.enter_context(nncache(cluster, these, Channel.DIRECT, FLAGS))

        sizes = sizes_of(growth, most_entries if growth is Growth.ENTRIES else None)
        match growth:
            case Growth.FILTERS:
                yield [subject(size, proxy(globs(size))) for size in sizes]
            case Growth.ENTRIES:
                subjects = [subject(size, proxy()) for size in sizes]
                for each in subjects:
                    fill(each)
                yield subjects
            case Growth.CALLERS:
                # The same number of different requests at each size: only the number of callers grows.
                yield [subject(size, proxy(), Asked(MOST_PATHS, size)) for size in sizes]
            case Growth.HEADS:
                assert sizes == (PATHS, MOST_PATHS)
                yield [subject(size, proxy(), Asked(size)) for size in sizes]
            case Growth.CONNECTIONS:
                ours = proxy()
                theirs = close.enter_context(nginx(namenode.http, valid_s=_VALID_S))
                least = close.enter_context(floor(namenode.http))
                yield [
                    subject(size, running, connections=size, name=name)
                    for size in sizes
                    for name, running in ((Name.NNCACHE, ours), (Name.NGINX, theirs), (Name.FLOOR, least))
                ]
