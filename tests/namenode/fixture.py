"""A NameNode on embedded znodes and a DataNode, with a clock that the test moves."""

from collections.abc import Awaitable
from pathlib import Path

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import Znodes
from nncache.namenode.datanode.datanode import DataNode, Upload
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import Block, Inode
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.namenode import NameNode, NameNodeSettings

ROOT_USER = "hdfs"
HOST = "127.0.0.1"
BLOCK = 1_048_576
A, B = "holder-A", "holder-B"


class Fixture:
    """A cluster without HTTP."""

    def __init__(self, znodes: Znodes, directory: Path) -> None:
        self.znodes = znodes
        self.clock = Clock()
        self.file_system = FileSystem(znodes, self.clock.wall_ms)
        settings = NameNodeSettings(superuser=ROOT_USER, groups={"alice": ("users",)})
        self.namenode = NameNode(self.file_system, settings, self.clock)
        self.datanode = DataNode("dn1", self.namenode, directory)
        self.root = self.namenode.caller(ROOT_USER)

    @classmethod
    async def make(cls, directory: Path, znodes: Znodes | None = None) -> "Fixture":
        """Return one that is formatted, unless it was, with its DataNode registered."""
        fixture = cls(znodes or EmbeddedZnodes(), directory)
        await fixture.file_system.format(ROOT_USER, "supergroup")
        await fixture.datanode.start()
        return fixture

    async def create(self, path: str, holder: str, *, overwrite: bool = False) -> Inode:
        """Make a file, and leave it open."""
        return await self.namenode.create(self.root, path, new_file(overwrite=overwrite), holder, HOST)

    async def add_block(self, path: str, holder: str, previous: Block | None, file_id: int) -> Block:
        """Allocate a block."""
        return await self.namenode.add_block(path, holder, previous, file_id)

    async def abandoned(self, path: str, length: int) -> Upload:
        """Return an upload of which so many bytes are written, and whose writer has gone."""
        upload = await self.datanode.create(self.root, path, new_file(), HOST)
        await upload.write(bytes(length))
        return upload

    async def turn(self) -> None:
        """Do the DataNode's work."""
        await self.datanode.work()

    async def state(self, path: str) -> str:
        """Return what there is, as the oracle beside a real NameNode spells it."""
        (chain,) = await self.file_system.resolver.chains([path])
        if chain.last is None:
            return "gone"
        file = chain.last.inode
        begin = f"open by {file.holder}" if file.is_open else "closed"
        blocks = "".join(f" [{block.state.value} {block} {block.length}]" for block in file.blocks)
        return f"{begin} len {file.length}{blocks}"

    async def orphans(self) -> list[str]:
        """Return what is in the store and belongs to nothing: after the janitor's turn there is none."""
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
    """Return how a file is to be made."""
    return NewFile(modes=Modes(0o644), replication=1, block_size=block_size, overwrite=overwrite)


async def said(call: Awaitable[object]) -> str:
    """Return what a call answers, or its exception with its class."""
    try:
        return str(await call)
    except Refusal as refusal:
        return str(refusal)
