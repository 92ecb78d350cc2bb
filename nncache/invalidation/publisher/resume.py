"""Find where publishing goes on, and tell everybody what was missed."""

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
"""How long the edits after the checkpoint may stay unreadable before they are given up."""

SILENCE_S: Final = 30.0
"""A run in which the edits can't be read for so long ends: another process may be luckier."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A run that can begin: the source reads on from the position of what is pending."""

    pending: PendingBatch
    is_continuous: bool  # this process has seen all edits so far, changes of the filters in HDFS among them


class Resumption:
    """Begins runs.

    A missing transaction is never passed over: caches and filters get it as dropped, or all of them
    start again (GapFlush).
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
        self._last: PendingBatch | None = None  # of the last run: its filters were in force when it ended
        self._unreadable_since: float | None = None  # since when the edits after the checkpoint can't be read

    async def begin(self, state: PublishedState) -> Resumed:
        """Start the source where the published records end.

        Raises:
            ChannelUnavailableError, NotPermittedError, MissingEventsError: as `EditsSource.start`.
            CoordinationError: what was missed can't be published.
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
        """Take note that a run ended since the next edits could not be read for long."""
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
        """Restart damaged filters, those that can't be read when HDFS has been asked for them.

        Before anything else: until that is published, caches that have read them before count on their being matched.
        So they do with filters of which nothing is left, and only who had them in force knows that. Hence a process
        that can't say that the set is the one it left has everybody read it.
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
        """Give up what can't be read, if that has lasted; else let the next run try."""
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
        """Start the source at the present end; return from where on it reads.

        A transaction that is not durable yet could be lost and its number given to another.

        Raises ChannelUnavailableError: none was read that is durable.
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
    """Return what caches look at: names, ids and globs; owners and subscribers are of no meaning to them."""
    found = (position.filter for position in filters.values())
    return {(filter_.name, filter_.id, filter_.path_glob) for filter_ in found}
