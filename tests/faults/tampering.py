"""A ZooKeeper client outside the service that changes the service's znodes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nncache.clock import boottime
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp, SetDataOp, ZooKeeper
from tests.service import NAMESERVICE, InotifyService

_T = TypeVar("_T")


class Tampering:
    """Reads and writes below a service's znodes; paths are relative to its nameservice."""

    def __init__(self, service: InotifyService) -> None:
        self._service = service

    def newest(self, stream: str) -> str:
        """Return the relative path of a stream's newest record."""

        async def read(zookeeper: ZooKeeper) -> str:
            names = await zookeeper.children(self._path(stream))
            return f"{stream}/{max(int(name) for name in names if name.isdigit())}"

        return self._with(read)

    def read(self, path: str) -> bytes:
        """Return the data of a znode."""

        async def read(zookeeper: ZooKeeper) -> bytes:
            return (await zookeeper.get(self._path(path))).data

        return self._with(read)

    def write(self, path: str, data: bytes) -> None:
        """Overwrite a znode."""
        self._with(lambda zookeeper: zookeeper.commit([SetDataOp(self._path(path), data)]))

    def create(self, path: str, data: bytes = b"") -> None:
        """Create a znode where the service has none."""
        self._with(lambda zookeeper: zookeeper.commit([CreateOp(self._path(path), data)]))

    def _path(self, relative: str) -> str:
        return f"{self._service.root}/{NAMESERVICE}/{relative}".rstrip("/")

    def _with(self, act: Callable[[ZooKeeper], Awaitable[_T]]) -> _T:
        async def run() -> _T:
            settings = ZooKeeperSettings(zookeeper=(self._service.zookeeper,))
            async with KazooSession(settings, boottime) as session:
                await session.wait_connected(10.0)
                return await act(session)

        return asyncio.run(run())
