"""Find where publishing resumes, and report missed transactions to all readers."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    UnreadableEditsError,
)
from nncache.invalidation.publisher.filter_plan import changed_positions, plan_filters
from nncache.invalidation.publisher.output_stream import (
    FilterPosition,
    InotifyEventOutputStream,
    PublishedState,
)
from nncache.invalidation.publisher.pending import PendingBatch
from nncache.invalidation.publisher.stats import PublisherStats

UNREADABLE_S: Final = 10.0
"""Seconds for which the edits after the checkpoint may be unreadable before they are dropped."""

SILENCE_S: Final = 30.0
"""Seconds without a read of edits after which a run ends: another process may be able to read them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A run that can begin: the source continues after the pending batch."""

    pending: PendingBatch
    is_continuous: bool  # this process has read all edits so far, including changes of filters


class Resumption:
    """Begins runs.

    A missing transaction is never skipped silently: caches and filters receive it as dropped, or all of them
    start over (GapFlush).
    """

    def __init__(
        self,
        source: EditsSource,
        output: InotifyEventOutputStream,
        assemble: Callable[[int, Mapping[str, FilterPosition]], PendingBatch],
        counts: PublisherStats,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._source = source
        self._output = output
        self._assemble = assemble
        self._counts = counts
        self._clock = clock
        self._new_id = new_id  # of filters
        self._last: PendingBatch | None = None  # of the last run, with the filters in force when it ended
        self._unreadable_since: float | None = None  # since when the edits after the checkpoint can't be read

    async def begin(self, state: PublishedState) -> Resumed:
        """Start the source where the published records end.

        Raises:
            ChannelUnavailableError, NotPermittedError, MissingEventsError: as `EditsSource.start`.
            CoordinationError: missed transactions cannot be reported.
        """
        if state.txid is None:
            return await self._restart(state)
        is_continuous = self._last is not None and state.txid <= self._last.through_txid
        pending = await self._repair(state.txid, state.filters, state.damaged)
        while True:
            try:
                await self._source.start(pending.txid)
            except MissingEventsError as exc:
                match exc.kind:
                    case GapKind.OTHER:
                        raise
                    case GapKind.WENT_BACK:
                        _log.warning("restarting all streams, changes in between are unknown: %s", exc)
                        return await self._restart(state)
                    case GapKind.PURGED:
                        await self._drop(pending, _last_of(exc), str(exc))
                        is_continuous = False
                        continue
                    case GapKind.UNREADABLE:
                        await self._drop_unreadable(pending, exc)
                        is_continuous = False
                    case _:
                        assert_never(exc.kind)
            except UnreadableEditsError as exc:
                await self._drop_unreadable(pending, exc)
                is_continuous = False
            self._unreadable_since = None
            return Resumed(pending=pending, is_continuous=is_continuous)

    def found_unreadable(self) -> None:
        """Record that a run ended because the next edits were unreadable for too long."""
        self._unreadable_since = self._clock() - UNREADABLE_S

    async def _restart(self, state: PublishedState) -> Resumed:
        txid = await self._start_at_end()
        await self._output.begin(txid)
        self._unreadable_since = None
        self._counts.new_chains += 1
        _log.info("publishing starts after transaction %d", txid)
        published = {name: position.filter for name, position in state.filters.items()}
        self._last = self._assemble(txid, {})  # nothing is in force
        pending = await self._repair(txid, {}, {**state.damaged, **published})
        return Resumed(pending=pending, is_continuous=False)

    async def _repair(
        self,
        txid: int,
        filters: Mapping[str, FilterPosition],
        damaged: Mapping[str, PublishedFilter | None],
    ) -> PendingBatch:
        """Restart damaged filters; one without a readable definition restarts once HDFS has been read.

        This comes first: until it is published, caches that know these filters rely on their being matched. The same
        holds for filters whose znodes are all lost, which only a process that had them in force can notice. So a
        process that cannot tell that the set is the one it left makes all caches read the set again.
        """
        change = plan_filters({}, damaged, None, since_txid=txid, new_id=self._new_id)
        if not change.is_empty or _set_of(filters) != self._last_set():
            await self._output.change_filters(change)
            change = change.without(self._output.blocked)
        if damaged:
            _log.warning("restarting the streams of filters: %s", ", ".join(damaged))
        self._last = self._assemble(txid, changed_positions(filters, change, txid=txid))
        return self._last

    def _last_set(self) -> set[tuple[str, str, str]] | None:
        return None if self._last is None else _set_of(self._last.filters)

    async def _drop_unreadable(self, pending: PendingBatch, exc: Exception) -> None:
        """Drop edits that have been unreadable for UNREADABLE_S; before that, raise, and let the next run try again."""
        now = self._clock()
        if self._unreadable_since is None:
            self._unreadable_since = now
        if now - self._unreadable_since < UNREADABLE_S:
            raise exc
        await self._drop(pending, await self._start_at_end(), str(exc))

    async def _drop(self, pending: PendingBatch, last_txid: int, reason: str) -> None:
        _log.error("transactions %d to %d were missed: %s", pending.txid + 1, last_txid, reason)
        await self._output.publish(pending.drop(last_txid, reason))
        self._counts.drops += 1
        self._counts.published_txid = last_txid
        self._counts.published_at = self._clock()

    async def _start_at_end(self) -> int:
        """Start the source at the present end; return the transaction after which it reads.

        A transaction that is not durable yet could be lost, and its id given to another one.

        Raises ChannelUnavailableError: no durable transaction was read.
        """
        await self._source.start(None)
        try:
            async with asyncio.timeout(SILENCE_S):
                while not (read := await self._source.read()).is_durable:
                    pass
        except TimeoutError as exc:
            raise ChannelUnavailableError(f"the edits could not be read for {SILENCE_S:g} s") from exc
        return read.through_txid


def _last_of(exc: MissingEventsError) -> int:
    assert exc.last_txid is not None, "what is purged has an end"
    return exc.last_txid


def _set_of(filters: Mapping[str, FilterPosition]) -> set[tuple[str, str, str]]:
    """Return what caches look at: names, ids and globs. Owners and subscribers do not matter to them."""
    found = (position.filter for position in filters.values())
    return {(filter_.name, filter_.id, filter_.path_glob) for filter_ in found}
