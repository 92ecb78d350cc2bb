"""NameNodes and DataNodes on a ZooKeeper, served from a thread of the test process."""

import asyncio
import tempfile
import threading
import uuid
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.session import KazooSession
from nncache.namenode.node.feed import EditsLimits
from nncache.namenode.on_zookeeper import (
    NameNodeSpec,
    Place,
    RunningDataNode,
    RunningNameNode,
    datanode_serving,
    namenode_serving,
)
from tests.coordination.simulations import connected, expire
from tests.namenode.fixture import Fixture
from tests.patience import HANG_S

_T = TypeVar("_T")


class ManyNameNodes:
    """A namespace of its own in a ZooKeeper, served while the block runs.

    Attributes:
        namenodes: the running NameNodes.
        datanodes: the running DataNodes.
    """

    def __init__(
        self, zookeeper: str, *, namenodes: int = 2, datanodes: int = 1, superuser: str = "root"
    ) -> None:
        self.place = Place(zookeeper=tuple(zookeeper.split(",")), root=f"/many-{uuid.uuid4().hex[:12]}")
        self.namenodes: list[RunningNameNode] = []
        self.datanodes: list[RunningDataNode] = []
        self.superuser = superuser
        self._numbers = namenodes, datanodes
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._serve, name="many", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.result(HANG_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    @property
    def https(self) -> list[str]:
        """The host:port of each NameNode's WebHDFS."""
        return [namenode.http for namenode in self.namenodes]

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the servers' event loop; return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_S)

    def tick(self) -> None:
        """Run the periodic work of all servers now."""

        async def tick_all() -> None:
            ticks = [running.tick for running in self.namenodes]
            for tick in (*ticks, *(running.tick for running in self.datanodes), *ticks):
                await tick()

        self.wait(tick_all())

    def end_session(self, namenode: RunningNameNode) -> None:
        """Expire a NameNode's ZooKeeper session, as after too long a pause."""
        session = namenode.znodes._zookeeper  # noqa: SLF001 - to end it
        assert isinstance(session, KazooSession)
        self.wait(expire(self.place.zookeeper[0], session))

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._run())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)
        finally:
            self._loop.close()

    async def _run(self) -> None:
        namenodes, datanodes = self._numbers
        edits = EditsLimits(segment=50, kept=1_000_000)
        async with AsyncExitStack() as stack:
            for _ in range(namenodes):
                spec = NameNodeSpec(superuser=self.superuser, edits=edits)
                self.namenodes.append(await stack.enter_async_context(namenode_serving(self.place, spec)))
            for _ in range(datanodes):
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nncache-datanode-")))
                serving = datanode_serving(self.place, directory)
                self.datanodes.append(await stack.enter_async_context(serving))
            for running in self.namenodes:
                await running.tick()
            self._started.set_result(None)
            await self._ending.wait()


@asynccontextmanager
async def fixtures_on(
    servers: Sequence[str], directory: Path, *, number: int = 3, root: str = "", timeout_s: float = 6.0
) -> AsyncIterator[list[Fixture]]:
    """Yield NameNodes without HTTP, each with its own ZooKeeper session; the sessions take the servers in turn."""
    root = root or f"/many-{uuid.uuid4().hex[:12]}"
    async with AsyncExitStack() as stack:
        found: list[Fixture] = []
        for each in range(number):
            server = servers[each % len(servers)]
            session = await stack.enter_async_context(connected(server, timeout_s))
            store = LinearizableZnodes(session, root, f"nn{each}-{uuid.uuid4().hex[:6]}", HANG_S)
            await store.begin()
            found.append(await Fixture.make(directory / f"{each}", store))
        yield found
