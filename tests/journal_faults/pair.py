"""An HA pair with three JournalNodes: each can be killed, wiped, and cut off from each NameNode and from readers.

Each NameNode, and the readers of the journal, reach each JournalNode through a relay of their own. JournalNodes reach
each other directly.
"""

import asyncio
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from nncache.hadoop.editlog.journalnode import JournalNodeRpc
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster, ClusterNameNode, ClusterSpec, Relay, ServerStartError
from nncache.testbed.cluster import ClusterServer
from nncache.testbed.jars import Progress, silent
from tests.cluster import HADOOP
from tests.journal_faults.plan import JOURNALNODES, Fault, Kind
from tests.patience import HANG_S
from tests.real.faults import Break, broken, killed, paused

READERS: Final = "readers"

CALL_MS: Final = 5_000
"""How long a NameNode waits for JournalNodes (dfs.qjournal.*.timeout.ms); by default up to two minutes."""

_CALLS: Final = (
    "start-segment",
    "prepare-recovery",
    "accept-recovery",
    "finalize-segment",
    "select-input-streams",
    "get-journal-state",
    "new-epoch",
    "write-txns",
)

SPEC: Final = ClusterSpec(
    hadoop_version=HADOOP,
    ha=True,
    journalnodes=JOURNALNODES,
    with_datanode=False,
    overrides={
        "dfs.ha.tail-edits.in-progress": "true",
        "dfs.journalnode.sync.interval": "3000",  # ms between searches for missing segments (120,000)
        "ipc.client.connect.max.retries": "2",
        "ipc.client.connect.retry.interval": "200",  # ms
        **{f"dfs.qjournal.{call}.timeout.ms": str(CALL_MS) for call in _CALLS},
    },
)


class BeyondRepairError(Exception):
    """The pair cannot be made whole again."""


class FaultyPair(Cluster):
    """An HA pair. `relays` are by user: a NameNode's id, or READERS; for each in the order of the JournalNodes."""

    def __init__(self, spec: ClusterSpec, *, progress: Progress = silent) -> None:
        users = ("nn1", "nn2", READERS)
        nowhere = "127.0.0.1:9"
        self.relays = {user: tuple(Relay(nowhere).start() for _ in range(JOURNALNODES)) for user in users}
        journals = {
            f"dfs.namenode.shared.edits.dir.{spec.nameservice}.{user}": self._journal(user, spec.nameservice)
            for user in users[:2]
        }
        super().__init__(replace(spec, overrides={**spec.overrides, **journals}), progress=progress)
        for relays in self.relays.values():
            for relay, journalnode in zip(relays, self.journalnodes, strict=True):
                relay.lead_to(journalnode.rpc)

    def stop(self) -> None:
        """Stop all servers, and the relays."""
        super().stop()
        for relays in self.relays.values():
            for relay in relays:
                relay.stop()

    def _journal(self, user: str, nameservice: str) -> str:
        return f"qjournal://{';'.join(relay.address for relay in self.relays[user])}/{nameservice}"

    @property
    def journal_of_readers(self) -> str:
        """The journal's URI for readers, through their relays."""
        return self._journal(READERS, self.spec.nameservice)

    # -- who is active

    def active(self) -> ClusterNameNode | None:
        """Return the NameNode that reports active; None: none does."""
        return next((each for each in self.namenodes if each.state() == "active"), None)

    def keep_active(self) -> None:
        """Make a NameNode active, if none is and if that is possible now."""
        if self.active() is not None:
            return
        for namenode in self.namenodes:
            namenode.process.launch()
        for number, namenode in enumerate(self.namenodes):
            if namenode.state() == "standby":
                with suppress(ServerStartError):
                    self.transition_to_active(number)
                return

    def make_whole(self) -> int:
        """Run all servers, with one active NameNode and all JournalNodes in its new segment; return its first txid.

        Raises:
            BeyondRepairError: it does not succeed in time.
        """
        until = time.monotonic() + 2 * HANG_S
        while True:
            try:
                for process in self.processes:
                    process.resume()
                    process.launch()
                for process in self.processes:
                    process.await_up()
                self.keep_active()
                first_txid = self.roll()
            except ServerStartError as exc:
                first_txid, last_words = None, str(exc)
            else:
                last_words = "no NameNode can be made active, or not all JournalNodes take edits"
            if first_txid is not None and all(self._has(each, first_txid) for each in self.journalnodes):
                return first_txid
            if time.monotonic() > until:
                raise BeyondRepairError(last_words)

    def roll(self) -> int | None:
        """Begin a segment, and return its first transaction; None: it is not possible now."""
        active = self.active()
        if active is None:
            return None

        async def call() -> int:
            rpc = NameNodeRpc(active.rpc, self.superuser, timeout_s=HANG_S)
            try:
                return await rpc.roll_edits()
            finally:
                await rpc.close()

        try:
            return asyncio.run(call())
        except HadoopError:
            return None

    # -- the journal on disk

    def journal_directory(self, journalnode: ClusterServer) -> Path:
        """Return the directory of a JournalNode's journal."""
        place = self.directory / "data" / journalnode.process.name
        return place / self.spec.nameservice / "current"

    def _has(self, journalnode: ClusterServer, txid: int) -> bool:
        """Return whether it has this transaction of the open segment: it may have the file but have missed edits."""

        async def ask() -> bool:
            rpc = JournalNodeRpc(
                journalnode.rpc,
                self.spec.nameservice,
                self.superuser,
                nameservice=self.spec.nameservice,
                timeout_s=HANG_S,
            )
            try:
                return bool((await rpc.edits(txid, 1)).frames)
            finally:
                await rpc.close()

        try:
            return asyncio.run(ask())
        except HadoopError:
            return False

    def _takes_edits(self, journalnode: ClusterServer) -> bool:
        """Return whether it has the newest segment open that any of them has open."""
        newest = max(
            (name for each in self.journalnodes for name in self._segments(each, "inprogress_")), default=""
        )
        return newest in self._segments(journalnode, "inprogress_")

    def _segments(self, journalnode: ClusterServer, kind: str) -> set[str]:
        """Return the names of its segments of a kind: open, or finalized."""
        found = self.journal_directory(journalnode).glob(f"edits_{kind}*")
        return {
            each.name for each in found if each.name.removeprefix(f"edits_{kind}").replace("-", "").isdigit()
        }

    def _written_at(self, journalnode: ClusterServer) -> int:
        """Return the time in ns of its last write to an open segment; 0: it has no open segment."""
        with suppress(FileNotFoundError):  # the segment has just been finalized
            segments = self.journal_directory(journalnode).glob("edits_inprogress_*")
            return max((each.stat().st_mtime_ns for each in segments), default=0)
        return 0

    def may_wipe(self, which: int) -> bool:
        """Return whether the others have all that it has: both take edits, since the beginning of a segment.

        One that was cut off in the middle of a segment also has it open, but misses edits that this one may have.
        """
        self.roll()
        one, others = (
            self.journalnodes[which],
            [each for each in self.journalnodes if each is not self.journalnodes[which]],
        )
        if not all(each.process.pid is not None and self._takes_edits(each) for each in others):
            return False
        return self._segments(one, "0") <= set[str]().union(*(self._segments(each, "0") for each in others))

    # -- faults

    @contextmanager
    def trouble(self, fault: Fault) -> Iterator[None]:
        """Break the pair with a fault while the block runs."""
        journalnode = self.journalnodes[fault.which]
        readers = self.relays[READERS]
        active = self.active()
        match fault.kind:
            case Kind.JOURNALNODE_KILLED if journalnode.process.pid is not None:
                with killed(journalnode.process):
                    yield
            case Kind.JOURNALNODE_STOPPED if journalnode.process.pid is not None:
                with paused(journalnode.process):
                    yield
            case Kind.JOURNALNODE_WIPED if self.may_wipe(fault.which):
                self._wipe(fault.which)
                yield
            case Kind.ACTIVE_CUT_OFF if active is not None:
                with broken((self.relays[active.id][fault.which],), fault.way):
                    yield
            case Kind.READER_CUT_OFF:
                with broken((readers[fault.which],), fault.way):
                    yield
            case Kind.READER_LEFT_BEHIND if active is not None:
                others = [each for each in readers if each is not readers[fault.which]]
                with broken((self.relays[active.id][fault.which],), Break.CUT), broken(others, fault.way):
                    yield
            case Kind.NAMENODE_KILLED if active is not None:
                with killed(active.process):
                    self._promote_other(active)
                    yield
            case Kind.NAMENODE_HANDS_OVER if active is not None:
                with suppress(ServerStartError):
                    self.transition_to_standby(self.namenodes.index(active))
                    self._promote_other(active)
                yield
            case Kind.NAMENODE_NOT_FENCED if active is not None:
                self._promote_other(active)
                yield
            case Kind.CHANGE_DISCARDED if active is not None:
                with self._change_discarded(active, fault.which):
                    yield
            case _:
                self.roll()
                yield
        self.keep_active()

    def _promote_other(self, namenode: ClusterNameNode) -> None:
        """Make the other NameNode active, if that is possible."""
        number = 1 - self.namenodes.index(namenode)
        with suppress(ServerStartError):
            self.transition_to_active(number)

    @contextmanager
    def _change_discarded(self, active: ClusterNameNode, which: int) -> Iterator[None]:
        """Let changes reach one JournalNode only, and make the other NameNode active without it and the changes."""
        (other,) = (each for each in self.namenodes if each is not active)
        for number, relay in enumerate(self.relays[active.id]):
            if number != which:
                relay.black_hole()
        journalnode = self.journalnodes[which]
        written_at, waits_until = self._written_at(journalnode), time.monotonic() + 1.0
        while self._written_at(journalnode) == written_at and time.monotonic() < waits_until:
            time.sleep(0.01)
        time.sleep(0.1)  # so that readers have read it
        with killed(active.process), broken((self.relays[other.id][which],), Break.CUT):
            for relay in self.relays[active.id]:
                relay.restore()
            self._promote_other(active)
            yield

    def _wipe(self, which: int) -> None:
        """Replace a JournalNode's disk, and format its journal like the others'.

        `hdfs namenode -initializeSharedEdits` would format all. The first call of the active NameNode brings its epoch,
        the next segment its edits, and JournalNodeSyncer earlier segments.
        """
        journalnode, other = self.journalnodes[which], self.journalnodes[which - 1]
        here = self.journal_directory(journalnode)
        with killed(journalnode.process):
            shutil.rmtree(here.parent)
            here.mkdir(parents=True)
            shutil.copy(self.journal_directory(other) / "VERSION", here)
        with suppress(ServerStartError):
            journalnode.process.await_up()
        self.roll()
