"""Publish the edits of one nameservice while the process runs."""

import asyncio
import logging
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NoReturn

from nncache.coordination.errors import CoordinationError, NotAllowedError
from nncache.coordination.task_group import run_all
from nncache.hadoop.errors import HadoopError
from nncache.invalidation.backoff import NOT_PERMITTED_RETRY_S, SETTLED_S, Backoff
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.errors import (
    GapKind,
    InvalidationError,
    MissingEventsError,
    NotPermittedError,
    WrongNamespaceError,
    part_from_frames,
)
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.namenodes import NameNodes, wait_active
from nncache.invalidation.publisher.filter_follower import (
    FilterAdmission,
    FilterFollower,
    StoredFiltersReader,
)
from nncache.invalidation.publisher.filter_journal import FilterHistory
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import (
    FilterPosition,
    InotifyEventOutputStream,
    PublishedState,
)
from nncache.invalidation.publisher.pacing import RecordPacer
from nncache.invalidation.publisher.pending import PendingBatch
from nncache.invalidation.publisher.resume import Resumption
from nncache.invalidation.publisher.run import Run
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.stats import PublisherStats
from nncache.invalidation.same_namespace import check_same_namespace

USELESS_S: Final = 10.0
"""Seconds without publishing after which a leader lets a standby try."""

SILENT_S: Final = 5.0
"""Seconds without a read of edits, or with edits waiting to be published, after which `situation` reports it."""

_log = logging.getLogger(__name__)


class Publisher:
    """Publishes, run after run.

    A run begins by reading the published state, from ZooKeeper alone, and ends with any error: the outcome of its last
    write is then unknown, and is not guessed.

    Invariants:
        P1  Every matching event after a filter's beginning is in its records once and in order, or a record says that
            it was dropped, or the filter restarts under another id (GapFlush).
        P2  Everything that `.cache` covers is in the records of every filter: these are acknowledged first.
        P3  A record for caches holds every change that concerns a filter in force at its generation.
    """

    def __init__(  # noqa: PLR0913 - one for each part
        self,
        *,
        source: EditsSource,
        namenodes: NameNodes,
        filters: StoredFiltersReader,
        output: InotifyEventOutputStream,
        settings: PublisherSettings,
        identity: PublisherIdentity,
        clock: Callable[[], float],
        admission: FilterSettings | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._source = source
        self._namenodes = namenodes
        self._output = output
        self._settings = settings
        self._identity = identity
        self._clock = clock
        self._chance = chance  # from 0 to 1; jitter of the backoff
        self._follower = FilterFollower(filters, settings.filters_reread_s, clock)
        self._admission = FilterAdmission(admission or FilterSettings())
        self._pacer = RecordPacer(settings, clock())
        self._limits = FilterLimits(settings.max_events_per_s_per_filter, clock())
        self._counts = PublisherStats()
        self.journal = FilterHistory()
        """The publications of each filter and the changes of the set of filters; for operators."""
        self._resumption = Resumption(source, output, self._assemble, self._counts, clock, _new_id)
        self._run: Run | None = None  # the current one; None between runs
        self._backoff = Backoff()
        self._complaint = ""  # why the last run ended, or could not begin; a repeated reason is logged once
        self._useless_since = clock()  # since when nothing could be published

    async def run(self) -> NoReturn:
        """Publish until cancelled."""
        while True:
            began_at = self._clock()
            try:
                await self._live()
                raise AssertionError("a run ends with an error")  # noqa: TRY301 - handled below
            except Exception as exc:  # noqa: BLE001 - supervised: a publisher that dies closes every proxy's gate
                pause_s = await self._ended(exc, self._clock() - began_at)
                part_from_frames(exc)
            await asyncio.sleep(pause_s)

    async def shut_down(self) -> None:
        """Let others publish, and close the session with ZooKeeper; call it when `run` has ended."""
        await self._output.shut_down()
        await self._source.shut_down()

    def stats(self) -> PublisherStats:
        """Return the current figures."""
        broken, refused = self._faults_of_filters()
        return replace(
            self._counts,
            filters=0 if self.is_standby else self._counts.filters,
            filters_broken=len(broken),
            filters_refused=len(refused),
            filters_read=self._follower.filters_read,
            filter_reads_failed=self._follower.reads_failed,
            filters_over_limit=self._limits.over,
            events_waiting=0 if self._run is None else self._run.events_waiting,
            waiting_for=self._output.waiting_for,
            output=self._output.stats(),
            session=self._output.session_stats(),
            channel=self._source.stats(),
        )

    @property
    def filters(self) -> Mapping[str, FilterPosition]:
        """The filters in force, by name, each with the position of its own records; empty between runs."""
        return {} if self._run is None else self._run.filters

    @property
    def broken_filters(self) -> Mapping[str, str]:
        """Why filters in HDFS are not used as they are, by name: the definition is broken or refused."""
        broken, refused = self._faults_of_filters()
        return {**broken, **{name: f"refused: {reason}" for name, reason in refused.items()}}

    def _faults_of_filters(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return why filters in HDFS are broken, and why refused, by name; a standby, which reads none, has none."""
        stored = self._follower.stored
        if stored is None or self.is_standby:
            return {}, {}
        return stored.broken, self._admission.refused

    @property
    def waiting_s(self) -> float:
        """The time for which edits have been waiting to be published, in seconds; 0 between runs."""
        return 0.0 if self._run is None else self._run.waiting_s(self._clock())

    @property
    def is_standby(self) -> bool:
        """Whether another publisher leads."""
        return self._run is None and bool(self._output.waiting_for)

    def situation(self) -> str:
        """Return why nothing is being published; "" if publishing works."""
        if self._run is None:
            if self._output.waiting_for:
                return f"another publisher leads: {self._output.waiting_for}"
            return self._complaint or "publishing has not begun yet"
        now = self._clock()
        if (silent_s := now - self._counts.read_at) > SILENT_S:
            return f"the edits have not been read for {silent_s:.0f} s"
        if (waiting_s := self._run.waiting_s(now)) > SILENT_S:
            return f"what was read could not be published for {waiting_s:.0f} s"
        return ""

    async def _live(self) -> None:
        """Carry out one run until it ends with an error."""
        active = await wait_active(self._namenodes)
        namespace = await check_same_namespace(self._namenodes, active)
        asked_at = self._clock()
        state = await self._output.open(self._identity, namespace.block_pool)
        self._useless_since += self._clock() - asked_at  # a standby is not useless
        await run_all(self._output.keep, lambda: self._publish(state))

    async def _publish(self, state: PublishedState) -> None:
        if state.txid is not None:
            self._counts.published_txid = state.txid
        resumed = await self._resumption.begin(state)
        self._run = Run(
            resumed,
            source=self._source,
            output=self._output,
            follower=self._follower,
            pacer=self._pacer,
            counts=self._counts,
            journal=self.journal,
            admission=self._admission,
            limits=self._limits,
            clock=self._clock,
            new_id=_new_id,
        )
        self._counts.is_publishing = True
        self._counts.runs += 1
        self._counts.published_txid = resumed.pending.txid
        self._counts.read_at = self._clock()
        self._complaint = ""
        _log.info(
            "publishing after transaction %d, with %d filters",
            resumed.pending.txid,
            len(resumed.pending.filters),
        )
        await self._run.run()

    def _assemble(self, txid: int, filters: Mapping[str, FilterPosition]) -> PendingBatch:
        return PendingBatch(
            txid,
            filters,
            max_changes=self._settings.max_changes_per_record,
            max_events=self._settings.max_buffered_events,
            filters_path=self._follower.path,
            limits=self._limits,
            counts=self._counts,
        )

    async def _ended(self, exc: Exception, lasted_s: float) -> float:
        """Clean up after a run, count and log its end; return the seconds to wait before the next."""
        now = self._clock()
        self._source.stop()
        if self._run is not None:
            self._run, self._counts.is_publishing, self._useless_since = None, False, now
        if isinstance(exc, MissingEventsError) and exc.kind is GapKind.UNREADABLE:
            self._resumption.found_unreadable()
        needs_help = isinstance(exc, NotPermittedError | WrongNamespaceError | NotAllowedError)
        is_ours = not isinstance(exc, InvalidationError | CoordinationError | HadoopError)
        give_up = needs_help or is_ours or now - self._useless_since >= USELESS_S
        if give_up:
            self._useless_since = now
        await self._output.close(give_up=give_up)
        if lasted_s >= SETTLED_S:
            self._backoff.succeeded()
        self._counts.runs_failed += not isinstance(exc, MissingEventsError)
        complaint = f"{type(exc).__name__}: {exc}"
        if complaint != self._complaint:
            self._complaint = complaint
            _complain(exc, needs_help=needs_help, is_ours=is_ours)
        return NOT_PERMITTED_RETRY_S if needs_help else self._backoff.failed(self._chance())


def _complain(exc: Exception, *, needs_help: bool, is_ours: bool) -> None:
    if needs_help:
        _log.error("publishing stopped, needs an administrator: %s", exc)
    elif is_ours:
        _log.error("internal error; restarting from the last published record", exc_info=exc)
    else:
        _log.warning("nothing is published for now, retrying after the last published record: %s", exc)


def _new_id() -> str:
    return uuid.uuid4().hex
