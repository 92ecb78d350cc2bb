"""A consumer on the direct channel of a real cluster, with a judge."""

import asyncio
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nncache.clock import boottime
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.edits.direct import DirectInotifyEventInputStream
from nncache.testbed import Cluster
from tests.invalidation.judge import Judge
from tests.patience import until_so
from tests.setup import channel_setup


class Follower:
    """Follows the edits of a cluster, judges what the consumer applies, and makes changes."""

    def __init__(
        self, cluster: Cluster, *, rpc: tuple[str, ...] | None = None, user: str | None = None
    ) -> None:
        """Follow all NameNodes of the cluster, over `rpc` instead of their own RPC addresses if given."""
        http = tuple(namenode.http for namenode in cluster.namenodes)
        rpc = tuple(namenode.rpc for namenode in cluster.namenodes) if rpc is None else rpc
        namenodes = NameNodeSettings(
            namenode_http=http, namenode_rpc=rpc, user=user or cluster.superuser, rpc_timeout_s=2.0
        )
        self.pool = NameNodePool(namenodes, boottime)
        self.judge = Judge(boottime)
        self.stream = DirectInotifyEventInputStream(channel_setup(self.pool, boottime))
        self.consumer = Consumer(self.judge, self.stream, boottime)
        self._superuser = cluster.superuser

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Follower"]:
        """Follow while the block runs. At its end the judge must have found nothing wrong."""
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(self.pool.run()), tasks.create_task(self.consumer.run())]
                try:
                    yield self
                finally:
                    for task in running:
                        task.cancel()
        finally:
            await self.pool.close()
        assert not self.judge.wrongs

    async def covered(self) -> float:
        """Wait until everything up to now is covered, and return the seconds that this took."""
        now = boottime()
        await until_so(lambda: self.judge.open_since is not None and self.judge.fresh_as_of >= now)
        return boottime() - now

    async def make(self, *paths: str) -> None:
        """Create these directories directly at the active NameNode."""
        active = await self.pool.wait_active(10.0)
        async with WebHdfs(f"http://{active.namenode.http}", self._superuser) as hdfs:
            for path in paths:
                await hdfs.mkdirs(path)
                self.judge.acknowledge(path)

    def latencies_s(self) -> list[float]:
        """Return the seconds from the acknowledgement of each change until it was applied, sorted."""
        applied_at = self.judge.applied_at
        return sorted(max(0.0, applied_at[path] - at) for at, path in self.judge.acknowledged)


def summary(latencies_s: list[float]) -> str:
    """Return the median, p99 and maximum as text, in milliseconds."""
    cuts = statistics.quantiles(latencies_s, n=100)
    p50, p99, largest = (1000 * value for value in (cuts[49], cuts[98], latencies_s[-1]))
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {largest:.1f} ms of {len(latencies_s)} changes"
