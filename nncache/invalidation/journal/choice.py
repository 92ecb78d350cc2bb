"""Which source of edits is read: the best that can be read, at any time."""

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

AWAY_S: Final = 1.0
"""A source that has not answered for so long is replaced, where there is another."""

FIRST_TRIAL_S: Final = 1.0
"""A better source is tried so long after it could not be read, and each time later up to LAST_TRIAL_S."""

LAST_TRIAL_S: Final = 60.0

TRIAL_S: Final = 15.0
"""How long a better source may take to catch up with the one in use."""

HELD_S: Final = 0.3
"""How long the one in use is not read, so that a better one can reach what it has returned."""

HELD_AGAIN_S: Final = 3.0
"""And how long it is read before that is done again."""

GO_ON_S: Final = 10.0
"""How long another source is waited for when one can no longer be read; then the run ends."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """A source, and what log lines call it."""

    name: str
    source: EditsSource


class AutoEdits:
    """The best source that can be read, at each moment of a run; an `EditsSource`.

    A run begins with the best source that can be read. Meanwhile better ones are tried in the background, and take over
    as `Overlap` says. When the one in use cannot be read any more, and that is no discontinuity of the log, the run
    goes on with another after the last transaction that was returned. A transaction id has one content for as long as
    the term lasts; all sources of a run are of one term.

    Invariants:
        A1  What follows in a run continues what was returned, whichever source it comes from.
        A2  Coverage is what the source in use said, of transactions that are returned with it or were before.
        A3  A read that is cancelled has lost nothing: no await is between the end of a source's `read` and the return
            of what it brought, and a change-over that was cancelled is made by the next read.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Choose among these; the best comes first, and the last is the one that is always there."""
        self._choices = tuple(choices)
        self._clock = clock
        self._chance = chance  # spreads retries apart
        self._term = 0  # of the run
        self._current: Choice | None = None  # the one in use; None outside a run
        self._through_txid: int | None = (
            None  # up to which the run has returned everything; None: not known yet
        )
        self._is_durable = False  # no NameNode can lose a transaction up to there
        self._lost: tuple[float, Exception] | None = None  # since when the one in use cannot be read, and why
        self._tasks: asyncio.TaskGroup | None = None  # from the first run on
        self._trying: asyncio.Task[None] | None = None  # tries better ones
        self._trial: tuple[Choice, Overlap] | None = None  # the one that is tried
        self._returned = asyncio.Event()  # something was returned
        self._ready = asyncio.Event()  # the one that is tried can take over
        self._held_at = -math.inf  # when the one in use was held last
        self._reading: asyncio.Timeout | None = (
            None  # ends a read of the one in use when another can take over
        )
        self._backoff = Backoff(FIRST_TRIAL_S, LAST_TRIAL_S)  # of trials
        self._taken_at = -math.inf  # when the one in use was taken
        self._why_not = dict[str, str]()  # why each that is better than the one in use is not, by name
        self._logged = (
            ""  # the last line of a run's beginning, or of a trial in vain: the same is logged once
        )

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return 0 if self._current is None else self._term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run of the best source that can be read; raises what the last one raises."""
        self.stop()
        await self._trial_ended()
        if self._tasks is None:
            tasks = asyncio.TaskGroup()
            await tasks.__aenter__()
            self._tasks = tasks
        for choice in self._choices:
            try:
                await choice.source.start(after_txid)
            except (MissingEventsError, ChannelUnavailableError) as exc:
                is_gap = isinstance(exc, MissingEventsError) and exc.kind is not GapKind.PURGED
                if choice is self._choices[-1] or is_gap:
                    raise
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
        """End the run; without one do nothing."""
        self._current = self._lost = None
        self._why_not.clear()
        self._end_trial()
        for choice in self._choices:
            choice.source.stop()

    async def shut_down(self) -> None:
        """Give up what outlasts the runs."""
        self.stop()
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            await tasks.__aexit__(None, None, None)
        for choice in self._choices:
            await choice.source.shut_down()

    async def read(self) -> EditsRead:
        """Return what comes next.

        Raises:
            MissingEventsError: continuity is lost.
            ChannelUnavailableError: no source can be read any more.
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
                continue  # another can take over
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
        """Ask for the next `read` to return soon."""
        if self._current is not None:
            self._current.source.wake()

    def stats(self) -> ChannelStats:
        """Return the figures of all sources, each over all runs."""
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
        """Begin a source that is not as good after what was returned.

        Raises:
            MissingEventsError, ChannelUnavailableError: none can be begun, and the run ends.
        """
        self._end_trial()
        await self._trial_ended()
        lost.source.stop()
        self._why_not[lost.name] = str(why)
        backoff = Backoff()
        while True:
            for choice in self._choices[self._choices.index(lost) + 1 :]:
                try:
                    await choice.source.start(self._through_txid)
                except (MissingEventsError, ChannelUnavailableError) as exc:
                    self._why_not[choice.name] = str(exc)
                    is_late = self._clock() - since >= GO_ON_S
                    if _may_pass(exc) and not is_late:
                        continue
                    if _ends_run(exc):
                        raise
                    if choice is self._choices[-1] and (is_late or isinstance(exc, MissingEventsError)):
                        raise
                else:
                    self._check_term(choice)
                    self._lost = None
                    self._change_over(choice, f" and not from {lost.name}: {why}")
                    return
            await asyncio.sleep(backoff.failed(self._chance()))

    async def _held(self) -> bool:
        """Read nothing for a moment if that may let a better source take over; return whether it can.

        Under load the one in use returns the next transactions before a better one has reached the last.
        """
        if self._trial is None or not self._trial[1].is_near or self._clock() < self._held_at + HELD_AGAIN_S:
            return False
        self._held_at = self._clock()
        try:
            async with asyncio.timeout(HELD_S):
                await self._ready.wait()
        except TimeoutError:
            return False
        return True

    def _taken_over(self, current: Choice) -> EditsRead | None:
        """Return the first read of a better source that takes over; None if none can."""
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
        choice.source.wake()  # what the one before was asked for is asked of this one

    def _use(self, choice: Choice) -> None:
        """Use a source, and try those that are better."""
        now = self._clock()
        if now - self._taken_at >= SETTLED_S:
            self._backoff.succeeded()
        self._current, self._taken_at = choice, now
        if choice is self._choices[0]:
            return
        if not self._backoff.failures:
            self._backoff.failed(self._chance())  # just now: that one is not tried again at once
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
        """Try the sources that are better than the one in use until one takes over, which ends this task."""
        while True:
            await asyncio.sleep(self._backoff.failed(self._chance()))
            for choice in self._choices[: self._choices.index(current)]:
                try:
                    why_not = await self._try(choice)
                except (MissingEventsError, ChannelUnavailableError) as exc:
                    why_not = str(exc)
                except TimeoutError:
                    why_not = f"it did not catch up in {TRIAL_S:g} s"
                except Exception:  # noqa: BLE001 - the run goes on with the one in use
                    _log.exception("internal error in reading from %s", choice.name)
                    why_not = "internal error"
                choice.source.stop()
                self._why_not[choice.name] = why_not
                message = f"edits are not read from {choice.name} yet: {why_not}"
                if message != self._logged:
                    _log.info("%s", message)
                    self._logged = message

    async def _try(self, choice: Choice) -> str:
        """Have a source catch up with the one in use, so that it can take over; return why it cannot."""
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
        """Have a read of the one in use end at once: it may wait for something that does not come."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.reschedule(asyncio.get_running_loop().time())

    def _end_trial(self) -> None:
        self._trial = None
        if self._trying is not None:
            self._trying.cancel()

    async def _trial_ended(self) -> None:
        """Return when a trial that was ended has let go of its source."""
        if self._trying is not None:
            await asyncio.wait([self._trying])
            self._trying = None


def _ends_run(exc: Exception) -> bool:
    """Whether the log is not the one that was followed, or cannot be read by any source."""
    if isinstance(exc, MissingEventsError):
        return exc.kind is not GapKind.PURGED
    return isinstance(exc, WrongNamespaceError)


def _may_pass(exc: Exception) -> bool:
    """Whether the log only seems to end before what was returned.

    That most JournalNodes have an edit is known here before the NameNode knows it (FSEditLog.logSync).
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
    """Return the source of edits that the settings name; see `JournalEdits` for `at_first_sight`."""
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
