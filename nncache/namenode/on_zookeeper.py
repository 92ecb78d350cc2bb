"""NameNodes and DataNodes as separate processes, which share their state through ZooKeeper."""

import asyncio
import contextlib
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from nncache.coordination.errors import CoordinationError, NodeExistsError
from nncache.coordination.linearizable import MARKS, LinearizableZnodes, check_snapshots
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp, SetDataOp, Znodes
from nncache.hadoop.feed_znodes import DEFAULT_ROOT, VERSION
from nncache.namenode.cluster import HOST, TICK_S, USERS, own_user
from nncache.namenode.datanode.datanode import DataNode
from nncache.namenode.datanode.peers import Peers
from nncache.namenode.datanode.reporting import Reporting
from nncache.namenode.listening import listening, listening_for_calls
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import DataNodeRecord
from nncache.namenode.node.claims import Claims
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.feed import EditsLimits
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.fsck import Audited, fsck
from nncache.namenode.node.leading import FencedZnodes, Leader, NotLeadingError
from nncache.namenode.node.namenode import SUPERGROUP, NameNodeConfig, NameNodeService
from nncache.namenode.node.observer_clocks import DEAD_AFTER_S
from nncache.namenode.node.observing import Observer
from nncache.namenode.node.replicating import Replicating
from nncache.namenode.node.sweeping import Sweeper, alive
from nncache.namenode.webhdfs.server import DataNodeHandler, NameNodeHandler

LOOK_EVERY_S: Final = 5.0
"""Interval of the reads for operators' pages."""

START_S: Final = 30.0
"""Timeout of ZooKeeper at the start, and of another process's heartbeat for the same DataNode."""

FREE_STEP: Final = 64 * 1024 * 1024
"""Step in which a DataNode reports its free bytes; with less than one step free it takes no new block."""

_log = logging.getLogger(__name__)


class NotASnapshotError(Exception):
    """Znodes that were written together were not read together: this ZooKeeper cannot hold a namespace."""


class DoubledError(Exception):
    """Another process uses this DataNode's directory, or a copy of it."""


class ForeignNamespaceError(Exception):
    """The DataNode's directory belongs to another namespace: here its block ids belong to other files or to none."""


class _Shared(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that all processes share; the first NameNode writes them."""

    superuser: str
    groups: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The ZooKeeper and root of a namespace, and how long a session outlives its process."""

    zookeeper: tuple[str, ...]  # host:port each
    root: str = DEFAULT_ROOT
    session_timeout_s: float = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeSpec:
    """The parameters of a NameNode."""

    host: str = HOST
    port: int = 0  # of WebHDFS; 0: a free one
    rpc_port: int = 0  # the same
    superuser: str = field(default_factory=own_user)  # of a namespace that this NameNode formats
    users: Mapping[str, Sequence[str]] = field(default_factory=lambda: USERS)  # the same
    edits: EditsLimits = field(default_factory=EditsLimits)
    dead_after_s: float = DEAD_AFTER_S  # without a heartbeat a DataNode is taken for dead
    is_observed: bool = False  # whether to read the state for operators' pages


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningNameNode:
    """A running NameNode."""

    name: str
    znodes: LinearizableZnodes
    namenode: NameNodeService
    datanodes: DataNodes
    replicating: Replicating
    clock: Clock
    http: str
    rpc: str
    superuser: str
    tick: Callable[[], Awaitable[None]]  # its work of each second
    handler: NameNodeHandler
    observer: Observer
    session: KazooSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDataNode:
    """A running DataNode."""

    datanode: DataNode
    reporting: Reporting
    clock: Clock
    http: str
    znodes: LinearizableZnodes
    tick: Callable[[], Awaitable[None]]  # its work of each second
    copy: Callable[[], Awaitable[None]]  # the same, concurrently: it may take long
    session: KazooSession | None = None


@contextlib.asynccontextmanager
async def namenode_serving(place: Place, spec: NameNodeSpec) -> AsyncIterator[RunningNameNode]:
    """Serve as one of any number of NameNodes while the block runs.

    Raises:
        CoordinationError: ZooKeeper does not answer.
        NotASnapshotError: this ZooKeeper cannot hold a namespace.
        OSError: a port is taken.
    """
    name = f"nn-{uuid.uuid4().hex[:16]}"
    async with (
        _znodes(place, name) as (session, znodes),
        namenode_on(znodes, name, spec, Clock()) as running,
        _ticking(running.tick),
    ):
        yield replace(running, session=session)


@contextlib.asynccontextmanager
async def namenode_on(
    znodes: LinearizableZnodes, name: str, spec: NameNodeSpec, clock: Clock
) -> AsyncIterator[RunningNameNode]:
    """Serve on these znodes while the block runs. The caller must call `tick` each second."""
    async with contextlib.AsyncExitStack() as stack:
        file_system = FileSystem(znodes, clock.wall_ms)
        await file_system.format(spec.superuser, SUPERGROUP)
        shared = await _shared(znodes, _Shared(superuser=spec.superuser, groups=spec.users))
        settings = NameNodeConfig(superuser=shared.superuser, groups=shared.groups, edits=spec.edits)
        leader = Leader(znodes, name, clock.wall_ms)
        observer = Observer(znodes, name, clock.now)
        datanodes = DataNodes({}, znodes)
        namenode = NameNodeService(file_system, settings, clock, leader=leader, fleet=datanodes)
        replicating = Replicating(
            FencedZnodes(znodes, leader.fence),
            znodes,
            datanodes,
            Claims(znodes),
            clock.now,
            namenode.costing_itself,
            spec.dead_after_s,
        )
        sweeper = Sweeper(znodes, clock.now)
        namespace = await file_system.namespace()
        enter = stack.enter_async_context
        rpc = await enter(listening_for_calls(namenode, namespace, spec.host, spec.rpc_port))
        handler = NameNodeHandler(namenode, datanodes, clock, rpc=rpc, namespace=namespace)
        http = await enter(listening(handler, spec.host, spec.port))
        record = msgspec.json.encode({"http": http, "rpc": rpc})

        async def tick() -> None:
            await _keep(znodes, f"{layout.NAME_NODES}/{name}", record)
            await _keep(znodes, alive(name), b"")
            await datanodes.look()
            replicating.observe()
            await namenode.work()
            await replicating.reports()
            if (await namenode.standing()).is_active:
                await replicating.tick()
                await sweeper.tick()
            if spec.is_observed and observer.age_s >= LOOK_EVERY_S:
                await observer.look()

        yield RunningNameNode(
            name=name,
            znodes=znodes,
            namenode=namenode,
            datanodes=datanodes,
            replicating=replicating,
            clock=clock,
            http=http,
            rpc=rpc,
            superuser=shared.superuser,
            tick=tick,
            handler=handler,
            observer=observer,
        )


@contextlib.asynccontextmanager
async def datanode_serving(
    place: Place, directory: Path, *, host: str = HOST, port: int = 0
) -> AsyncIterator[RunningDataNode]:
    """Serve as a DataNode while the block runs.

    It calls no NameNode: it carries out the calls itself, on the same znodes.

    Raises:
        CoordinationError: ZooKeeper does not answer, or no NameNode has formatted it.
        DoubledError: another process uses the directory, or a copy of it.
        ForeignNamespaceError: the directory belongs to another namespace; nothing was changed.
        OSError: a port is taken, or the directory cannot be used.
    """
    process = f"{_identity(directory)}-{uuid.uuid4().hex[:8]}"
    async with (
        _znodes(place, process) as (session, znodes),
        datanode_on(znodes, process, directory, Clock(), host, port) as running,
        _ticking(running.tick),
        _ticking(running.copy, at_once=False),
    ):
        yield replace(running, session=session)


@contextlib.asynccontextmanager
async def datanode_on(
    znodes: LinearizableZnodes, process: str, directory: Path, clock: Clock, host: str = HOST, port: int = 0
) -> AsyncIterator[RunningDataNode]:
    """Serve on these znodes while the block runs. The caller must call `tick` and `copy` each second."""
    name = _identity(directory)
    async with contextlib.AsyncExitStack() as stack:
        file_system = FileSystem(znodes, clock.wall_ms)
        shared = msgspec.json.decode((await znodes.get(layout.SETTINGS)).data, type=_Shared)
        _belong(directory, (await file_system.namespace()).block_pool)
        settings = NameNodeConfig(superuser=shared.superuser, groups=shared.groups)
        others = DataNodes({}, znodes)
        namenode = NameNodeService(file_system, settings, clock, fleet=others)
        peers = Peers(namenode, others, name)
        datanode = DataNode(name, namenode, directory / "blocks", peers=peers, claims=Claims(znodes))
        http = await stack.enter_async_context(
            listening(DataNodeHandler(datanode, namenode, peers), host, port)
        )
        with contextlib.suppress(NodeExistsError):
            await znodes.commit(
                [CreateOp(layout.health(name), msgspec.json.encode(DataNodeRecord(http=http)))]
            )
        heartbeat = _Heartbeat(znodes, name, clock)
        # ZooKeeper may not yet have expired the session of a process that was just killed.
        while not await heartbeat.beat(_record(http, datanode)):  # noqa: ASYNC110 - no event signals that
            await asyncio.sleep(TICK_S)
        await datanode.start()
        reporting = Reporting(znodes, datanode)
        announced = 0  # the session in which the DataNode was last announced

        async def tick() -> None:
            nonlocal announced
            session = znodes.session_id
            is_there = await heartbeat.beat(_record(http, datanode))
            if is_there and announced != session:
                reporting.at_once()
                announced = session
            await _keep(znodes, alive(process), b"")
            await others.look()
            await datanode.renew_when_due(clock.now())
            await reporting.tick(clock.now())
            await datanode.work()

        yield RunningDataNode(
            datanode=datanode,
            reporting=reporting,
            clock=clock,
            http=http,
            znodes=znodes,
            tick=tick,
            copy=datanode.copy_blocks,
        )


def _record(http: str, datanode: DataNode) -> DataNodeRecord:
    """Return a DataNode's record; free bytes are in steps, so that the record rarely changes."""
    capacity, free = datanode.replicas.free()
    return DataNodeRecord(
        http=http,
        capacity=capacity,
        free=free - free % FREE_STEP,
        transfers=datanode.transfers,
        failures=datanode.failures,
    )


async def fsck_of(place: Place, *, repair: bool) -> Audited:
    """Audit a namespace while it is served. Raises CoordinationError: no answer, or no namespace at this place."""
    async with _znodes(place, f"fsck-{uuid.uuid4().hex[:16]}") as (_, znodes):
        await znodes.get(VERSION)
        return await fsck(znodes, repair=repair)


@contextlib.asynccontextmanager
async def _znodes(place: Place, name: str) -> AsyncIterator[tuple[KazooSession, LinearizableZnodes]]:
    """Yield a session and its znodes, after a check that a read of several znodes is a snapshot."""
    settings = ZooKeeperSettings(
        zookeeper=place.zookeeper, zookeeper_session_timeout_s=place.session_timeout_s
    )
    async with KazooSession(settings, time.monotonic, log_name=name) as session:
        await session.wait_connected(START_S)
        async with KazooSession(settings, time.monotonic, log_name=f"{name}, start") as writer:
            await writer.wait_connected(START_S)
            if not await check_snapshots(writer, session, f"{place.root}{MARKS}/{name}"):
                raise NotASnapshotError(
                    f"{', '.join(place.zookeeper)}: znodes that were written together were not read together"
                )
        znodes = LinearizableZnodes(session, place.root, name, place.session_timeout_s)
        await znodes.begin()
        yield session, znodes


async def _shared(znodes: Znodes, wanted: _Shared) -> _Shared:
    """Return the settings that all processes share: those of the first NameNode."""
    with contextlib.suppress(NodeExistsError):
        await znodes.commit([CreateOp(layout.SETTINGS, msgspec.json.encode(wanted))])
    return msgspec.json.decode((await znodes.get(layout.SETTINGS)).data, type=_Shared)


class _Heartbeat:
    """The ephemeral znode of a live DataNode. That of a session about to expire may hold its place for a while.

    One transaction creates it and sets the record: until then the record is that of the previous process. The new
    version of the record also stops the work on an absence in which the DataNode was declared dead.
    """

    def __init__(self, znodes: LinearizableZnodes, name: str, clock: Clock) -> None:
        self._znodes = znodes
        self._heartbeat = layout.heartbeat(name)
        self._health = layout.health(name)
        self._name = name
        self._clock = clock
        self._others_since: float | None = None

    async def beat(self, record: DataNodeRecord) -> bool:
        """Write both. Return whether this process holds the heartbeat. Raises DoubledError: another has, for long."""
        if await self._write(msgspec.json.encode(record)):
            self._others_since = None
            return True
        now = self._clock.now()
        self._others_since = now if self._others_since is None else self._others_since
        if now - self._others_since > START_S:
            raise DoubledError(f"another process is DataNode {self._name}, too, with a copy of its directory")
        return False

    async def _write(self, record: bytes) -> bool:
        paths = (self._heartbeat, self._health)
        heartbeat, health = await self._znodes.get_many(paths)
        if heartbeat is None:
            with contextlib.suppress(NodeExistsError):
                await self._znodes.commit(
                    [SetDataOp(self._health, record), CreateOp(self._heartbeat, b"", ephemeral=True)]
                )
            heartbeat, health = await self._znodes.get_many(paths)
        if heartbeat is None or health is None or heartbeat.owner_session != self._znodes.session_id:
            return False
        if health.data != record:  # at this version: another process may have taken over
            await self._znodes.commit([SetDataOp(self._health, record, health.version)])
        return True


async def _keep(znodes: LinearizableZnodes, path: str, data: bytes) -> None:
    """Create an ephemeral znode, unless it exists."""
    (found,) = await znodes.get_many([path])
    if found is None:
        with contextlib.suppress(NodeExistsError):
            await znodes.commit([CreateOp(path, data, ephemeral=True)])


@contextlib.asynccontextmanager
async def _ticking(tick: Callable[[], Awaitable[None]], *, at_once: bool = True) -> AsyncIterator[None]:
    """Call `tick` each second while the block runs; with `at_once`, also before the block begins."""
    logged = await _tick_once(tick, "") if at_once else ""
    async with asyncio.TaskGroup() as group:
        ticking = group.create_task(_tick_forever(tick, logged))
        try:
            yield
        finally:
            ticking.cancel()


async def _tick_forever(tick: Callable[[], Awaitable[None]], logged: str) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        logged = await _tick_once(tick, logged)


async def _tick_once(tick: Callable[[], Awaitable[None]], logged: str) -> str:
    """Do the work of a second. Return its error, "" without one; an error is logged unless it equals `logged`."""
    try:
        await tick()
    except NotLeadingError as lost:
        _log.info("this NameNode no longer leads: %s", lost)
    except CoordinationError as error:
        if str(error) != logged:
            _log.warning("the work of this second is left to the next: %s", error)
        return str(error)
    except DoubledError:
        raise
    except Exception as error:  # noqa: BLE001 - a corrupt znode must not end all NameNodes
        if repr(error) != logged:
            _log.exception("internal error in the work of this second; `nncache fsck` names corrupt znodes")
        return repr(error)
    return ""


def _identity(directory: Path) -> str:
    """Return the id of a directory's DataNode, which the first start creates."""
    directory.mkdir(parents=True, exist_ok=True)
    return _read_or_write(directory / "id", f"dn-{uuid.uuid4().hex[:12]}")


def _belong(directory: Path, namespace: str) -> None:
    """Check that a DataNode's directory belongs to this namespace; bind a directory that names no namespace.

    Block ids begin at the same number in each namespace, and a namespace orders the deletion of unknown blocks.

    Raises:
        ForeignNamespaceError: the directory belongs to another namespace.
    """
    own = _read_or_write(directory / "namespace", namespace)
    if own != namespace:
        raise ForeignNamespaceError(
            f"{directory} is of namespace {own}, but this is namespace {namespace}, which would have its blocks "
            "deleted: start this DataNode at its own namespace (--zookeeper, --zookeeper-root), or name an empty "
            "--directory"
        )


def _read_or_write(file: Path, text: str) -> str:
    """Return the text of a small file. The first start writes it, atomically even if the machine stops."""
    if not file.exists():
        draft = file.with_name(f"{file.name}.tmp")
        with draft.open("w", encoding="ascii") as writing:
            writing.write(f"{text}\n")
            writing.flush()
            os.fsync(writing.fileno())
        draft.replace(file)
    return file.read_text(encoding="ascii").strip()
