"""A publisher between a real NameNode and a real ZooKeeper publishes exactly the events of the edit log."""

import asyncio
import statistics
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import ZooKeeper
from nncache.hadoop.events import EventBatch, Rename
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.channel.published_filters import parse_published_filter
from nncache.invalidation.channel.records import MatchedEvents, parse_cache_record, parse_filter_record
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import OutputSetup
from nncache.invalidation.publisher.publisher import Publisher
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.zookeeper_output import ZooKeeperInotifyEventOutputStream
from nncache.invalidation.settings import PollingSettings
from nncache.testbed import Cluster
from tests.patience import HANG_S, until_so

PARTS = 500
MAX_WRITES = 100
"""Maximum of ZooKeeper writes for a job of any size."""


class Place:
    """A separate place in HDFS and in ZooKeeper, and publishers for it."""

    def __init__(self, cluster: Cluster, zookeeper: KazooSession, hdfs: WebHdfs) -> None:
        name = uuid.uuid4().hex[:12]
        self.settings = ZooKeeperSettings(
            zookeeper=(cluster.zookeeper.address,), zookeeper_root=f"/publisher-{name}"
        )
        self.znodes = ZnodePaths(self.settings.zookeeper_root, "ns1")
        self.directory = f"/publisher/{name}"
        self.zookeeper: ZooKeeper = zookeeper
        self.hdfs = hdfs
        self.store = FilterStore(hdfs, f"/filters/{name}")
        self._namenodes = NameNodeSettings(
            namenode_http=tuple(each.http for each in cluster.namenodes),
            namenode_rpc=tuple(each.rpc for each in cluster.namenodes),
            user=cluster.superuser,
            namenode_probe_interval_s=0.2,
        )
        self._left: list[Publisher] = []  # killed: their sessions stay open
        self.rpc = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser, timeout_s=5.0)

    @asynccontextmanager
    async def publisher(self, *, killed: bool = False) -> AsyncIterator[Publisher]:
        """Run a publisher. With `killed`, its presence znode stays, as after SIGKILL."""
        settings, pool = PublisherSettings(), NameNodePool(self._namenodes, time.monotonic)
        setup = OutputSetup(
            nameservice="ns1", publisher=settings, zookeeper=self.settings, clock=time.monotonic
        )
        publisher = Publisher(
            source=PolledEdits(pool, PollingSettings(), time.monotonic),
            namenodes=pool,
            filters=self.store,
            output=ZooKeeperInotifyEventOutputStream(setup),
            settings=settings,
            identity=PublisherIdentity(id="1", host="here", pid=1, admin=self.directory),
            clock=time.monotonic,
        )
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(pool.run()), tasks.create_task(publisher.run())]
            try:
                yield publisher
            finally:
                for task in running:
                    task.cancel()
        if killed:
            self._left.append(publisher)
        else:
            await publisher.shut_down()
        await pool.close()

    async def end(self) -> None:
        """Close the sessions of killed publishers, and the connection."""
        for publisher in self._left:
            await publisher.shut_down()
        await self.rpc.close()

    async def covered(self) -> int:
        """Return the txid in `.cache`; -1 without one."""
        (znode,) = await self.zookeeper.get_many([self.znodes.cache])
        return -1 if znode is None else int(znode.data)

    async def published(self) -> None:
        """Wait until all edits so far are published."""
        end = await self.rpc.get_current_edit_log_txid()
        await until_so(lambda: self._has_reached(end))

    async def _has_reached(self, txid: int) -> bool:
        return await self.covered() >= txid

    async def add(self, name: str, glob: str) -> None:
        """Add a filter; wait until it is in force."""
        await self.store.add(Filter(name, glob, "joe"))
        await until_so(lambda: self._is_in_force(name))

    async def _is_in_force(self, name: str) -> bool:
        return (await self.zookeeper.get_many([self.znodes.definition(name)])) != (None,)

    async def reported(self, name: str) -> list[EventBatch]:
        """Return the batches that subscribers can read; assert that the filter's records form one chain."""
        path = self.znodes.definition(name)
        filter_ = parse_published_filter(path, (await self.zookeeper.get(path)).data)
        stream, batches, reached = self.znodes.stream(name), list[EventBatch](), filter_.since_txid
        for txid in sorted(map(int, await self.zookeeper.children(stream))):
            record_path = self.znodes.record(stream, txid)
            record = parse_filter_record(record_path, (await self.zookeeper.get(record_path)).data)
            assert (record.link.chain, record.link.previous) == (filter_.id, reached)
            assert isinstance(record.content, MatchedEvents)
            batches += record.content.batches
            reached = record.link.txid
        assert int((await self.zookeeper.get(stream)).data) == reached
        return batches

    async def happened(self, name: str, glob: str) -> list[EventBatch]:
        """Return the batches of the edit log that match a filter."""
        path = self.znodes.definition(name)
        since = parse_published_filter(path, (await self.zookeeper.get(path)).data).since_txid
        globs, found, next_txid = GlobSet({"": glob}), list[EventBatch](), since + 1
        while (page := await self.rpc.get_edits(next_txid)).first_txid >= 0:
            for batch in page.batches:
                events = tuple(
                    event
                    for event in batch.events
                    for paths in [
                        (event.source, event.destination) if isinstance(event, Rename) else (event.path,)
                    ]
                    if any(map(globs.matches, paths))
                )
                if events:
                    found.append(EventBatch(batch.txid, events))
            next_txid = page.last_txid + 1
        return found


@asynccontextmanager
async def place(cluster: Cluster) -> AsyncIterator[Place]:
    """Set up a place."""
    settings = ZooKeeperSettings(zookeeper=(cluster.zookeeper.address,))
    async with (
        KazooSession(settings, time.monotonic) as zookeeper,
        WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs,
    ):
        await zookeeper.wait_connected(10)
        laid_out = Place(cluster, zookeeper, hdfs)
        await hdfs.mkdirs(laid_out.directory)
        try:
            yield laid_out
        finally:
            await laid_out.end()


async def test_what_is_published_is_what_the_edit_log_says(cluster: Cluster) -> None:
    """P1: through crashes, takeovers and filter changes, each event is published once, in order, in one chain."""
    async with place(cluster) as at:
        glob = f"{at.directory}/*"
        async with at.publisher(killed=True):
            await at.add("f", glob)
            for number in range(10):
                await at.hdfs.mkdirs(f"{at.directory}/a{number}")
        for number in range(10):
            await at.hdfs.mkdirs(f"{at.directory}/b{number}")
        async with at.publisher():
            await at.add("g", glob)
            for number in range(10):
                await at.hdfs.rename(f"{at.directory}/a{number}", f"{at.directory}/c{number}")
        await at.hdfs.delete(f"{at.directory}/b0")
        async with at.publisher() as publisher:
            await at.published()
            for name in ("f", "g"):
                assert await at.reported(name) == await at.happened(name, glob)
            assert len(await at.reported("f")) == 31
            chains = set()
            for txid in await at.zookeeper.children(at.znodes.cache):
                path = f"{at.znodes.cache}/{txid}"
                chains.add(parse_cache_record(path, (await at.zookeeper.get(path)).data).link.chain)
            assert len(chains) == 1
            await at.store.remove("g")
            await until_so(lambda: is_gone(at, "g"))
            assert publisher.situation() == ""
        assert await at.zookeeper.get_many([at.znodes.publisher]) == (None,)


async def is_gone(at: Place, name: str) -> bool:
    """Return whether nothing is left of a filter in ZooKeeper."""
    paths = [at.znodes.definition(name), at.znodes.stream(name)]
    return await at.zookeeper.get_many(paths) == (None, None)


async def test_a_change_is_published_in_milliseconds(cluster: Cluster) -> None:
    """The time is measured after an idle period, from before the call to the watch notification."""
    async with place(cluster) as at, at.publisher() as publisher:
        await at.add("f", f"{at.directory}/*")
        took: list[float] = []
        for number in range(20):
            await asyncio.sleep(0.1)
            await at.published()
            watch, writes = at.zookeeper.watch(at.znodes.stream("f")), publisher.stats().output.writes
            await watch.read()
            began = time.monotonic()
            await at.hdfs.mkdirs(f"{at.directory}/{number}")
            assert await watch.changed(HANG_S)
            took.append(time.monotonic() - began)
            await at.published()
            assert publisher.stats().output.writes - writes <= 2, "the change, and what WebHDFS does not tell"
        print(f"median {1000 * statistics.median(took):.0f} ms")  # noqa: T201 - shown on failure


async def test_a_job_costs_few_writes(cluster: Cluster) -> None:
    """This holds even if filters match the parts and their directory. Every event is published."""
    async with place(cluster) as at, at.publisher() as publisher:
        out = f"{at.directory}/out"
        globs = {"mark": f"{out}/_SUCCESS", "parts": f"{out}/*", "directory": out}
        await at.hdfs.mkdirs(f"{out}/_temporary")
        for name, glob in globs.items():
            await at.add(name, glob)
        await at.published()
        writes = publisher.stats().output.writes
        waiting = iter(range(PARTS))

        async def commit() -> None:
            for number in waiting:
                part = f"{out}/_temporary/part-{number:05}"
                await at.hdfs.mkdirs(part)  # equivalent to a file, and faster to make
                await at.hdfs.rename(part, f"{out}/part-{number:05}")

        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(commit())
        await at.hdfs.mkdirs(f"{out}/_SUCCESS")
        await at.published()
        cost = publisher.stats().output.writes - writes
        assert cost <= MAX_WRITES
        for name, glob in globs.items():
            assert await at.reported(name) == await at.happened(name, glob)
        assert len(await at.reported("mark")) == 1
        assert len(await at.reported("parts")) == PARTS + 1
