"""Edits from the directory in which a NameNode on the same host keeps its log."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.local import LocalFrames, LogDirectory, PurgedSegmentError, read_version
from nncache.hadoop.editlog.ops import decode_op
from nncache.hadoop.errors import MalformedEditsError
from nncache.hadoop.events import EventBatch
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    UnreadableEditsError,
    WrongNamespaceError,
)
from nncache.invalidation.follower.probing import Probing
from nncache.invalidation.namenodes import NameNodes, wait_active
from nncache.invalidation.same_namespace import check_same_namespace
from nncache.invalidation.settings import DIRECTORY
from nncache.invalidation.stats import ChannelStats
from nncache.net.daemon_thread import on_daemon_thread
from nncache.net.event_wait import wait_set

LOOK_INTERVAL_S: Final = 0.025
"""Interval of reads of the directory."""

MAX_WAITING: Final = 50_000
"""Limit of transactions with changes that wait to be returned; beyond it the directory is not read."""

START_S: Final = 5.0
"""Time limits at the start of a run: of the check of the directory, and of reading up to the end of the log."""

DAMAGED_S: Final = 2.0
"""An error in the bytes counts once it has persisted this long; before, it may be due to a read during a write."""

_T = TypeVar("_T")


@dataclass(slots=True)
class _Run:
    """The state of one run."""

    log: LogDirectory
    probing: Probing
    term: int
    through_txid: int  # the position
    batches: list[EventBatch] = field(default_factory=list)  # read, but not returned yet
    news: asyncio.Event = field(default_factory=asyncio.Event)  # set when `read` may have a result
    woken: asyncio.Event = field(default_factory=asyncio.Event)  # set to end the delay before the next read
    end: Exception | None = None  # why the run ends
    fresh_as_of: float | None = None  # the last returned value
    behind_since: float | None = None  # since when the NameNode's log is known to have more
    tasks: tuple[asyncio.Task[None], ...] = ()


class DirectoryEdits:
    """Edits from a NameNode's own directory; an `nncache.invalidation.edits_source.EditsSource`.

    With HA only the active NameNode writes it, after the JournalNodes. A NameNode that cannot write a directory
    continues without it, and only its log reports that; a NameNode that is not active does not write it either.

    Invariants:
        K1  Each transaction is returned once, in order, and is on the disk (`LogDirectory`).
        K2  Coverage is that of a probe whose transaction was read: all changes acknowledged before the probe are in the
            NameNode's log up to this transaction. A directory that is not written any more gives no coverage.
        K3  A cancelled read loses nothing.
    """

    def __init__(
        self, namenodes: NameNodes, directory: str, clock: Callable[[], float], *, away_s: float | None = None
    ) -> None:
        """Read `directory`; a run ends if it is behind the log for `away_s` (None: it waits)."""
        self._namenodes = namenodes
        self._directory = Path(directory)
        self._clock = clock
        self._away_s = away_s
        self._look: asyncio.Future[Any] | None = None  # the last disk access, which may hang
        self._tasks: asyncio.TaskGroup | None = None  # from the first run on
        self._run: _Run | None = None

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return 0 if self._run is None else self._run.term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run after this (durable) transaction, or at the current end, as the active NameNode reports it.

        Raises:
            ChannelUnavailableError: no active NameNode, or it does not write the directory (UnreadableEditsError: the
                next transaction is damaged).
            NotPermittedError: this user may not read the directory.
            WrongNamespaceError: the directory belongs to another namespace.
            MissingEventsError: the transactions after `after_txid` are purged, or the log has lost transactions that
                were read from it (WENT_BACK), or the active NameNode changed during the start.
        """
        self.stop()
        active = await wait_active(self._namenodes)
        namespace = await check_same_namespace(self._namenodes, active)
        try:
            async with asyncio.timeout(START_S):
                why = await self._on_disk(partial(why_no_edits, self._directory, namespace))
        except TimeoutError as exc:
            raise ChannelUnavailableError(f"{self._directory}: no answer in {START_S:g} s") from exc
        if why is not None:
            raise why
        probing = Probing(self._namenodes, active, self._clock)
        try:
            await probing.begin(-1 if after_txid is None else after_txid)
            end_txid = probing.end_txid
            begin = end_txid if after_txid is None else after_txid
            await self._begin(
                _Run(LogDirectory(self._directory, begin), probing, active.term, begin), end_txid
            )
        except BaseException:
            probing.stop()
            self.stop()
            raise

    def stop(self) -> None:
        """End the run, if there is one."""
        run, self._run = self._run, None
        if run is not None:
            run.probing.stop()
            for task in run.tasks:
                task.cancel()

    async def shut_down(self) -> None:
        """End the run."""
        self.stop()
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            await tasks.__aexit__(None, None, None)

    async def read(self) -> EditsRead:
        """Return new transactions, new coverage or both, as soon as there are any.

        Raises:
            MissingEventsError: continuity is lost.
            WrongNamespaceError: the RPC address of the NameNode leads to another namespace than the HTTP address.
            ChannelUnavailableError: the directory was behind the log for `away_s`, or is unreadable
                (UnreadableEditsError: its next bytes are damaged).
        """
        while True:
            run = self._run
            if run is None:
                raise ChannelUnavailableError("the source was not started")
            run.news.clear()
            run.probing.look()
            if run.end is not None:
                raise run.end
            if self._away_s is not None:
                run.probing.check_shown()
            run.probing.advance(run.through_txid)
            seen = run.probing.take()
            if run.batches or seen is not None:
                batches, run.batches = tuple(run.batches), []
                run.behind_since = None
                if seen is not None:
                    run.fresh_as_of = seen.as_of
                return EditsRead(
                    batches,
                    run.through_txid,
                    run.fresh_as_of,
                    seen_as_of=None if seen is None else seen.as_of,
                )
            await self._await_news(run)

    def wake(self) -> None:
        """Read now, and ask the pool for a probe soon: a caller waits for current coverage."""
        if self._run is not None:
            self._run.probing.want()
            self._run.woken.set()

    def stats(self) -> ChannelStats:
        """Return the figures; there are no polls of a NameNode."""
        return ChannelStats(source=DIRECTORY)

    async def _begin(self, run: _Run, end_txid: int) -> None:
        """Start to read, and wait until the directory is as far as the NameNode's log."""
        if self._tasks is None:
            tasks = asyncio.TaskGroup()
            await tasks.__aenter__()
            self._tasks = tasks
        self._run = run
        run.tasks = (
            self._tasks.create_task(self._follow(run), name=f"read {self._directory}"),
            self._tasks.create_task(run.probing.tell(run.news), name="await probes of NameNodes"),
        )
        try:
            async with asyncio.timeout(START_S):
                while run.log.through_txid is None or run.log.through_txid < end_txid:
                    if run.end is not None:
                        raise run.end
                    if run.batches:
                        return  # reading continues; probes give its coverage
                    run.news.clear()
                    await run.news.wait()
        except TimeoutError as exc:
            raise ChannelUnavailableError(_behind(self._directory, run, end_txid)) from exc

    async def _await_news(self, run: _Run) -> None:
        """Wait until there may be a result, or the directory may have been behind for too long."""
        if self._away_s is None or not run.probing.is_pending:
            run.behind_since = None
            await run.news.wait()
            return
        now = self._clock()
        if run.behind_since is None:
            run.behind_since = now
        wait_s = run.behind_since + self._away_s - now
        if wait_s <= 0:
            probe = self._namenodes.last_probe
            raise ChannelUnavailableError(_behind(self._directory, run, 0 if probe is None else probe.txid))
        await wait_set(run.news, wait_s)

    async def _follow(self, run: _Run) -> None:
        """Read the directory until the run ends."""
        damaged_since: float | None = None
        try:
            while run.end is None:
                is_more = False
                if len(run.batches) < MAX_WAITING:
                    try:
                        found, is_more = await self._on_disk(run.log.look)
                        self._take(run, found)
                        damaged_since = None
                    except MalformedEditsError as exc:
                        damaged_since = self._clock() if damaged_since is None else damaged_since
                        if self._clock() - damaged_since >= DAMAGED_S:
                            raise UnreadableEditsError(f"{self._directory}: {exc}") from exc
                run.news.set()
                run.woken.clear()
                if not is_more:
                    await wait_set(run.woken, LOOK_INTERVAL_S)
        except PurgedSegmentError as exc:
            run.end = MissingEventsError(
                f"transactions {run.through_txid + 1} to {exc.last_txid} are not in {self._directory}",
                GapKind.PURGED,
                first_txid=run.through_txid + 1,
                last_txid=exc.last_txid,
            )
        except PermissionError as exc:
            run.end = NotPermittedError(_refused(exc))
        except OSError as exc:
            run.end = ChannelUnavailableError(str(exc))
        except Exception as exc:  # noqa: BLE001 - `read` raises the error that ends the run
            run.end = exc
        finally:
            run.log.close()
            run.news.set()

    async def _on_disk(self, look: Callable[[], _T]) -> _T:
        """Return the result of a disk access. Accesses run one by one, so that a disk that hangs holds one thread."""
        while self._look is not None and not self._look.done():
            await asyncio.wait([self._look])
        self._look = on_daemon_thread(look, "edits_dir")
        return await asyncio.shield(self._look)

    def _take(self, run: _Run, found: LocalFrames) -> None:
        for frame in found.frames:
            batch = batch_of(decode_op(frame, found.layout_version))
            if batch is not None:
                run.batches.append(batch)
        if found.frames:
            run.through_txid = found.frames[-1].txid


def why_no_edits(directory: Path, namespace: Namespace) -> ChannelUnavailableError | None:
    """Return why the edits in a directory cannot be read, with the remedy; None if they can be. Blocks."""
    try:
        own = read_version(directory)
        names = sorted(path for path in directory.iterdir() if path.name.startswith("edits_"))
        if names and names[-1].exists():  # else it was renamed in between
            names[-1].open("rb").close()
    except FileNotFoundError:
        return ChannelUnavailableError(
            f"{directory} has no file VERSION: edits_dir is the directory `current` in one of dfs.namenode.edits.dir "
            "(by default dfs.namenode.name.dir) of the NameNode on this host"
        )
    except PermissionError as exc:
        return NotPermittedError(_refused(exc))
    except OSError as exc:
        return ChannelUnavailableError(str(exc))
    if own is None:
        return ChannelUnavailableError(
            f"{directory}/VERSION is not that of a NameNode: it names no block pool"
        )
    if own != namespace:
        return WrongNamespaceError(f"{directory} is of namespace {own}, and the NameNodes serve {namespace}")
    if not names:
        return ChannelUnavailableError(
            f"{directory} has no edits: are they in another one (dfs.namenode.edits.dir)?"
        )
    return None


def _refused(exc: OSError) -> str:
    return (
        f"{exc}: only the OS user of the NameNode may read its directories (dfs.namenode.storage.dir.perm is 700); run "
        "nncache as that user"
    )


def _behind(directory: Path, run: _Run, end_txid: int) -> str:
    return (
        f"the active NameNode's log has come to transaction {end_txid}, and {directory} up to "
        f"{run.log.last_txid}: that NameNode is "
        "on another host, keeps its edits elsewhere, or has given up this directory (see its log)"
    )
