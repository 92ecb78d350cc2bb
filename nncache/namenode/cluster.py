"""A light cluster: NameNode and DataNode on an embedded store, over HTTP, in this process."""

import asyncio
import contextlib
import os
import pwd
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.namenode.datanode.datanode import DataNode
from nncache.namenode.datanode.peers import Peers
from nncache.namenode.listening import listening, listening_for_calls
from nncache.namenode.namespace.leases import is_file_closed
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.namenode import SUPERGROUP, NameNodeConfig, NameNodeService
from nncache.namenode.webhdfs.server import DataNodeHandler, NameNodeHandler

_T = TypeVar("_T")

HOST: Final = "127.0.0.1"
USERS: Final[Mapping[str, Sequence[str]]] = {
    "alice": ("alice", "users"),
    "bob": ("bob", "users"),
    "carol": ("carol",),
    "dr.who": (),
}
"""Groups by user, as on the clusters of the test bed; any other user has none."""

TICK_S: Final = 1.0
_START_TIMEOUT_S: Final = 60.0


def own_user() -> str:
    """Return the user that this process runs as."""
    return pwd.getpwuid(os.geteuid()).pw_name


@dataclass(frozen=True, slots=True, kw_only=True)
class LightSpec:
    """The parameters of a light cluster."""

    directory: Path | None = None  # keeps the state for the next start; None: a temporary one
    port: int = 0  # of the NameNode's WebHDFS; 0: a free one
    superuser: str = field(default_factory=own_user)
    users: Mapping[str, Sequence[str]] = field(default_factory=lambda: USERS)
    rpc_port: int = 0  # of the NameNode's RPC; 0: a free one


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a running light cluster, with their addresses, host:port each."""

    clock: Clock
    namenode: NameNodeService
    datanode: DataNode
    handler: NameNodeHandler
    namenode_http: str
    datanode_http: str
    namenode_rpc: str
    directory: Path

    async def tick(self) -> None:
        """Do the work of each second: leases, recovery, reclaiming, deletion; none in safe mode or as a standby."""
        if self.namenode.safe_mode or self.namenode.is_standby:
            return
        await self.datanode.renew_when_due(self.clock.now())
        await self.namenode.work()
        await self.datanode.work()


@contextlib.asynccontextmanager
async def serving(spec: LightSpec) -> AsyncIterator[Parts]:
    """Start a light cluster; it serves while the block runs."""
    async with contextlib.AsyncExitStack() as stack:
        if spec.directory is None:
            directory = Path(tempfile.mkdtemp(prefix="nncache-light-"))
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
        else:
            directory = spec.directory
            directory.mkdir(parents=True, exist_ok=True)
        znodes = EmbeddedZnodes(None if spec.directory is None else directory / "znodes.sqlite")
        stack.callback(znodes.close)
        clock = Clock()
        file_system = FileSystem(znodes, clock.wall_ms)
        await file_system.format(spec.superuser, SUPERGROUP)
        settings = NameNodeConfig(superuser=spec.superuser, groups=spec.users)
        namenode = NameNodeService(file_system, settings, clock)
        datanode = DataNode("dn1", namenode, directory / "blocks", is_durable=spec.directory is not None)
        await datanode.start()
        namespace = await file_system.namespace()
        enter = stack.enter_async_context
        rpc = await enter(listening_for_calls(namenode, namespace, HOST, spec.rpc_port))
        peers = Peers(namenode, DataNodes({}))
        datanode_http = await enter(listening(DataNodeHandler(datanode, namenode, peers), HOST, 0))
        datanodes = DataNodes({datanode.name: datanode_http})
        handler = NameNodeHandler(namenode, datanodes, clock, rpc=rpc, namespace=namespace)
        parts = Parts(
            clock=clock,
            namenode=namenode,
            datanode=datanode,
            handler=handler,
            namenode_http=await enter(listening(handler, HOST, spec.port)),
            datanode_http=datanode_http,
            namenode_rpc=rpc,
            directory=directory,
        )
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(_tick_forever(parts))
            try:
                yield parts
            finally:
                ticking.cancel()


async def _tick_forever(parts: Parts) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        await parts.tick()


class LightCluster:
    """A WebHDFS that starts in a fraction of a second, for tests and for a try of HDFS without Java.

    ```python
    with LightCluster() as cluster:
        requests.put(f"{cluster.url}/d?op=MKDIRS&user.name=alice")
    ```

    It serves from a thread of its own. Clusters share nothing, at the same time or later, unless they use the same
    directory one after the other.
    """

    def __init__(
        self,
        *,
        directory: Path | str | None = None,
        port: int = 0,
        rpc_port: int = 0,
        superuser: str | None = None,
        users: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Prepare a cluster; `start()` or a `with` block starts it."""
        self._spec = LightSpec(
            directory=None if directory is None else Path(directory),
            port=port,
            rpc_port=rpc_port,
            superuser=superuser or own_user(),
            users=USERS if users is None else users,
        )
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._started: Future[Parts] = Future()

    @property
    def superuser(self) -> str:
        """The name of the superuser."""
        return self._spec.superuser

    @property
    def namenode_http(self) -> str:
        """Host and port of the NameNode's WebHDFS."""
        return self._parts.namenode_http

    @property
    def namenode_rpc(self) -> str:
        """Host and port of the NameNode's RPC, which serves only the calls that nncache makes."""
        return self._parts.namenode_rpc

    @property
    def datanode_http(self) -> str:
        """Host and port of the DataNode's WebHDFS."""
        return self._parts.datanode_http

    @property
    def url(self) -> str:
        """The URL prefix of all paths."""
        return f"http://{self.namenode_http}/webhdfs/v1"

    @property
    def directory(self) -> Path:
        """The directory of the blocks; temporary if none was given."""
        return self._parts.directory

    def start(self) -> Self:
        """Start the cluster, and return once it serves.

        Raises:
            OSError: the port is taken, or the directory cannot be used.
        """
        self._started = Future()
        self._thread = threading.Thread(target=self._serve, name="nncache-light", daemon=True)
        self._thread.start()
        self._started.result(_START_TIMEOUT_S)
        return self

    def stop(self) -> None:
        """Stop the cluster, and remove a temporary directory. May be called again."""
        if self._thread is None:
            return
        if self._loop is not None and self._ending is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()
        self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---- controls for tests --------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Move the clock forward, and do the work that is then due: an expired lease is released on return."""
        self._parts.clock.advance(seconds)
        self._wait(self._parts.tick())

    def tick(self) -> None:
        """Do the work of a second now: release leases, recover and delete blocks."""
        self._wait(self._parts.tick())

    def safe_mode(self, *, on: bool) -> None:
        """Enter or leave safe mode: reads are answered, changes are refused."""
        self._parts.namenode.safe_mode = on

    def standby(self, *, on: bool) -> None:
        """Become standby or active."""
        self._parts.namenode.become(standby=on)

    def unavailable(self, *, on: bool) -> None:
        """Answer each request to the NameNode with 503, or serve again."""
        self._parts.handler.unavailable = on

    def stop_uploads_after(self, length: int | None) -> None:
        """Make the DataNode stop an upload after `length` bytes, as if it had been killed; None: never."""
        self._parts.datanode.stop_after = length

    def recover_lease(self, path: str, holder: str = "light") -> bool:
        """Close a file of any client, or begin to (`hdfs debug recoverLease`). Return whether it is closed."""
        namenode = self._parts.namenode
        return self._wait(namenode.recover_lease(namenode.caller(self.superuser), path, holder))

    def is_file_closed(self, path: str) -> bool:
        """Tell whether a file is not being written."""
        namenode = self._parts.namenode
        return self._wait(namenode.read(path, is_file_closed, namenode.caller(self.superuser)))

    # ---- the thread ----------------------------------------------------------------------------------------------

    @property
    def _parts(self) -> Parts:
        if self._thread is None:
            raise RuntimeError("the light cluster is not running: use it in a `with` block, or start() it")
        return self._started.result()

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        assert self._loop is not None, "a running cluster has a loop"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _serve(self) -> None:
        try:
            asyncio.run(self._serve_until_stopped())
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)

    async def _serve_until_stopped(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        async with serving(self._spec) as parts:
            self._started.set_result(parts)
            await self._ending.wait()
