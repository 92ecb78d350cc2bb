"""NameNodes and DataNodes on ZooKeeper servers in this process, connected over HTTP, with a clock to advance."""

import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from nncache.coordination.linearizable import LinearizableZnodes
from nncache.namenode.datanode.datanode import Upload
from nncache.namenode.namespace import layout, reads
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import Block, Inode
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.view import BlockReplicas
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.fsck import fsck
from nncache.namenode.node.replicating import ACKS_S
from nncache.namenode.on_zookeeper import (
    NameNodeSpec,
    RunningDataNode,
    RunningNameNode,
    datanode_on,
    namenode_on,
)
from tests.namenode.ensemble import DeadError, Ensemble, Member
from tests.namenode.fixture import HOST, ROOT_USER
from tests.patience import HANG_S

BLOCK = 64 * 1024
DATA = bytes(range(256)) * 600  # two blocks and a part of a third
DEAD_S = 630.0
SOON_S = ACKS_S + 1  # acknowledgements are awaited for less than this
SILENT_S = 2.0
QUEUES = (layout.WAIT_FOR_ACKS, layout.RECOVER, layout.TREES, layout.CLAIMS)
QUEUES_OF_DATANODES = (layout.REPLICATE, layout.DELETE, layout.BLOCK_REPORTS)


@dataclass
class Process:
    """A running NameNode or DataNode."""

    member: Member
    stack: AsyncExitStack


@dataclass
class NameNodeProcess(Process):
    """A NameNode."""

    running: RunningNameNode


@dataclass
class DataNodeProcess(Process):
    """A DataNode."""

    running: RunningDataNode
    directory: Path

    @property
    def name(self) -> str:
        """The DataNode's id."""
        return self.running.datanode.name

    def file(self, block: Block) -> Path:
        """Return the path of its finalized replica of a block."""
        return self.directory / "blocks" / "finalized" / f"{block.id}_{block.stamp}"


class Several:
    """A cluster; `namenodes` and `datanodes` are the running processes."""

    def __init__(self, directory: Path, seed: int = 1, losses: float = 0.0) -> None:
        self.clock = Clock()
        self.ensemble = Ensemble(random.Random(seed))
        self.namenodes: list[NameNodeProcess] = []
        self.datanodes: list[DataNodeProcess] = []
        self._directory = directory
        self._losses = losses
        self._started = 0

    # ---- processes -----------------------------------------------------------------------------------------------

    async def _znodes(self, name: str) -> tuple[Member, LinearizableZnodes]:
        member = Member(self.ensemble, losses=self._losses)
        znodes = LinearizableZnodes(member, "/nn", name, HANG_S)
        await znodes.begin()
        return member, znodes

    async def start_namenode(self) -> NameNodeProcess:
        """Start another NameNode."""
        self._started += 1
        name = f"nn-{self._started}"
        member, znodes = await self._znodes(name)
        spec = NameNodeSpec(superuser=ROOT_USER, dead_after_s=DEAD_S)
        stack = AsyncExitStack()
        running = await stack.enter_async_context(namenode_on(znodes, name, spec, self.clock))
        self.namenodes.append(NameNodeProcess(member, stack, running))
        await running.tick()
        return self.namenodes[-1]

    async def start_datanode(self, directory: str = "") -> DataNodeProcess:
        """Start a DataNode; with `directory`, restart one on its data."""
        self._started += 1
        place = self._directory / (directory or f"dn{self._started}")
        member, znodes = await self._znodes(f"dn-{self._started}")
        stack = AsyncExitStack()
        running = await stack.enter_async_context(
            datanode_on(znodes, f"dn-{self._started}", place, self.clock)
        )
        assert running.datanode.peers is not None
        running.datanode.peers.silent_s = SILENT_S
        self.datanodes.append(DataNodeProcess(member, stack, running, place))
        await running.tick()
        await self.look()
        return self.datanodes[-1]

    async def look(self) -> None:
        """Run the periodic work, so that all processes discover each other."""
        for each in self.datanodes:
            await each.running.tick()
        for process in self.namenodes:
            await process.running.tick()
        for each in self.datanodes:
            await each.running.tick()

    async def kill(self, process: NameNodeProcess | DataNodeProcess) -> None:
        """Kill a process, and end its session."""
        process.member.is_dead = True
        if isinstance(process, DataNodeProcess):
            self.datanodes.remove(process)
            for replica in tuple(process.running.datanode._writing.values()):  # noqa: SLF001 - as the end of the process closes them
                replica.stop()
        else:
            self.namenodes.remove(process)
        with contextlib.suppress(DeadError):
            await process.stack.aclose()
        await self.ensemble.end(process.member.session_id)

    async def end(self) -> None:
        """Kill all processes."""
        while self.namenodes or self.datanodes:
            await self.kill(self.namenodes[0] if self.namenodes else self.datanodes[0])

    # ---- time ----------------------------------------------------------------------------------------------------

    async def tick(self) -> None:
        """Run each process's periodic work once."""
        for process in self.namenodes:
            await process.running.tick()
        for each in self.datanodes:
            await each.running.tick()
            await each.running.copy()

    async def settle(self, ticks: int = 12) -> None:
        """Complete all outstanding work; no absent DataNode is declared dead meanwhile."""
        for _ in range(ticks):
            self.clock.advance(SOON_S)
            await self.tick()

    async def die(self) -> None:
        """Advance the clock until the absent DataNodes are declared dead."""
        await self.tick()
        self.clock.advance(DEAD_S + 1)
        await self.tick()

    # ---- files ---------------------------------------------------------------------------------------------------

    async def begin(self, path: str, *, replication: int = 3, via: int = 0, block: int = BLOCK) -> Upload:
        """Begin an upload through a DataNode."""
        datanode = self.datanodes[via].running.datanode
        file = NewFile(modes=Modes(0o644), replication=replication, block_size=block, overwrite=True)
        root = self.namenodes[0].running.namenode.caller(ROOT_USER)
        return await datanode.create(root, path, file, HOST)

    async def write(
        self, path: str, data: bytes = DATA, *, replication: int = 3, via: int = 0, block: int = BLOCK
    ) -> None:
        """Write a file."""
        upload = await self.begin(path, replication=replication, via=via, block=block)
        await upload.write(data)
        await upload.close()

    async def file(self, path: str) -> Inode:
        """Return a file's inode."""
        namenode = self.namenodes[0].running.namenode
        return await namenode.blocks_of(namenode.caller(ROOT_USER), path)

    async def exists(self, path: str) -> bool:
        """Return whether a path exists."""
        namenode = self.namenodes[0].running.namenode
        return await namenode.read(path, reads.found, namenode.caller(ROOT_USER)) is not None

    async def replicas(self, path: str) -> list[BlockReplicas]:
        """Return the replicas of each block of a file."""
        found = [await self._fs.resolver.replicas(block.id) for block in (await self.file(path)).blocks]
        return [replicas for replicas in found if replicas is not None]

    async def held(self, path: str) -> list[set[str]]:
        """Return the DataNodes with a good replica of each block, by the store; check that the disks agree."""
        file = await self.file(path)
        known = [
            set(each.good(block)) for each, block in zip(await self.replicas(path), file.blocks, strict=True)
        ]
        for block, names in zip(file.blocks, known, strict=True):
            for datanode in self.datanodes:
                is_here = datanode.file(block).exists()
                assert is_here or datanode.name not in names, f"{block} is not at {datanode.name}"
        return known

    async def opened(self, path: str) -> bytes:
        """Read a file as a client does, from the DataNode of the redirect."""
        async with aiohttp.ClientSession(raise_for_status=True) as session:
            url = f"http://{self.namenodes[0].running.http}/webhdfs/v1{path}?op=OPEN&user.name={ROOT_USER}"
            async with session.get(url) as reply:
                return await reply.read()

    # ---- invariants ----------------------------------------------------------------------------------------------

    @property
    def _fs(self) -> FileSystem:
        return self.namenodes[0].running.namenode._fs  # noqa: SLF001 - to read the store

    async def queued(self) -> list[str]:
        """Return the items of all queues."""
        znodes = self.namenodes[0].running.znodes
        found = [f"{queue}/{name}" for queue in QUEUES for name in await znodes.children(queue)]
        for queue in QUEUES_OF_DATANODES:
            for name in await znodes.children(queue):
                found += [f"{queue}/{name}/{item}" for item in await znodes.children(f"{queue}/{name}")]
        return found

    async def wrong(self) -> list[str]:
        """Return each inconsistency in the store and on the disks; every item left in a queue is one."""
        found = [
            f"{each.kind.name} {each.about}"
            for each in (await fsck(self.namenodes[0].running.znodes, repair=False)).findings
        ]
        found += await self.queued()
        for datanode in self.datanodes:
            for block in datanode.running.datanode.replicas.blocks():
                replicas = await self._fs.resolver.replicas(block)
                if replicas is None or datanode.name not in replicas.held:
                    found.append(f"{block} on the disk of {datanode.name}")
        return found


@asynccontextmanager
async def several(
    directory: Path, *, namenodes: int = 1, datanodes: int = 3, seed: int = 1, losses: float = 0.0
) -> AsyncIterator[Several]:
    """Yield a running cluster; the DataNodes' directories are dn1, dn2, ..."""
    cluster = Several(directory, seed, losses)
    try:
        for _ in range(namenodes):
            await cluster.start_namenode()
        for number in range(datanodes):
            await cluster.start_datanode(f"dn{number + 1}")
        yield cluster
    finally:
        await cluster.end()


def names(datanodes: Sequence[DataNodeProcess]) -> set[str]:
    """Return the DataNodes' ids."""
    return {each.name for each in datanodes}
