"""Read the edits of the active NameNode, page by page, paced and without end.

The shell over `cursor` and `pacing`, on a `ConfirmedNameNode`. The direct channel reads through it from the present
end, a publisher from its checkpoint.
"""

import asyncio
import logging
import math
import random
from collections.abc import Callable
from dataclasses import replace

from nncache.hadoop.errors import (
    HadoopError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcUnavailableError,
    WrongAddressError,
)
from nncache.hadoop.remote_exception import Verdict
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.edits.confirmed_namenode import ConfirmedNameNode
from nncache.invalidation.edits.cursor import EditsCursor, EditsGap
from nncache.invalidation.edits.pacing import IDLE_COST_S, PROBE_SPACING_S, PollPacer, RollPolicy
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    UnconfirmedReplyError,
    WrongNamespaceError,
)
from nncache.invalidation.namenodes import NameNodes, wait_active
from nncache.invalidation.same_namespace import PASSING, unavailable
from nncache.invalidation.settings import INOTIFY, PollingSettings
from nncache.invalidation.stats import ChannelStats
from nncache.net.event_wait import wait_set

UNREADABLE_S = 10.0
"""Seconds for which edits may be unreadable at one position before the run ends: they may be lost for good."""

ROLL_WAIT_S = 0.3
"""Seconds for which polls wait for the reply to rollEdits (16 ms on Hadoop 3.5.0)."""

_log = logging.getLogger(__name__)


class PolledEdits:
    """Polls the active NameNode, paced, within one budget for all runs. One user at a time.

    Invariants:
        P1  Only pages of the confirmed incarnation reach the cursor.
        P2  From a page's arrival to the return of its result there is no await: a cancelled `read` has either
            returned the page, or not processed it, and then it is requested again.
        P3  A run ends (MissingEventsError) as soon as the pool knows another term.
    """

    def __init__(
        self,
        namenodes: NameNodes,
        settings: PollingSettings,
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._namenodes = namenodes
        self._clock = clock
        self._chance = chance  # from 0 to 1; jitter of the backoff
        self._pacer = PollPacer(settings, clock())
        self._rolls = RollPolicy(settings)
        self._roll_interval_s = settings.roll_interval_s
        self._backoff = Backoff()
        self._unreadable_since: float | None = None  # first error in a row that no reconnect explains
        self._namenode: ConfirmedNameNode | None = None
        self._cursor = EditsCursor(0)  # of this run
        self._first: EditsRead | None = None  # read by `start`, returned by the next `read`
        self._has_peers = len(namenodes.namenodes) > 1
        self._wanted_at: float | None = None  # coverage as of this time is requested; None: it is not
        self._written: tuple[float, int] | None = (
            None  # (time, last transaction written then), until it is read
        )
        self._probed_at = -math.inf  # when the pool was last asked to probe for that
        self._woken = asyncio.Event()  # ends a wait for the next poll
        self._counts = ChannelStats(source=INOTIFY)

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return 0 if self._namenode is None else self._namenode.term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run after this (durable) transaction, or at the present end, and read once.

        The present end is requested first: a change acknowledged after the call of `start` has a higher transaction id,
        or is among the edits read.

        Raises:
            ChannelUnavailableError: no active NameNode, or it cannot be read now (UnreadableEditsError: these edits
                cannot be read, perhaps never).
            NotPermittedError: this user may not read edits.
            WrongNamespaceError: the RPC address leads to another namespace than the HTTP address.
            MissingEventsError: `after_txid` is purged or not reached yet, or the active NameNode changed in between.
        """
        self.stop()
        active = await wait_active(self._namenodes)
        namenode = ConfirmedNameNode(self._namenodes, active, self._clock)
        try:
            await namenode.confirm()
            # Requested in any case: while a NameNode is becoming active, its syncTxid may be that of its last run.
            end_txid = await namenode.present_end()
            if after_txid is None:
                self._cursor = EditsCursor(end_txid)
            else:
                self._cursor = EditsCursor(after_txid, synced_txid=after_txid)
            await self._pause()
            self._first = await self._poll(namenode)
        except HadoopError as exc:
            self._counts.polls_failed += 1
            namenode.suspect(str(exc))
            raise unavailable(exc) from exc
        self._rolls.other_log()
        self._recovered()
        self._namenode = namenode

    def stop(self) -> None:
        """End the run, if there is one."""
        self._namenode = None
        self._first = None
        self._written = None

    async def shut_down(self) -> None:
        """End the run; nothing outlasts it."""
        self.stop()

    async def read(self) -> EditsRead:
        """Return the result of the next trusted poll, which may be coverage alone.

        It survives lost connections, and retries until it succeeds or the run ends.

        Raises:
            MissingEventsError: continuity is lost.
            NotPermittedError: the right to read edits was taken away.
            WrongNamespaceError: the RPC address leads to another namespace than the HTTP address.
        """
        namenode = self._namenode
        if namenode is None:
            raise ChannelUnavailableError("the source was not started")
        if self._first is not None:
            first, self._first = self._first, None
            return first
        while True:
            try:
                if not namenode.is_confirmed:
                    await namenode.confirm()
                    self._counts.reconnects += 1
                await self._roll_if_due(namenode)
                self._hurry()
                await self._pause()
                await self._look_ahead(namenode)
                read = await self._poll(namenode)
            except (HadoopError, ChannelUnavailableError) as exc:
                await self._recover(namenode, exc)
                continue
            self._recovered()
            return read

    def wake(self) -> None:
        """Request coverage as of now: poll soon, within the budget, until it is reached."""
        self._wanted_at = self._clock()
        self._hurry()
        self._woken.set()

    def stats(self) -> ChannelStats:
        """Return the figures over all runs."""
        return replace(
            self._counts,
            poll_charged_s=self._pacer.charged_s,
            poll_budget_s=self._pacer.budget.left(self._clock()),
        )

    async def _poll(self, namenode: ConfirmedNameNode) -> EditsRead:
        """Poll once. After the reply there is no await (P2)."""
        sent_at = self._clock()
        page = await namenode.poll(self._cursor.next_txid)
        replied_at = self._clock()
        progress = self._cursor.receive(page, sent_at)
        if isinstance(progress, EditsGap):
            raise MissingEventsError(
                progress.reason,
                progress.kind,
                first_txid=progress.first_txid,
                last_txid=progress.last_txid,
            )
        took_s = replied_at - sent_at
        self._pacer.polled(sent_at, replied_at, advanced=progress.advanced, is_behind=progress.is_behind)
        if progress.advanced:
            self._rolls.polled(took_s)
        self._counts.polled(took_s, found=progress.advanced)
        fresh_as_of = namenode.fresh_as_of(progress.covered_at)
        seen_as_of: float | None = None
        if self._written is not None and progress.through_txid >= self._written[1]:
            seen_as_of, self._written = namenode.fresh_as_of(self._written[0]), None
        if seen_as_of is not None and self._wanted_at is not None and seen_as_of >= self._wanted_at:
            self._wanted_at = None
        return EditsRead(
            progress.batches, progress.through_txid, fresh_as_of, progress.is_durable, seen_as_of
        )

    async def _look_ahead(self, namenode: ConfirmedNameNode) -> None:
        """While coverage is requested, ask how far the log has been written.

        A client can see a change before it is durable, and polls return durable edits alone (FSNamesystem syncs its log
        after it has released its lock; NameNodeRpcServer.getEditsFromTxid reads up to syncTxid).
        """
        if self._wanted_at is None or self._written is not None:
            return
        asked_at = self._clock()
        self._written = asked_at, await namenode.present_end()
        self._pacer.charge(IDLE_COST_S, self._clock())

    def _hurry(self) -> None:
        """While coverage is requested, poll soon and, with several NameNodes, have the pool probe which is active."""
        if self._wanted_at is None or self._namenode is None:
            return
        now = self._clock()
        self._pacer.wake(now)
        confirmed_as_of = self._namenodes.confirmed_as_of
        is_confirmed = confirmed_as_of is not None and confirmed_as_of >= self._wanted_at
        if self._has_peers and not is_confirmed and now - self._probed_at >= PROBE_SPACING_S:
            self._probed_at = now
            self._namenode.suspect("coverage is waited for")

    async def _pause(self) -> None:
        """Wait until the next poll is due."""
        while (delay_s := self._pacer.due_at - self._clock()) > 0:
            self._woken.clear()
            if not await wait_set(self._woken, delay_s):
                return

    async def _roll_if_due(self, namenode: ConfirmedNameNode) -> None:
        """Close a long segment. A failure does not stop the reading."""
        sent_at = self._clock()
        is_pressed = self._pacer.is_pressed(sent_at)
        if not self._rolls.is_due(self._cursor.through_txid, sent_at, is_pressed=is_pressed):
            return
        self._rolls.asked(sent_at)
        try:
            async with asyncio.timeout(ROLL_WAIT_S):
                began_txid = await namenode.roll_edits()
        except TimeoutError:  # waiting polls may close the gate; the roll is probably carried out
            self._counts.rolls_failed += 1
            self._rolls.other_log()
            return
        except RemoteCallError as exc:
            self._counts.rolls_failed += 1
            if exc.verdict is Verdict.ACCESS_CONTROL:
                self._rolls.forbidden()
                _log.warning(
                    "rollEdits is refused to us (%s): while the NameNode's open edit segment is long, changes are "
                    "seen later, at 20,000 transactions about half a second under steady change (poll_budget_share)",
                    exc,
                )
            else:
                _log.warning("rollEdits failed, retrying in %g s: %s", self._roll_interval_s, exc)
            return
        self._counts.rolls += 1
        self._pacer.charge(self._clock() - sent_at, self._clock())
        self._rolls.rolled(began_txid)

    async def _recover(self, namenode: ConfirmedNameNode, exc: Exception) -> None:
        """Wait before the next attempt; end the run if another attempt cannot help."""
        now = self._clock()
        self._counts.polls_failed += 1
        self._counts.polls_distrusted += isinstance(exc, UnconfirmedReplyError)
        namenode.suspect(str(exc))
        match exc:
            case WrongNamespaceError():
                raise exc
            case (
                RemoteCallError(verdict=Verdict.ACCESS_CONTROL)
                | RpcAuthenticationError()
                | WrongAddressError()
            ):
                raise unavailable(exc) from exc
            case RpcUnavailableError() | ChannelUnavailableError():
                namenode.lost()  # so that the new connection is confirmed before a poll is spent on it
            case RemoteCallError(verdict=verdict) if verdict in PASSING:
                namenode.lost()  # the connection may have ended with it
            case _:
                if self._unreadable_since is None:
                    self._unreadable_since = now
                if now - self._unreadable_since >= UNREADABLE_S:
                    next_txid = self._cursor.next_txid
                    raise MissingEventsError(
                        f"unreadable from {next_txid} on: {exc}", GapKind.UNREADABLE, first_txid=next_txid
                    ) from exc
        delay_s = self._backoff.failed(self._chance())
        if self._backoff.failures == 2:  # noqa: PLR2004 - one lost connection is no news
            _log.warning("cannot read the edits, retrying: %s", exc)
        await asyncio.sleep(delay_s)
        namenode.check_term()

    def _recovered(self) -> None:
        if self._backoff.failures > 1:
            _log.info("reading the edits again after %d failures", self._backoff.failures)
        self._backoff.succeeded()
        self._unreadable_since = None
