"""Chooses the source of edits: the best readable one, at any time."""

import asyncio
import logging
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from nncache.invalidation.backoff import SETTLED_S, Backoff
from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits_source import EditsRead, EditsSource
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    WrongNamespaceError,
)
from nncache.invalidation.journal.access import JournalAccess
from nncache.invalidation.journal.directory import DirectoryEdits
from nncache.invalidation.journal.overlap import Overlap
from nncache.invalidation.journal.source import JournalEdits
from nncache.invalidation.namenodes import NameNodes
from nncache.invalidation.settings import (
    AUTO,
    JOURNALNODES,
    EditsSettings,
    PollingSettings,
)
from nncache.invalidation.stats import ChannelStats, JournalStats
from nncache.net.event_wait import wait_set

AWAY_S: Final = 1.0
"""A source that has not answered for this long is replaced, if there is another one."""

FIRST_TRIAL_S: Final = 1.0
"""Delay before a better source is tried again after it was unreadable; further delays grow up to LAST_TRIAL_S."""

LAST_TRIAL_S: Final = 60.0

TRIAL_S: Final = 15.0
"""Time limit for a better source to catch up with the one in use."""

HELD_S: Final = 0.3
"""How long the source in use is not read, so that a better one can reach the last transaction that it returned."""

HELD_AGAIN_S: Final = 3.0
"""How long the source in use is read before that is repeated."""

GO_ON_S: Final = 10.0
"""How long another source is awaited when the one in use becomes unreadable; then the run ends."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """A source, and its name in log lines."""

    name: str
    source: EditsSource


class AutoEdits:
    """The best readable source at each moment of a run; an `EditsSource`.

    A run begins with the best readable source. Better sources are tried in the background, and take over as `Overlap`
    decides. If the source in use becomes unreadable, and the log is still continuous, the run continues with another
    source after the last returned transaction, or with the same one where another is not permitted. A transaction id
    has one content while the term lasts; all sources of a run belong to one term.

    Invariants:
        A1  Each read of a run continues the one before, whichever sources they come from.
        A2  Coverage is that of the source in use, for transactions that are returned with it or were returned before.
        A3  A cancelled read loses nothing: no await is between the end of a source's `read` and the return of its
            result, and a change of sources that was cancelled is made by the next read.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Choose among these sources, ordered from the best to the last one, which is always available."""
        self._choices = tuple(choices)
        self._clock = clock
        self._chance = chance  # randomizes the delays of retries
        self._term = 0  # of the run
        self._current: Choice | None = None  # the source in use; None outside a run
        self._through_txid: int | None = None  # every transaction up to here was returned; None: unknown
        self._is_durable = False  # no NameNode can lose a transaction up to `_through_txid`
        self._lost: tuple[float, Exception] | None = None  # since when, and why, `_current` is unreadable
        self._tasks: asyncio.TaskGroup | None = None  # from the first run on
        self._trying: asyncio.Task[None] | None = None  # tries better sources
        self._trial: tuple[Choice, Overlap] | None = None  # the source that is being tried
        self._returned = asyncio.Event()  # set when a read has returned
        self._ready = asyncio.Event()  # set when the source that is being tried can take over
        self._held_at = -math.inf  # when the source in use was last held
        self._reading: asyncio.Timeout | None = (
            None  # ends a read of the source in use when another one can take over
        )
        self._backoff = Backoff(FIRST_TRIAL_S, LAST_TRIAL_S)  # of trials
        self._taken_at = -math.inf  # when the source in use was chosen
        self._why_not = dict[str, str]()  # why each better source is not in use, by name
        self._logged = ""  # the last line about the start of a run or a failed trial: not logged twice

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return 0 if self._current is None else self._term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run with the best readable source.

        Raises the error of the last source tried, or where that is not permitted the first that another one met.
        """
        self.stop()
        await self._trial_ended()
        if self._tasks is None:
            tasks = asyncio.TaskGroup()
            await tasks.__aenter__()
            self._tasks = tasks
        permitted: Exception | None = None
        for choice in self._choices:
            try:
                await choice.source.start(after_txid)
            except (MissingEventsError, ChannelUnavailableError) as exc:
                is_gap = isinstance(exc, MissingEventsError) and exc.kind is not GapKind.PURGED
                if choice is self._choices[-1] or is_gap:
                    if permitted is not None and isinstance(exc, NotPermittedError):
                        raise permitted from exc
                    raise
                if not isinstance(exc, NotPermittedError):
                    permitted = permitted or exc
                self._why_not[choice.name] = str(exc)
            else:
                break
        self._term = choice.source.term
        self._through_txid, self._is_durable = after_txid, after_txid is not None
        why_not = "".join(f" and not from {name}: {why}" for name, why in self._why_not.items())
        message = f"edits are read from {choice.name}{why_not}"
        if message != self._logged:
            _log.info("%s", message)
            self._logged = message
        self._use(choice)

    def stop(self) -> None:
        """End the run, if there is one."""
        self._current = self._lost = None
        self._why_not.clear()
        self._end_trial()
        for choice in self._choices:
            choice.source.stop()

    async def shut_down(self) -> None:
        """Release the resources that outlast a run."""
        self.stop()
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            await tasks.__aexit__(None, None, None)
        for choice in self._choices:
            await choice.source.shut_down()

    async def read(self) -> EditsRead:
        """Return the next read of the run.

        Raises:
            MissingEventsError: continuity is lost.
            ChannelUnavailableError: no source can be read.
        """
        while True:
            current = self._current
            if current is None:
                raise ChannelUnavailableError("the source was not started")
            if self._lost is not None:
                await self._go_on(current, *self._lost)
                continue
            read = self._taken_over(current)
            if read is not None:
                return read
            if await self._held():
                continue
            reading = asyncio.timeout(None)
            try:
                async with reading:
                    self._reading = reading
                    read = await current.source.read()
            except TimeoutError:
                if not reading.expired():
                    raise
                continue  # another source can take over
            except (MissingEventsError, ChannelUnavailableError) as exc:
                if current is self._choices[-1] or self._through_txid is None or _ends_run(exc):
                    raise
                self._lost = self._clock(), exc
                continue
            finally:
                self._reading = None
            self._note(read)
            if self._trial is not None:
                self._trial[1].returned(read)
            return read

    def wake(self) -> None:
        """Make the current or next `read` return soon."""
        if self._current is not None:
            self._current.source.wake()

    def stats(self) -> ChannelStats:
        """Return the figures of all sources since start."""
        figures = [choice.source.stats() for choice in self._choices]
        in_use = figures[-1 if self._current is None else self._choices.index(self._current)]
        journal = next((each.journal for each in figures if each.source == JOURNALNODES), JournalStats())
        better = self._choices[: figures.index(in_use)]
        return replace(
            figures[-1],
            source=in_use.source,
            passed_over={
                each.source: self._why_not[choice.name]
                for choice, each in zip(better, figures, strict=False)
                if choice.name in self._why_not
            },
            journal=journal,
        )

    # -- another source in a run ------------------------------------------------------------------------------------

    async def _go_on(self, lost: Choice, since: float, why: Exception) -> None:
        """Continue the run with a source further down the order, after the last returned transaction.

        Where one of these is not permitted, the lost one is started as well.

        Raises:
            MissingEventsError, ChannelUnavailableError: no source can continue, and the run ends.
        """
        self._end_trial()
        await self._trial_ended()
        lost.source.stop()
        self._why_not[lost.name] = str(why)
        backoff = Backoff()
        again: tuple[Choice, ...] = ()
        while True:
            for choice in (*self._choices[self._choices.index(lost) + 1 :], *again):
                try:
                    await choice.source.start(self._through_txid)
                except (MissingEventsError, ChannelUnavailableError) as exc:
                    self._why_not[choice.name] = str(exc)
                    again = (lost,) if isinstance(exc, NotPermittedError) else again
                    is_late = self._clock() - since >= GO_ON_S
                    if _may_pass(exc) and not is_late:
                        continue
                    if _ends_run(exc):
                        raise
                    if choice is self._choices[-1] and (is_late or isinstance(exc, MissingEventsError)):
                        if isinstance(exc, NotPermittedError):
                            raise why from exc
                        raise
                else:
                    self._check_term(choice)
                    self._lost = None
                    self._change_over(choice, "" if choice is lost else f" and not from {lost.name}: {why}")
                    return
            await asyncio.sleep(backoff.failed(self._chance()))

    async def _held(self) -> bool:
        """Pause reads for a moment if that may let a better source take over; return whether it can.

        Under load the source in use returns new transactions before a better one has reached its last one.
        """
        if self._trial is None or not self._trial[1].is_near or self._clock() < self._held_at + HELD_AGAIN_S:
            return False
        self._held_at = self._clock()
        return await wait_set(self._ready, HELD_S)

    def _taken_over(self, current: Choice) -> EditsRead | None:
        """Return the first read of a better source that takes over; None if no source can."""
        if self._trial is None or not self._trial[1].is_ready:
            return None
        choice, overlap = self._trial
        read = overlap.take()
        self._end_trial()
        current.source.stop()
        self._change_over(choice)
        self._note(read)
        return read

    def _change_over(self, choice: Choice, why_not: str = "") -> None:
        self._logged = ""
        _log.info("edits after transaction %d are read from %s%s", self._through_txid, choice.name, why_not)
        self._use(choice)
        choice.source.wake()  # pass on an earlier `wake`

    def _use(self, choice: Choice) -> None:
        """Use a source, and try the better ones."""
        now = self._clock()
        if now - self._taken_at >= SETTLED_S:
            self._backoff.succeeded()
        self._current, self._taken_at = choice, now
        if choice is self._choices[0]:
            return
        if not self._backoff.failures:
            self._backoff.failed(self._chance())  # just now: it is not tried again immediately
        assert self._tasks is not None
        self._trying = self._tasks.create_task(self._try_better(choice), name="try better sources of edits")

    def _note(self, read: EditsRead) -> None:
        self._through_txid, self._is_durable = read.through_txid, read.is_durable
        self._returned.set()

    def _check_term(self, choice: Choice) -> None:
        if choice.source.term != self._term:
            raise MissingEventsError(
                f"the active NameNode is another one or was restarted: term {choice.source.term} after {self._term}"
            )

    # -- trials in the background -----------------------------------------------------------------------------------

    async def _try_better(self, current: Choice) -> None:
        """Try the better sources until one takes over, which cancels this task."""
        while True:
            await asyncio.sleep(self._backoff.failed(self._chance()))
            for choice in self._choices[: self._choices.index(current)]:
                try:
                    why_not = await self._try(choice)
                except (MissingEventsError, ChannelUnavailableError) as exc:
                    why_not = str(exc)
                except TimeoutError:
                    why_not = f"it did not catch up in {TRIAL_S:g} s"
                except Exception:  # noqa: BLE001 - the run continues with the source in use
                    _log.exception("internal error in reading from %s", choice.name)
                    why_not = "internal error"
                choice.source.stop()
                self._why_not[choice.name] = why_not
                message = f"edits are not read from {choice.name} yet: {why_not}"
                if message != self._logged:
                    _log.info("%s", message)
                    self._logged = message

    async def _try(self, choice: Choice) -> str:
        """Let a source catch up with the one in use, so that it can take over; return why it cannot."""
        while self._through_txid is None or not self._is_durable:
            await self._next_returned()
        overlap = Overlap(self._through_txid)
        self._trial = trial = choice, overlap
        self._ready.clear()
        try:
            async with asyncio.timeout(TRIAL_S):
                await choice.source.start(overlap.through_txid)
                self._check_term(choice)
                while not overlap.trouble:
                    if overlap.is_ready:
                        self._ready.set()
                        self._end_reading()
                        await self._next_returned()
                    else:
                        self._ready.clear()
                        overlap.read(await choice.source.read())
            return overlap.trouble
        finally:
            if self._trial is trial:
                self._trial = None

    async def _next_returned(self) -> None:
        self._returned.clear()
        await self._returned.wait()

    def _end_reading(self) -> None:
        """End a read of the source in use immediately: it may wait for an event that does not come."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.reschedule(asyncio.get_running_loop().time())

    def _end_trial(self) -> None:
        self._trial = None
        if self._trying is not None:
            self._trying.cancel()

    async def _trial_ended(self) -> None:
        """Wait until a cancelled trial has released its source."""
        if self._trying is not None:
            await asyncio.wait([self._trying])
            self._trying = None


def _ends_run(exc: Exception) -> bool:
    """Whether the log is another one than was followed, or is unreadable from any source."""
    if isinstance(exc, MissingEventsError):
        return exc.kind is not GapKind.PURGED
    return isinstance(exc, WrongNamespaceError)


def _may_pass(exc: Exception) -> bool:
    """Whether the log may only appear to end before the last returned transaction.

    This process may learn before the NameNode does that most JournalNodes have an edit (FSEditLog.logSync).
    """
    return isinstance(exc, MissingEventsError) and exc.kind is GapKind.WENT_BACK


def edits_of(
    namenodes: NameNodes,
    settings: EditsSettings,
    polling: PollingSettings,
    access: JournalAccess | None,
    clock: Callable[[], float],
    *,
    at_first_sight: bool,
) -> EditsSource:
    """Return the configured source of edits; see `JournalEdits` for `at_first_sight`."""
    polled = PolledEdits(namenodes, polling, clock)
    away_s = AWAY_S if settings.edits_source == AUTO else None
    choices: list[Choice] = []
    if access is not None:
        journal = JournalEdits(namenodes, access, clock, at_first_sight=at_first_sight, away_s=away_s)
        choices.append(Choice("the JournalNodes", journal))
    if settings.directory:
        directory = DirectoryEdits(namenodes, settings.directory, clock, away_s=away_s)
        choices.append(Choice(settings.directory, directory))
    if settings.edits_source != AUTO:
        return choices[0].source if choices else polled
    if not choices:
        _log.info(
            "edits are read from the NameNode (inotify): no JournalNodes are known and no directory, see "
            "shared_edits_dir and edits_dir"
        )
        return polled
    return AutoEdits((*choices, Choice("the NameNode (inotify)", polled)), clock)
