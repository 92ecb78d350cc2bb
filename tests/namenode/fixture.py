"""A NameNode on embedded znodes and a DataNode, with a clock that the test advances."""

from collections.abc import Awaitable
from pathlib import Path

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import Znodes
from nncache.hadoop.events import Event
from nncache.namenode.datanode.datanode import DataNode, Upload
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import ROOT_ID, Block, Inode
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.feed import EditsLimits
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.namenode import NameNodeConfig, NameNodeService
from tests.namenode.replaying import UNKNOWN, Paths, disagreements, replayed

ROOT_USER = "hdfs"
HOST = "127.0.0.1"
BLOCK = 1_048_576
A, B = "holder-A", "holder-B"


class Fixture:
    """A cluster without HTTP. It keeps all edits, in many small segments."""

    def __init__(self, znodes: Znodes, directory: Path) -> None:
        self.znodes = znodes
        self.clock = Clock()
        self.file_system = FileSystem(znodes, self.clock.wall_ms)
        edits = EditsLimits(segment=7, kept=1_000_000)
        settings = NameNodeConfig(superuser=ROOT_USER, groups={"alice": ("users",)}, edits=edits)
        self.namenode = NameNodeService(self.file_system, settings, self.clock)
        self.datanode = DataNode("dn1", self.namenode, directory)
        self.root = self.namenode.caller(ROOT_USER)

    @classmethod
    async def make(cls, directory: Path, znodes: Znodes | None = None) -> "Fixture":
        """Return a cluster, formatted unless the store already is, with its DataNode registered."""
        fixture = cls(znodes or EmbeddedZnodes(), directory)
        await fixture.file_system.format(ROOT_USER, "supergroup")
        await fixture.datanode.start()
        return fixture

    async def create(self, path: str, holder: str, *, overwrite: bool = False) -> Inode:
        """Create a file and leave it open."""
        return await self.namenode.create(self.root, path, new_file(overwrite=overwrite), holder, HOST)

    async def add_block(self, path: str, holder: str, previous: Block | None, file_id: int) -> Block:
        """Allocate a block."""
        return (await self.namenode.add_block(path, holder, previous, file_id))[0]

    async def abandoned(self, path: str, length: int) -> Upload:
        """Return an upload with `length` bytes written, whose writer is gone."""
        upload = await self.datanode.create(self.root, path, new_file(), HOST)
        await upload.write(bytes(length))
        return upload

    async def tick(self) -> None:
        """Run the DataNode's periodic work."""
        await self.datanode.work()

    async def state(self, path: str) -> str:
        """Return a file's state, spelled like the state that LeaseOracle.java prints for a real NameNode."""
        (chain,) = await self.file_system.resolver.chains([path])
        if chain.last is None:
            return "gone"
        file = chain.last.inode
        begin = f"open by {file.holder}" if file.is_open else "closed"
        blocks = "".join(f" [{block.state.value} {block} {block.length}]" for block in file.blocks)
        return f"{begin} len {file.length}{blocks}"

    async def events(self, from_txid: int = 1) -> list[Event]:
        """Return all events of the feed; fail if a transaction is missing."""
        found: list[Event] = []
        while True:
            page = await self.namenode.edits(self.root, from_txid)
            if page.first_txid < 0:
                return found
            assert page.first_txid == from_txid, f"asked for {from_txid}, got {page.first_txid}"
            found += [event for batch in page.batches for event in batch.events]
            from_txid = page.last_txid + 1

    async def paths(self, directory: int = ROOT_ID, path: str = "") -> Paths:
        """Return all paths; an open file has the length UNKNOWN, as no event carries its length."""
        found: Paths = {}
        for node in await self.file_system.resolver.entries(
            directory, await self.file_system.resolver.names(directory)
        ):
            inode, below = node.inode, f"{path}/{node.inode.name}"
            found[below] = None if inode.is_directory else UNKNOWN if inode.is_open else inode.length
            if inode.is_directory:
                found |= await self.paths(inode.id, below)
        return found

    async def orphans(self) -> list[str]:
        """Return the unreachable znodes of the store, and each disagreement between the tree and the feed.

        After the janitor's tick there must be none.
        """
        return await self._unreached() + disagreements(replayed(await self.events()), await self.paths())

    async def _unreached(self) -> list[str]:
        inodes = {int(name) for name in await self.znodes.children(layout.INODES)}
        reached, blocks, open_files = await self._reached(16385)
        found = [f"inode {number}" for number in inodes - reached]
        found += [
            f"directory {name}"
            for name in await self.znodes.children(layout.FILE_SYSTEM)
            if int(name) not in reached
        ]
        found += [
            f"block {name}"
            for name in await self.znodes.children(layout.BLOCK_LOCATIONS)
            if int(name) not in blocks
        ]
        for holder in await self.znodes.children(layout.LEASES):
            files = {int(name) for name in await self.znodes.children(f"{layout.LEASES}/{holder}")}
            found += [f"lease {holder} of {number}" for number in files - open_files]
            if not files:
                found.append(f"lease {holder}")
        return found

    async def _reached(self, number: int) -> tuple[set[int], set[int], set[int]]:
        inode = await self.file_system.resolver.inode(number)
        assert inode is not None
        reached, blocks = {number}, {block.id for block in inode.blocks}
        open_files = {number} if inode.is_open else set()
        names = await self.file_system.resolver.names(number) if inode.is_directory else []
        entries = await self.file_system.resolver.entries(number)
        assert len(entries) == len(names), f"an entry of {number} leads nowhere, or elsewhere"
        for entry in entries:
            more = await self._reached(entry.inode.id)
            reached |= more[0]
            blocks |= more[1]
            open_files |= more[2]
        return reached, blocks, open_files


def new_file(*, overwrite: bool = False, block_size: int = BLOCK) -> NewFile:
    """Return the parameters of a CREATE."""
    return NewFile(modes=Modes(0o644), replication=1, block_size=block_size, overwrite=overwrite)


def read(datanode: DataNode, file: Inode, begin: int, length: int) -> bytes:
    """Return a part of a file, all of which a DataNode has."""
    return b"".join(
        data
        for block, first, size in datanode.parts(file, begin, length)
        for data in datanode.read_block(block.id, first, size)
    )


async def outcome_of(call: Awaitable[object]) -> str:
    """Return the result of a call as text, or its exception with the class name."""
    try:
        return str(await call)
    except Refusal as refusal:
        return str(refusal)
