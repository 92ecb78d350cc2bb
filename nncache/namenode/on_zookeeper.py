"""NameNodes and DataNodes as processes of their own: all that they know, and say to each other, is in ZooKeeper."""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from nncache.coordination.errors import CoordinationError, NodeExistsError
from nncache.coordination.linearizable import MARKS, LinearizableZnodes, check_snapshots
from nncache.coordination.session import Session
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import Create, SetData, Znodes
from nncache.hadoop.feed_znodes import DEFAULT_ROOT, VERSION
from nncache.namenode.cluster import HOST, TURN_EVERY_S, USERS, own_user
from nncache.namenode.datanode.datanode import DataNode
from nncache.namenode.datanode.peers import Peers
from nncache.namenode.listening import listening, listening_for_calls
from nncache.namenode.namespace import layout
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.datanodes import DataNodeRecord, DataNodes
from nncache.namenode.node.feed import EditsLimits
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.fsck import Audited, fsck
from nncache.namenode.node.leading import Leader, NotLeadingError
from nncache.namenode.node.lease_clock import LeaseLimits
from nncache.namenode.node.namenode import SUPERGROUP, NameNode, NameNodeSettings
from nncache.namenode.node.observing import Observer
from nncache.namenode.node.sweeping import Sweeper, alive
from nncache.namenode.webhdfs.server import DataNodeHandler, NameNodeHandler

LOOK_EVERY_S: Final = 5.0
"""Between two looks at what operators are shown."""

START_S: Final = 30.0
"""How long ZooKeeper may take to answer at the start."""

_log = logging.getLogger(__name__)


class NotASnapshotError(Exception):
    """What was written together was not read together: this ZooKeeper cannot carry a namespace."""


class DoubledError(Exception):
    """Another process runs with this DataNode's directory, or a copy of it."""


class _Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What all processes must agree on; the first NameNode says it."""

    superuser: str
    groups: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in which ZooKeeper a namespace is, and how long a session with it outlives its process."""

    zookeeper: tuple[str, ...]  # host:port each
    root: str = DEFAULT_ROOT
    session_timeout_s: float = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeSpec:
    """What a NameNode is to be."""

    place: Place
    host: str = HOST
    port: int = 0  # of WebHDFS; 0: a free one
    rpc_port: int = 0  # the same
    superuser: str = field(default_factory=own_user)  # of a namespace that this NameNode formats
    users: Mapping[str, Sequence[str]] = field(default_factory=lambda: USERS)  # the same
    leases: LeaseLimits = field(default_factory=LeaseLimits)
    edits: EditsLimits = field(default_factory=EditsLimits)
    is_observed: bool = False  # operators look at its pages


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningNameNode:
    """A NameNode that serves."""

    name: str
    znodes: LinearizableZnodes
    namenode: NameNode
    clock: Clock
    http: str
    rpc: str
    superuser: str
    turn: Callable[[], Awaitable[None]]  # what it does each second
    session: Session
    handler: NameNodeHandler
    observer: Observer


@dataclass(frozen=True, slots=True, kw_only=True)
class DataNodeSpec:
    """What a DataNode is to be."""

    place: Place
    directory: Path
    host: str = HOST
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDataNode:
    """A DataNode that serves."""

    datanode: DataNode
    clock: Clock
    http: str
    turn: Callable[[], Awaitable[None]]
    session: Session
    znodes: LinearizableZnodes


@contextlib.asynccontextmanager
async def namenode_serving(spec: NameNodeSpec) -> AsyncIterator[RunningNameNode]:
    """Serve as a NameNode, one of any number, as long as the block lasts.

    Raises:
        CoordinationError: ZooKeeper does not answer.
        NotASnapshotError: see there.
        OSError: a port is taken.
    """
    name = f"nn-{uuid.uuid4().hex[:16]}"
    async with contextlib.AsyncExitStack() as stack:
        session, znodes = await stack.enter_async_context(_znodes(spec.place, name))
        clock = Clock()
        file_system = FileSystem(znodes, clock.wall_ms)
        await file_system.format(spec.superuser, SUPERGROUP)
        shared = await _shared(znodes, _Shared(superuser=spec.superuser, groups=spec.users))
        settings = NameNodeSettings(
            superuser=shared.superuser, groups=shared.groups, leases=spec.leases, edits=spec.edits
        )
        leader = Leader(znodes, name, clock.wall_ms)
        namenode = NameNode(file_system, settings, clock, leader=leader)
        sweeper = Sweeper(znodes, clock.now)
        observer = Observer(znodes, name, clock.now)
        datanodes = DataNodes({}, znodes)
        namespace = await file_system.namespace()
        enter = stack.enter_async_context
        rpc = await enter(listening_for_calls(namenode, namespace, spec.host, spec.rpc_port))
        handler = NameNodeHandler(namenode, datanodes, clock, rpc=rpc, namespace=namespace)
        http = await enter(listening(handler, spec.host, spec.port))
        record = msgspec.json.encode({"http": http, "rpc": rpc})

        async def turn() -> None:
            await _keep(znodes, layout.name_node(name), record)
            await _keep(znodes, alive(name), b"")
            await datanodes.look()
            await namenode.work()
            if (await namenode.standing()).is_active:
                await sweeper.turn()
            if spec.is_observed and observer.age_s >= LOOK_EVERY_S:
                await observer.look()

        running = RunningNameNode(
            name=name,
            znodes=znodes,
            namenode=namenode,
            clock=clock,
            http=http,
            rpc=rpc,
            superuser=shared.superuser,
            turn=turn,
            session=session,
            handler=handler,
            observer=observer,
        )
        await enter(_turning(turn))
        yield running


@contextlib.asynccontextmanager
async def datanode_serving(spec: DataNodeSpec) -> AsyncIterator[RunningDataNode]:
    """Serve as a DataNode as long as the block lasts.

    It asks no NameNode: it carries out their calls itself, on the same znodes.

    Raises:
        CoordinationError: ZooKeeper does not answer, or no NameNode has formatted it.
        DoubledError: see there.
        OSError: a port is taken, or the directory cannot be used.
    """
    name = _identity(spec.directory)
    async with contextlib.AsyncExitStack() as stack:
        process = f"{name}-{uuid.uuid4().hex[:8]}"
        session, znodes = await stack.enter_async_context(_znodes(spec.place, process))
        clock = Clock()
        file_system = FileSystem(znodes, clock.wall_ms)
        shared = msgspec.json.decode((await znodes.get(layout.SETTINGS)).data, type=_Shared)
        settings = NameNodeSettings(superuser=shared.superuser, groups=shared.groups)
        namenode = NameNode(file_system, settings, clock)
        datanode = DataNode(name, namenode, spec.directory / "blocks")
        others = DataNodes({}, znodes)
        handler = DataNodeHandler(datanode, namenode, Peers(namenode, others))
        http = await stack.enter_async_context(listening(handler, spec.host, spec.port))
        record = msgspec.json.encode(DataNodeRecord(http=http))
        with contextlib.suppress(NodeExistsError):
            await znodes.commit([Create(layout.health(name), record)])
        heartbeat = _Heartbeat(znodes, name, clock)
        while not await heartbeat.turn():  # noqa: ASYNC110 - ZooKeeper ends that of a process that was killed just now
            await asyncio.sleep(TURN_EVERY_S)
        await znodes.commit([SetData(layout.health(name), record)])
        await datanode.start()

        async def turn() -> None:
            await heartbeat.turn()
            await _keep(znodes, alive(process), b"")
            await others.look()
            await datanode.renew_when_due(clock.now())
            await datanode.work()

        await stack.enter_async_context(_turning(turn))
        yield RunningDataNode(
            datanode=datanode, clock=clock, http=http, turn=turn, session=session, znodes=znodes
        )


async def fsck_of(place: Place, *, repair: bool) -> Audited:
    """Audit a namespace while it is served. Raises CoordinationError: ZooKeeper does not answer, or has none there."""
    async with _znodes(place, f"fsck-{uuid.uuid4().hex[:16]}") as (_, znodes):
        await znodes.get(VERSION)
        return await fsck(znodes, repair=repair)


@contextlib.asynccontextmanager
async def _znodes(place: Place, name: str) -> AsyncIterator[tuple[Session, LinearizableZnodes]]:
    """Yield a session and the znodes, after a look at whether reads of many are of one moment."""
    settings = ZooKeeperSettings(
        zookeeper=place.zookeeper, zookeeper_session_timeout_s=place.session_timeout_s
    )
    async with Session(settings, time.monotonic, log_name=name) as session:
        await session.wait_connected(START_S)
        async with Session(settings, time.monotonic, log_name=f"{name}, start") as writer:
            await writer.wait_connected(START_S)
            if not await check_snapshots(writer, session, f"{place.root}{MARKS}/{name}"):
                raise NotASnapshotError(
                    f"{', '.join(place.zookeeper)}: znodes that were written together were not read together"
                )
        znodes = LinearizableZnodes(session, place.root, name, place.session_timeout_s)
        await znodes.begin()
        yield session, znodes


async def _shared(znodes: Znodes, wanted: _Shared) -> _Shared:
    """Return what all processes have agreed on: what the first NameNode wanted."""
    with contextlib.suppress(NodeExistsError):
        await znodes.commit([Create(layout.SETTINGS, msgspec.json.encode(wanted))])
    return msgspec.json.decode((await znodes.get(layout.SETTINGS)).data, type=_Shared)


class _Heartbeat:
    """What says that a DataNode is there. One of a session that is ending may be in its place for a while."""

    def __init__(self, znodes: LinearizableZnodes, name: str, clock: Clock) -> None:
        self._znodes = znodes
        self._name = name
        self._clock = clock
        self._others_since: float | None = None

    async def turn(self) -> bool:
        """See that it is there, and tell whether it is this process's. Raises DoubledError: another one's, for long."""
        if await _keep(self._znodes, layout.heartbeat(self._name), b""):
            self._others_since = None
            return True
        now = self._clock.now()
        self._others_since = now if self._others_since is None else self._others_since
        if now - self._others_since > START_S:
            raise DoubledError(f"another process is DataNode {self._name}, too, with a copy of its directory")
        return False


async def _keep(znodes: LinearizableZnodes, path: str, data: bytes) -> bool:
    """See that an ephemeral znode of this session is there; False: it is another session's."""
    (found,) = await znodes.get_many([path])
    if found is None:
        with contextlib.suppress(NodeExistsError):
            await znodes.commit([Create(path, data, ephemeral=True)])
        (found,) = await znodes.get_many([path])
    return found is not None and found.owner_session == znodes.session_id


@contextlib.asynccontextmanager
async def _turning(turn: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Do what is done each second, from now on, the first time before the block begins."""
    said = await _turn_once(turn, "")
    async with asyncio.TaskGroup() as group:
        turning = group.create_task(_turn(turn, said))
        try:
            yield
        finally:
            turning.cancel()


async def _turn(turn: Callable[[], Awaitable[None]], said: str) -> None:
    while True:
        await asyncio.sleep(TURN_EVERY_S)
        said = await _turn_once(turn, said)


async def _turn_once(turn: Callable[[], Awaitable[None]], said: str) -> str:
    """Do the work of a second; return what kept from it, which is logged unless it was `said` before."""
    try:
        await turn()
    except NotLeadingError as lost:
        _log.info("this NameNode no longer leads: %s", lost)
    except CoordinationError as error:
        if str(error) != said:
            _log.warning("the work of this second is left to the next: %s", error)
        return str(error)
    except DoubledError:
        raise
    except Exception as error:  # noqa: BLE001 - a corrupt znode must not end all NameNodes
        if repr(error) != said:
            _log.exception("internal error in the work of this second; `nncache fsck` names corrupt znodes")
        return repr(error)
    return ""


def _identity(directory: Path) -> str:
    """Return the id of the DataNode of a directory, which is made at the first start."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "id"
    if not file.exists():
        file.write_text(f"dn-{uuid.uuid4().hex[:12]}\n", encoding="ascii")
    return file.read_text(encoding="ascii").strip()
