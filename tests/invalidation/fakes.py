"""Fakes of a NameNode's edits, the pool and a cache. (Checked against the real ones in test_namenodes.)"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nncache.hadoop.change import Change
from nncache.hadoop.election_view import Active, ElectionView, HaState, Journal, NameNode, Probe, ProbeReply
from nncache.hadoop.errors import NoActiveNameNodeError, RemoteCallError, RpcUnavailableError
from nncache.hadoop.events import EditsPage, Event, EventBatch, Unlink
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.remote_exception import RemoteException
from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.settings import PollingSettings
from tests.invalidation.virtual_time import clock

PROBE_S = 0.005
"""Duration of a probe of the pool."""

NAMESPACE = Namespace("CID-1", "BP-1-127.0.0.1-1")

ACCESS_CONTROL = "org.apache.hadoop.security.AccessControlException"
STANDBY = "org.apache.hadoop.ipc.StandbyException"
BUSY = "org.apache.hadoop.ipc.RetriableException"
IO = "java.io.IOException"


def remote_error(java_class_name: str, message: str = "no") -> RemoteCallError:
    """Return the exception for an error that a NameNode returns."""
    remote = RemoteException(java_class_name.rpartition(".")[2], java_class_name, message)
    return RemoteCallError(remote, address="nn:8020", method="any", user="joe")


@dataclass
class FakeLog:
    """A shared edit log: the transactions from 1 on, each with or without events."""

    transactions: list[tuple[Event, ...]] = field(default_factory=list)
    first_kept: int = 1  # all earlier transactions are purged

    @property
    def end(self) -> int:
        """The last transaction."""
        return len(self.transactions)


class FakeNameNode:
    """The NameNode processes at one address, one after another, over a log that others may share."""

    def __init__(self, name: str = "nn", log: FakeLog | None = None, *, active: bool = True) -> None:
        self.address = NameNode(f"{name}:9870", f"{name}:8020")
        self.log = FakeLog() if log is None else log
        self.state = HaState.ACTIVE if active else HaState.STANDBY
        self.started_ms = 1_000
        self.transition_ms = 0
        self.unsynced = 0  # transactions at the end of the log that are not durable yet
        self.max_events = 1000  # dfs.namenode.inotify.max.events.per.rpc
        self.is_reachable = True  # over RPC
        self.answers_jmx = True
        self.answers_journal = True  # reports over JMX how far its log has come
        self.namespace = NAMESPACE
        self.names_namespace = True  # over HTTP
        self.rpc_leads_to: FakeNameNode | None = None  # the NameNode that new RPC connections reach instead
        self.applied: int | None = None  # the last transaction that a standby has applied; None: all of them
        self.wire = 0  # incremented whenever all RPC connections are cut
        self.connection_refusal: Exception | None = None  # raised by new RPC connections
        self.refusal: Exception | None = None  # raised by getEditsFromTxid and getCurrentEditLogTxid
        self.roll_refusal: Exception | None = None
        self.takes_s = 0.0005  # duration of a call
        self.page_takes_s = 0.0  # latency of the reply with a page of edits
        self.during_call: Callable[[], None] | None = None  # called once, between call and reply
        self.rolls = 0
        self.asked: list[int] = []  # all positions that were polled
        self.becoming_active = False

    @property
    def synced(self) -> int:
        """The last durable transaction."""
        return self.log.end - self.unsynced

    @property
    def last_txid(self) -> int:
        """The transaction that it reports over JMX: the last one written or, as a standby, applied."""
        if self.state is HaState.ACTIVE:
            return self.log.end
        return self.synced if self.applied is None else self.applied

    def write(self, *events: Event) -> int:
        """Log a durable transaction with these events, or with none; return its txid."""
        self.log.transactions.append(events)
        return self.log.end

    def unlink(self, path: str) -> int:
        """Delete a path."""
        return self.write(Unlink(path))

    def cut(self) -> None:
        """Cut all RPC connections."""
        self.wire += 1

    def restart(self, *, lost: int = 0) -> None:
        """Restart the process, and lose the last `lost` transactions, which were not durable."""
        self.cut()
        self.started_ms += 1_000
        if lost:
            del self.log.transactions[-lost:]
        self.write()

    def page(self, asked: int) -> EditsPage:
        """Return the reply of getEditsFromTxid."""
        first, last, batches, events = -1, -1, list[EventBatch](), 0
        for txid in range(max(asked, self.log.first_kept), self.synced + 1):
            first, last = (txid if first < 0 else first), txid
            found = self.log.transactions[txid - 1]
            if found:
                batches.append(EventBatch(txid, found))
                events += len(found)
            if events >= self.max_events:
                break
        return EditsPage(first, last, self.synced, tuple(batches))


class FakeRpc:
    """The client of one FakeNameNode."""

    def __init__(self, namenode: FakeNameNode, check: NamespaceCheck) -> None:
        self._configured = namenode
        self._namenode = namenode  # at the other end of the connection
        self._check = check
        self._wire = -1
        self.connection_id = 0

    async def confirm_namespace(self) -> None:
        """Connect if there is no connection; otherwise check the known namespace without a call."""
        if self._wire != self._configured.wire:
            self._connect()
            await asyncio.sleep(self._configured.takes_s)
        self._check.admit(self._namenode.namespace)

    async def namespace_id(self) -> int:
        """Return the namespace id: there is only one."""
        await self._call(lambda _: None)
        return 1

    async def get_edits(self, from_txid: int) -> EditsPage:
        """Return the page from this transaction on."""
        await self._call(lambda namenode: namenode.refusal)
        namenode, wire = self._namenode, self._wire
        namenode.asked.append(from_txid)
        page = namenode.page(from_txid)
        if namenode.page_takes_s:
            await asyncio.sleep(namenode.page_takes_s)
            if self._configured.wire != wire:
                raise RpcUnavailableError("cut off", is_sent=True)
        return page

    async def get_current_edit_log_txid(self) -> int:
        """Return the id of the last transaction written."""
        await self._call(lambda namenode: namenode.refusal)
        return -1 if self._namenode.becoming_active else self._namenode.log.end

    async def roll_edits(self) -> int:
        """End the segment and begin the next: two transactions without events."""
        await self._call(lambda namenode: namenode.roll_refusal)
        self._namenode.rolls += 1
        self._namenode.write()
        return self._namenode.write()

    async def _call(self, refusal: Callable[[FakeNameNode], Exception | None]) -> None:
        await self._connected()
        namenode = self._namenode
        if namenode.state is not HaState.ACTIVE:
            raise remote_error(STANDBY)
        if (refused := refusal(namenode)) is not None:
            raise refused

    def _connect(self) -> None:
        configured = self._configured
        if not configured.is_reachable:
            raise RpcUnavailableError("cannot connect", is_sent=False)
        if configured.connection_refusal is not None:
            raise configured.connection_refusal
        self._namenode = configured.rpc_leads_to or configured
        self._check.admit(self._namenode.namespace)
        self._wire = configured.wire
        self.connection_id += 1

    async def _connected(self) -> None:
        """Send a request and receive its reply, over a new connection if there is none."""
        configured = self._configured
        for _ in range(2):  # the real client sends a repeatable call once more over a new connection
            if not configured.is_reachable:
                raise RpcUnavailableError("cannot connect", is_sent=False)
            if self._wire != configured.wire:
                self._connect()
            await asyncio.sleep(configured.takes_s)
            during_call, configured.during_call = configured.during_call, None
            if during_call is not None:
                during_call()
            if self._wire == configured.wire and configured.is_reachable:
                break
        else:
            raise RpcUnavailableError("cut off", is_sent=True)


class FakePool:
    """The pool, with the real election view. Probes are instantaneous and run only on demand."""

    def __init__(self, clock: Callable[[], float], *fakes: FakeNameNode) -> None:
        self.fakes = fakes
        self.namenodes = tuple(fake.address for fake in fakes)
        self._clock = clock
        self._view = ElectionView(self.namenodes)
        self._checks = {fake.address: NamespaceCheck(fake.address.http, fake.address.rpc) for fake in fakes}
        self._rpcs = {fake.address: FakeRpc(fake, self._checks[fake.address]) for fake in fakes}
        self.suspicions: list[str] = []
        self.is_blind = False  # suspecting changes nothing
        self.probe_s = PROBE_S

    @property
    def active(self) -> Active | None:
        """The active NameNode according to the last probe."""
        return self._view.active

    @property
    def confirmed_as_of(self) -> float | None:
        """The time of the last probe that confirmed it."""
        return self._view.confirmed_as_of

    @property
    def last_probe(self) -> Probe | None:
        """How far its log had come at the last probe."""
        return self._view.last_probe

    def probe(self) -> None:
        """Probe all NameNodes."""
        for fake in self.fakes:
            if fake.answers_jmx:
                asked_at = self._clock()
                others_had = self._view.last_txid_of_others(fake.address)
                namespace = fake.namespace if fake.names_namespace else None
                journal = Journal(last_txid=fake.last_txid, asked_at=asked_at)
                answer = ProbeReply(
                    state=fake.state,
                    started_ms=fake.started_ms,
                    transition_ms=fake.transition_ms,
                    namespace=namespace,
                    journal=journal if fake.answers_journal else None,
                )
                self._checks[fake.address].note_over_http(namespace)
                self._view.answered(fake.address, asked_at, answer, others_had=others_had)
            else:
                self._view.failed(fake.address)

    async def run(self) -> None:
        """Probe every second."""
        while True:
            self.probe()
            await asyncio.sleep(1)

    def wrong_namespace(self, namenode: NameNode) -> str:
        """Return which namespaces the addresses mix up, as text."""
        return self._checks[namenode].trouble or self._view.disagreement

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Probe immediately, unless blind."""
        self.suspicions.append(why)
        if not self.is_blind:
            self.probe()

    async def wait_probed(self) -> None:
        """Wait for the duration of a probe."""
        await asyncio.sleep(self.probe_s)

    async def wait_active(self, timeout_s: float) -> Active:
        """Probe once. Without an active NameNode wait until the timeout, and raise NoActiveNameNodeError."""
        self.probe()
        if self.active is None:
            await asyncio.sleep(timeout_s)
            raise NoActiveNameNodeError("no active NameNode", reasons="nn:9870 is standby")
        return self.active

    def rpc(self, namenode: NameNode) -> FakeRpc:
        """Return the only client of this NameNode."""
        return self._rpcs[namenode]


class RecordingSink:
    """A cache that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object]] = []
        self.changes: list[Change] = []  # the applied changes
        self.faults: list[Exception] = []  # raised by the next calls of `apply`
        self.close_faults: list[Exception] = []

    def open_stream(self, term: int) -> None:
        """Record the call."""
        self.calls.append(("open", term))

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Record the call."""
        self.calls.append(("filters", dict(globs)))

    def apply(self, change: Change, now: float, txid: int | None = None) -> None:
        """Record the call, or raise the next fault."""
        if self.faults:
            raise self.faults.pop(0)
        self.calls.append(("apply", txid))
        self.changes.append(change)

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Record the call."""
        self.calls.append(("cover", txid))

    def close_stream(self, reason: str) -> None:
        """Record the call, and raise the next fault of closing."""
        self.calls.append(("close", reason))
        if self.close_faults:
            raise self.close_faults.pop(0)

    def of(self, kind: str) -> list[object]:
        """Return the arguments of the calls of one kind."""
        return [argument for call, argument in self.calls if call == kind]


@dataclass
class FakeCluster:
    """One or two NameNodes, the pool, and the source under test."""

    namenode: FakeNameNode
    pool: FakePool
    source: PolledEdits

    async def read_until(self, true: Callable[[EditsRead], bool]) -> list[EditsRead]:
        """Read until the last read meets the condition, and return all reads."""
        reads = [await self.source.read()]
        while not true(reads[-1]):
            reads.append(await self.source.read())
        return reads

    async def read_a_change(self) -> None:
        """Make a change, read it, and read once more."""
        self.namenode.unlink("/a")
        await self.read_until(lambda read: bool(read.batches))
        await self.source.read()


def fake_cluster(*peers: FakeNameNode, **settings: float) -> FakeCluster:
    """Return a cluster whose log has 10 transactions."""
    namenode = FakeNameNode()
    for number in range(10):
        namenode.unlink(f"/before/{number}")
    pool = FakePool(clock, namenode, *peers)
    chosen = PollingSettings(**settings)  # type: ignore[arg-type]  # integers among the floats
    return FakeCluster(namenode, pool, PolledEdits(pool, chosen, clock, chance=lambda: 1.0))


async def reading(*peers: FakeNameNode, **settings: float) -> FakeCluster:
    """Return a cluster whose source has read up to the present end."""
    on = fake_cluster(*peers, **settings)
    await on.source.start(None)
    await on.source.read()
    return on


def txids(reads: list[EditsRead]) -> list[int]:
    """Return the ids of the transactions with events in these reads."""
    return [batch.txid for read in reads for batch in read.batches]
