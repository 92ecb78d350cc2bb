"""JournalNodes below the model's NameNodes: they lag, lose caches, disagree, and return with another tail.

The model NameNodes own the log. This file decides which part each JournalNode has, and what a reader gets.
"""

import asyncio
import struct
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any, Final, TypeVar, cast

from nncache.hadoop.configured_namenodes import QuorumJournal
from nncache.hadoop.editlog.frames import Segment, read_segment
from nncache.hadoop.editlog.journalnode import CacheMissError, EditLogManifest, JournaledEdits, JournalState
from nncache.hadoop.editlog.ops import NEWEST_LAYOUT, OpCode
from nncache.hadoop.errors import RpcUnavailableError
from nncache.hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.remote_exception import RemoteException
from nncache.invalidation.errors import ChannelUnavailableError, WrongNamespaceError
from nncache.invalidation.journal import source
from nncache.invalidation.journal.access import ANSWER_S
from nncache.invalidation.journal.quorum import ShownTransaction
from tests.hadoop.editlog.segments import RPC, added, file, frame, header, permissions, utf
from tests.invalidation.fakes import FakePool
from tests.invalidation.journal.journal_simulation import JournalNode
from tests.invalidation.virtual_time import clock
from tests.model import operations
from tests.model.cluster import Cluster
from tests.model.namespace import SUPERUSER
from tests.model.writes import by

T = TypeVar("T")

ADDRESSES: Final = ("jn1:8485", "jn2:8485", "jn3:8485")
MAJORITY: Final = 2
CALL_S: Final = 0.0005
"""Duration of each half of a call, in seconds."""

SEEN_S: Final = 0.3
"""The time in seconds within which a reader polls once more."""

_TIMES: Final = struct.pack(">qq", 1, 1)
_METADATA: Final[dict[MetadataKind, tuple[OpCode, bytes]]] = {
    MetadataKind.PERMS: (OpCode.SET_PERMISSIONS, struct.pack(">H", 0o755)),
    MetadataKind.OWNER: (OpCode.SET_OWNER, utf("alice") + utf("")),
    MetadataKind.TIMES: (OpCode.TIMES, _TIMES),
    MetadataKind.REPLICATION: (OpCode.SET_REPLICATION, struct.pack(">h", 1)),
}


def operation_of(events: tuple[Event, ...]) -> tuple[OpCode, bytes]:
    """Return the operation with these events, and its body; model NameNodes write at most one event."""
    match events:
        case ():
            return OpCode.SET_GENSTAMP_V2, struct.pack(">q", 1)
        case (Create(kind=FileType.DIRECTORY, path=path),):
            return OpCode.MKDIR, struct.pack(">q", 1) + utf(path) + _TIMES + permissions() + b"\0\0\0\0\0"
        case (Create(path=path),):
            return OpCode.ADD, added(path)
        case (Close(path=path),):
            return OpCode.CLOSE, file(path)
        case (Append(path=path),):
            return OpCode.APPEND, utf(path) + utf("client") + utf("host") + b"\0" + RPC
        case (Truncate(path=path),):
            return OpCode.TRUNCATE, utf(path) + utf("client") + utf("host") + _TIMES + b"\0"
        case (Unlink(path=path),):
            return OpCode.DELETE, utf(path) + struct.pack(">q", 1) + RPC
        case (Rename(source=old, destination=new),):
            return OpCode.RENAME_OLD, utf(old) + utf(new) + struct.pack(">q", 1) + RPC
        case (MetadataUpdate(path=path, kind=kind),):
            code, rest = _METADATA[kind]
            return code, utf(path) + rest
        case _:
            raise AssertionError(events)


class ModelJournal:
    """The journal of a model's NameNodes.

    Acknowledged edits are on a majority: of the faults of JournalNodes, at most one at a time loses edits. Whether a
    reader reaches a JournalNode, and whether its connection leads there, is independent of that.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.nodes = {address: JournalNode(address) for address in ADDRESSES}
        self.epoch = 1
        self.unreachable: set[str] = set()  # for the reader
        self.hanging: set[str] = set()
        self.elsewhere: set[str] = set()  # the reader's connection leads to a JournalNode of another cluster
        self.starts = [1]  # first transactions of the segments
        self._waiting: list[ShownTransaction] = []  # written by the NameNode, not yet on a majority
        self._ahead: JournalNode | None = None  # alone has transactions that may never be in the log
        self._elsewhere: list[ShownTransaction] | None = (
            None  # what NameNodes write to JournalNodes unknown to the reader
        )
        self._begins_segment = False
        for txid, events in enumerate(cluster.active.log.transactions, 1):
            self.append(txid, events)
        self.sync()
        cluster.journal = self

    # -- writes of the NameNodes

    def append(self, txid: int, events: tuple[Event, ...]) -> None:
        """Append an unacknowledged transaction; a single JournalNode may already have it."""
        code, body = operation_of(events)
        if self._begins_segment:
            code, body, self._begins_segment = OpCode.START_LOG_SEGMENT, b"", False
        if code is OpCode.START_LOG_SEGMENT:
            self.starts = [*(start for start in self.starts if start < txid), txid]
        _, read = read_segment(header() + frame(txid, code, body))
        each = ShownTransaction(NEWEST_LAYOUT, read.frames[0])
        self._waiting.append(each)
        if self._cluster.is_sync_held and self._elsewhere is None and not self._missing():
            self._ahead = self._ahead or self.nodes[ADDRESSES[txid % len(ADDRESSES)]]
            self._ahead.write(each)

    def sync(self) -> None:
        """Write all unacknowledged transactions to the JournalNodes in sync."""
        waiting, self._waiting, ahead, self._ahead = self._waiting, [], self._ahead, None
        if self._elsewhere is not None:
            self._elsewhere += waiting
            return
        for each in waiting:
            reached = 0
            for node in self.nodes.values():
                if self._takes_edits(node):
                    if node is not ahead or each.frame.txid not in node.disk:
                        node.write(each)
                    reached += 1
            assert reached >= MAJORITY, "what is acknowledged is at a majority"

    def take_over(self) -> None:
        """Recover the log for another or a restarted NameNode; the last transaction begins its segment.

        The JournalNode with lost transactions is not reached: it returns later, with another tail.
        """
        log = self._cluster.active.log
        del self._waiting[:]
        self._come_back()
        behind, self._ahead = self._ahead, None
        self.epoch += 1
        known = {
            txid: each
            for node in self.nodes.values()
            if self._takes_edits(node, self.epoch - 1) and node is not behind
            for txid, each in node.disk.items()
            if txid < log.end
        }
        for node in self.nodes.values():
            if node is behind:
                node.is_in_sync = False
            elif node.is_up:
                node.promised = self.epoch
                if node.disk != known:
                    node.disk, node.cache = dict(known), {}
                node.is_in_sync = True
        self._begins_segment = True
        self.append(log.end, ())
        self.sync()

    def _takes_edits(self, node: JournalNode, epoch: int | None = None) -> bool:
        return node.is_up and node.is_in_sync and node.promised == (epoch or self.epoch)

    def _missing(self) -> list[JournalNode]:
        """Return the JournalNodes that miss edits."""
        return [node for node in self.nodes.values() if not self._takes_edits(node)]

    # -- faults

    def befall(self, number: int) -> str:
        """Cause a fault of a JournalNode or of the connection to it; return the feature that it adds."""
        address = ADDRESSES[number // 16 % len(ADDRESSES)]
        node = self.nodes[address]
        of_writer: tuple[Callable[[], None], ...] = (
            partial(self._lag, node),
            node.restart,
            node.wipe,
            partial(self._lag, node, is_up=False),
            partial(self._lag_beside_another_cluster, number // 16 % len(ADDRESSES)),
        )
        of_reader = (
            partial(self._toggle, self.unreachable, address),
            partial(self._toggle, self.hanging, address),
            partial(self._lead_elsewhere, address),
            partial(self._lead_elsewhere, address),
        )
        kinds: tuple[Callable[[], None], ...] = (
            *of_writer,
            *of_reader,
            self._discard,
            self._leave,
            self.begin_segment,
            self.begin_segment,
        )
        act = kinds[number % 16 % len(kinds)]
        if act in of_writer and (self._missing() or self._ahead is not None or self._waiting):
            act = self.begin_segment
        act()
        return "JournalNode"

    def begin_segment(self) -> None:
        """Roll the edits: every JournalNode takes edits again, and a tail from before is discarded."""
        if self._cluster.is_sync_held:
            return
        self._come_back()
        for node in self.nodes.values():
            node.is_up, node.is_in_sync, node.promised = True, True, self.epoch
        self._begins_segment = True
        self._cluster.write_nothing()

    def heal(self) -> None:
        """End all faults."""
        self.unreachable.clear()
        self.hanging.clear()
        for address in tuple(self.elsewhere):
            self._lead_elsewhere(address)
        self.begin_segment()

    def _leave(self) -> None:
        """Make the NameNodes write to other JournalNodes: these still reply, and never have new edits."""
        if self._elsewhere is None and not self._waiting and self._ahead is None:
            self._elsewhere = []

    def _come_back(self) -> None:
        """Make the NameNodes write here again, with the edits from the time before."""
        written, self._elsewhere = self._elsewhere or (), None
        for each in written:
            for node in self.nodes.values():
                if self._takes_edits(node):
                    node.write(each)

    def _discard(self) -> None:
        """Write changes to one JournalNode only; soon after, a failover discards them."""
        if not self._cluster.is_sync_held and self._elsewhere is None and not self._missing():
            self._cluster.hold_sync()
            self._change("/c")
            asyncio.get_running_loop().call_later(SEEN_S, self._go_on)

    def _go_on(self) -> None:
        self._cluster.fail_over()
        self._change("/a")

    def _change(self, path: str) -> None:
        for mode in (0o711, 0o755, 0o700):
            self._cluster.try_write(by(SUPERUSER, operations.set_permission, path, mode))

    def _lag(self, node: JournalNode, *, is_up: bool = True) -> None:
        node.is_in_sync, node.is_up = False, is_up
        node.connection += not is_up

    def _lag_beside_another_cluster(self, which: int) -> None:
        """Let two of three JournalNodes seem to have no new edits."""
        self._lag(self.nodes[ADDRESSES[which]])
        self._lead_elsewhere(ADDRESSES[which - 1])

    def _toggle(self, which: set[str], address: str) -> None:
        which ^= {address}

    def _lead_elsewhere(self, address: str) -> None:
        self._toggle(self.elsewhere, address)
        self.nodes[address].connection += 1

    # -- replies to readers

    def segments(self, node: JournalNode, since_txid: int) -> tuple[Segment, ...]:
        """Return the finalized segments of a JournalNode that are not purged."""
        since_txid = max(since_txid, self._cluster.active.log.first_kept)
        bounds = (
            (start, following - 1) for start, following in zip(self.starts, self.starts[1:], strict=False)
        )
        return tuple(
            Segment(first, last)
            for first, last in bounds
            if last >= since_txid and all(txid in node.disk for txid in range(first, last + 1))
        )

    def source(
        self, pool: FakePool, chance: Callable[[], float], *, at_first_sight: bool
    ) -> source.JournalEdits:
        """Return the product's source of edits, reading these JournalNodes."""
        pool.probe_s = 0.1  # each probe is fresh
        access = _Access(self)
        return source.JournalEdits(
            pool,
            cast("Any", access),
            clock,
            at_first_sight=at_first_sight,
            poll_interval_s=0.2,  # as rarely as a model needs
            chance=chance,
        )


class _Access:
    """Stands in for `JournalAccess`."""

    def __init__(self, model: ModelJournal) -> None:
        self.journal = QuorumJournal(ADDRESSES, "ns1")
        self.model = model

    def rpc(self, address: str) -> "_Rpc":
        """Return the client of one JournalNode."""
        return _Rpc(self.model, address)

    async def check_same_journal(self, web: str, _storage: tuple[int, str]) -> None:
        """Raise an error if the journal belongs to another namespace."""
        await asyncio.sleep(CALL_S)
        if _address_of(web) in self.model.elsewhere:
            raise WrongNamespaceError(f"{web}: another namespace")

    async def read_segment_file(
        self, web: str, first_txid: int, storage: tuple[int, str]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of a finalized segment."""
        model, address = self.model, _address_of(web)
        await self.check_same_journal(web, storage)
        node = model.nodes[address]
        found = next((each for each in model.segments(node, 0) if each.first_txid == first_txid), None)
        if found is None or not node.is_up or address in model.unreachable | model.hanging:
            raise ChannelUnavailableError(f"{web}: no such segment")
        yield header()
        for txid in range(found.first_txid, found.last_txid + 1):
            each = node.disk[txid].frame
            yield frame(txid, each.opcode, each.body)


def _web_of(address: str) -> str:
    return f"http://{address}"


def _address_of(web: str) -> str:
    return web.removeprefix("http://")


class _Rpc:
    """Stands in for `JournalNodeRpc`: a client of one JournalNode, which reconnects when necessary."""

    def __init__(self, model: ModelJournal, address: str) -> None:
        self._model = model
        self._address = address
        self._over = -1  # the node's counter of connection ends, at the last connect
        self.connection_id = 0

    async def state(self) -> JournalState:
        """Return the promised epoch; a JournalNode of another cluster may have promised the same."""
        return await self._call(
            lambda node: JournalState(
                self._model.epoch if self._is_elsewhere else node.promised, _web_of(self._address)
            )
        )

    async def manifest(self, since_txid: int) -> EditLogManifest:
        """Return the finalized segments; another cluster's JournalNode has none of these transactions."""
        return await self._call(
            lambda node: EditLogManifest(
                () if self._is_elsewhere else self._model.segments(node, since_txid), _web_of(self._address)
            )
        )

    async def edits(self, since_txid: int, max_transactions: int) -> JournaledEdits:
        """Return the edits in the cache; another cluster's JournalNode has no new ones."""

        def ask(node: JournalNode) -> JournaledEdits:
            found = [] if self._is_elsewhere else node.edits(since_txid)
            if found is None:
                remote = RemoteException("JournaledEditsCache$CacheMissException", "", "")
                raise CacheMissError(
                    remote, address=self._address, method="getJournaledEdits", user="nncache"
                )
            return JournaledEdits(NEWEST_LAYOUT, tuple(each.frame for each in found[:max_transactions]))

        return await self._call(ask)

    async def close(self) -> None:
        """Close the connection."""

    @property
    def _is_elsewhere(self) -> bool:
        return self._address in self._model.elsewhere

    async def _call(self, ask: Callable[[JournalNode], T]) -> T:
        model, node = self._model, self._model.nodes[self._address]
        for _ in range(2):  # the real client resends a repeatable call once, over a new connection
            if self._address in model.hanging:
                await asyncio.sleep(ANSWER_S)
                raise RpcUnavailableError(f"{self._address}: no answer", is_sent=True)
            if not node.is_up or self._address in model.unreachable:
                raise RpcUnavailableError(f"{self._address}: cannot connect", is_sent=False)
            if self._over != node.connection:
                self._over = node.connection
                self.connection_id += 1
            await asyncio.sleep(CALL_S)
            reply = ask(node)
            await asyncio.sleep(CALL_S)
            if self._over == node.connection:
                return reply
        raise RpcUnavailableError(f"{self._address}: cut off", is_sent=True)
