"""The cost of a job commit with many part files to ZooKeeper, and to other users' hits."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.real.beside import on_hdfs
from tests.real.proxied_cluster import ProxiedCluster

MAX_WRITES = 100
"""The limit on ZooKeeper transactions, in all."""

MARKED = ("CREATE", "CLOSE")
"""The events of one `_SUCCESS`."""

_OTHERS = 50  # paths outside the job


class Job:
    """Writes parts below `_temporary`, then moves each to its place and marks the end, as FileOutputCommitter does."""

    def __init__(self, cluster: Cluster, output: str, parts: int, user: str = "alice") -> None:
        self.output = output
        self._cluster = cluster
        self._user = user
        self._names = [f"part-{number:05}" for number in range(parts)]

    def write(self, progress: Callable[[], None] = lambda: None) -> None:
        """Create the part files, which are empty."""

        async def one(hdfs: WebHdfs, name: str) -> None:
            await hdfs.create(f"{self.output}/_temporary/0/{name}")
            progress()

        self._on_each(one)

    def commit(self, progress: Callable[[], None] = lambda: None) -> None:
        """Move all parts into place, delete `_temporary`, and write `_SUCCESS`."""

        async def one(hdfs: WebHdfs, name: str) -> None:
            moved = await hdfs.rename(f"{self.output}/_temporary/0/{name}", f"{self.output}/{name}")
            assert moved, name
            progress()

        async def end(hdfs: WebHdfs) -> None:
            await hdfs.delete(f"{self.output}/_temporary", recursive=True)
            await hdfs.create(f"{self.output}/_SUCCESS")

        self._on_each(one)
        on_hdfs(self._cluster, end, self._user)

    def _on_each(self, act: Callable[[WebHdfs, str], Awaitable[None]]) -> None:
        on_hdfs(self._cluster, lambda hdfs: each_bounded(self._names, partial(act, hdfs)), self._user)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFigures:
    """The costs of one commit."""

    parts: int
    seconds: float  # of the commit itself
    writes: int  # ZooKeeper transactions, from before the commit until all was published
    others: int  # hits outside the job before the commit
    kept: int  # of these, the hits after it, without a NameNode call
    success_events: tuple[str, ...]  # the types of a subscriber's events for `_SUCCESS`
    seen_after_s: (
        float  # from the acknowledgement of `_SUCCESS` to the first read through the proxy that shows it
    )

    def lines(self) -> list[str]:
        """Return the figures as lines of text."""
        return [
            f"committed             {self.parts} part files in {self.seconds:.1f} s",
            f"ZooKeeper writes      {self.writes}",
            f"hits kept elsewhere   {self.kept} of {self.others}",
            f"told of _SUCCESS      {', '.join(self.success_events)}",
            f"_SUCCESS seen after   {1000 * self.seen_after_s:.1f} ms",
        ]

    def shortfalls(self) -> list[str]:
        """Return each requirement that the commit did not meet."""
        short = []
        if self.writes > MAX_WRITES:
            short.append(f"{self.writes} writes of ZooKeeper, not {MAX_WRITES} at most")
        if self.kept < self.others:
            short.append(f"only {self.kept} of {self.others} hits outside the job were kept")
        if self.success_events != MARKED:
            short.append(
                f"the subscriber was told {self.success_events} of _SUCCESS, not its CREATE and CLOSE"
            )
        return short


def globs_of(directory: str, *, among: bool = False) -> tuple[str, ...]:
    """Return the filters: f0 for the jobs' marks, f1 for paths elsewhere; with `among`, two that match the parts."""
    parts = (f"{directory}/jobs/*", f"{directory}/jobs/*/*") if among else ()
    return (f"{directory}/jobs/*/_SUCCESS", f"{directory}/elsewhere/*", *parts)


def run_job(
    proxied_cluster: ProxiedCluster,
    zookeeper: ZooKeeperServer,
    directory: str,
    parts: int,
    progress: Callable[[], None] = lambda: None,
) -> CommitFigures:
    """Run one job below `directory`, filtered by `globs_of(directory)`; call `progress` twice for each part."""
    assert proxied_cluster.service is not None
    job = Job(proxied_cluster.cluster, f"{directory}/jobs/one", parts)
    proxied_cluster.mkdirs(f"{directory}/elsewhere", "alice")
    proxied_cluster.mkdirs(job.output, "alice")
    job.write(progress)
    proxied_cluster.settle()
    mark = f"{job.output}/_SUCCESS"
    others = [f"{directory}/elsewhere/{number}" for number in range(_OTHERS)]
    for path in (mark, *others):
        proxied_cluster.make_hit(path, "alice")
    with proxied_cluster.service.subscriber("f0") as subscriber:
        proxied_cluster.settle()
        writes = zookeeper.writes()
        began = time.monotonic()
        job.commit(progress)
        ended = time.monotonic()
        seen = proxied_cluster.await_agreement(mark, "alice", since=ended)
        proxied_cluster.settle()
        subscriber.await_that(lambda it: len(it.events()) >= len(MARKED), "is not told of _SUCCESS")
        writes = zookeeper.writes() - writes
        reported = tuple(event["type"] for event in subscriber.events())
        assert all(event["path"] == mark for event in subscriber.events()), "the filter matches nothing else"
    kept = sum(proxied_cluster.ask(path, "alice").is_hit for path in others)
    return CommitFigures(
        parts=parts,
        seconds=ended - began,
        writes=writes,
        others=len(others),
        kept=kept,
        success_events=reported,
        seen_after_s=seen.seconds,
    )
