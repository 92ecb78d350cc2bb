"""The znodes of a test directory: in a file there, or below a ZooKeeper root that a file there names."""

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.linearizable import MARKS, LinearizableZnodes
from nncache.coordination.zookeeper import CreateOp, ZnodeOp, Znodes
from tests.coordination.simulations import connected
from tests.patience import HANG_S

PLACE = "zookeeper"
"""The file that names a ZooKeeper server and a root."""


def on_zookeeper(directory: Path, server: str) -> None:
    """Keep a directory's znodes in a ZooKeeper, below a new root."""
    (directory / PLACE).write_text(f"{server} /stored-{uuid.uuid4().hex[:12]}")


@asynccontextmanager
async def znodes_in(directory: Path) -> AsyncIterator[Znodes]:
    """Yield the znodes of a directory."""
    if not (directory / PLACE).exists():
        znodes = EmbeddedZnodes(directory / "znodes")
        try:
            yield znodes
        finally:
            znodes.close()
        return
    server, root = (directory / PLACE).read_text().split()
    async with connected(server) as session:
        store = LinearizableZnodes(session, root, uuid.uuid4().hex, HANG_S)
        await store.begin()
        yield store


async def copy(base: Path, directory: Path) -> None:
    """Copy a directory with its znodes; all versions start again from 0."""
    await asyncio.to_thread(shutil.copytree, base, directory)
    if not (directory / PLACE).exists():
        return
    server, root = (base / PLACE).read_text().split()
    on_zookeeper(directory, server)
    _, new = (directory / PLACE).read_text().split()
    operations: list[ZnodeOp] = []
    async with connected(server) as session:
        waiting = [root]
        while waiting:
            found = await session.get_many(waiting)
            waiting = []
            for znode in found:
                assert znode is not None
                operations.append(CreateOp(new + znode.path.removeprefix(root), znode.data))
                if znode.children and znode.path != root + MARKS:
                    names = sorted(await session.children(znode.path))
                    waiting += [f"{znode.path}/{name}" for name in names]
        for at in range(0, len(operations), 200):
            await session.commit(operations[at : at + 200])
