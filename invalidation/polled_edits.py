"""Read the edits of the active NameNode, page by page, each believed before it is used. (invalidation/polled_edits.py)

The shell over `edits_cursor`, `incarnation` and `pacing`. The direct channel reads through it from the present end
on, a publisher from its checkpoint.
"""

import asyncio
import logging
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from hadoop.election_view import NameNode
from hadoop.errors import (
    HadoopError,
    NoActiveNameNodeError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcUnavailableError,
)
from hadoop.remote_exception import Verdict
from invalidation.backoff import Backoff
from invalidation.edits_cursor import EditsCursor, Gap
from invalidation.edits_source import EditsRead
from invalidation.errors import ChannelUnavailableError, MissingEventsError, NotPermittedError
from invalidation.incarnation import Incarnation
from invalidation.namenodes import EditsRpc, NameNodes
from invalidation.pacing import PROBE_SPACING_S, PollPacer, RollPolicy
from invalidation.settings import InvalidationSettings
from invalidation.stats import ChannelStats, PollCounters

CONFIRM_TIMEOUT_S = 5.0
"""How long an active NameNode, or a probe that confirms it, is waited for."""

CONFIRM_STEP_S = 0.005
"""How often it is looked whether the pool's probe is back."""

UNREADABLE_S = 10.0
"""How long edits may stay unreadable at one position before it is given up: they may be lost for good."""

_PASSING = (Verdict.STANDBY, Verdict.RETRIABLE, Verdict.SAFE_MODE)
"""Verdicts that pass by themselves, or with the pool's finding another active NameNode."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Life:
    """What belongs to one life of the source."""

    namenode: NameNode
    rpc: EditsRpc
    incarnation: Incarnation


class PolledEdits:
    """Polls the active NameNode; paced, and within the budget over all lives. One user at a time.

    Invariants:
        P1  A page reaches the cursor only if `Incarnation.may_believe` its connection.
        P2  From a page's arrival to the return of what it brought there is no await: a cancelled `read` has
            either returned the page or not taken it, and then it is asked for again.
        P3  A life ends (MissingEventsError) as soon as the pool knows another term.
    """

    def __init__(
        self,
        namenodes: NameNodes,
        settings: InvalidationSettings,
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._namenodes = namenodes
        self._clock = clock
        self._chance = chance  # spreads retries apart
        self._pacer = PollPacer(settings, clock())
        self._rolls = RollPolicy(settings)
        self._roll_interval_s = settings.roll_interval_s
        self._backoff = Backoff()
        self._unreadable_since: float | None = None  # first of the errors in a row that no reconnect explains
        self._life: _Life | None = None
        self._cursor = EditsCursor(0)  # of this life
        self._first: EditsRead | None = None  # read by `start`, returned by the next `read`
        self._has_peers = len(namenodes.namenodes) > 1
        self._probed_at = -math.inf  # when `wake` last had the pool probe
        self._woken = asyncio.Event()  # ends a wait for the next poll
        self._counts = PollCounters()

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a life."""
        return 0 if self._life is None else self._life.incarnation.term

    async def start(self, after_txid: int | None) -> None:
        """Begin a life after this (durable) transaction, or at the present end, and read once.

        The present end is asked for before anything is promised: a change acknowledged after `start` was called
        has a higher transaction id than it, or is one of those read.

        Raises:
            ChannelUnavailableError: no active NameNode, or it can't be read now.
            NotPermittedError: this user may not read edits.
            MissingEventsError: `after_txid` is purged or not yet reached, or the active one changed meanwhile.
        """
        self.stop()
        try:
            active = await self._namenodes.wait_active(CONFIRM_TIMEOUT_S)
        except NoActiveNameNodeError as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        life = _Life(
            active.namenode,
            self._namenodes.rpc(active.namenode),
            Incarnation(active.term, has_peers=self._has_peers),
        )
        try:
            await self._confirm(life)
            if after_txid is None:
                self._cursor = EditsCursor(await self._present_end(life))
            else:
                self._cursor = EditsCursor(after_txid, synced_txid=after_txid)
            await self._pause()
            self._first = await self._poll(life)
        except HadoopError as exc:
            self._counts.polls_failed += 1
            self._suspect(life, exc)
            raise _unavailable(exc) from exc
        self._rolls.other_log()
        self._recovered()
        self._life = life

    def stop(self) -> None:
        """End the life; without one do nothing."""
        self._life = None
        self._first = None

    async def read(self) -> EditsRead:
        """Return what the next believed poll brought, which may be nothing but coverage.

        Lost connections are survived: it tries until it succeeds, or the life ends.

        Raises:
            MissingEventsError: continuity is lost.
            NotPermittedError: the right to read edits was taken away.
        """
        life = self._life
        if life is None:
            raise ChannelUnavailableError("the source was not started")
        if self._first is not None:
            first, self._first = self._first, None
            return first
        while True:
            try:
                if not life.incarnation.is_confirmed(life.rpc.connection_id):
                    await self._confirm(life)
                    self._counts.reconnects += 1
                await self._roll_if_due(life)
                await self._pause()
                read = await self._poll(life)
            except (HadoopError, ChannelUnavailableError) as exc:
                await self._recover(life, exc)
                continue
            self._recovered()
            return read

    def wake(self) -> None:
        """Poll soon, within the budget; with several NameNodes also ask who is active."""
        now = self._clock()
        self._pacer.wake(now)
        self._woken.set()
        if self._life is not None and self._has_peers and now - self._probed_at >= PROBE_SPACING_S:
            self._probed_at = now
            self._namenodes.suspect(self._life.namenode, "coverage is waited for")

    def stats(self) -> ChannelStats:
        """Return the figures over all lives."""
        return self._counts.stats(
            charged_s=self._pacer.charged_s, budget_s=self._pacer.budget.left_s(self._clock())
        )

    async def _confirm(self, life: _Life) -> None:
        """See to it that a connection is there, and only then ask who is active."""
        await (
            life.rpc.get_current_edit_log_txid()
        )  # a standby refuses it, and so is refused who may not read edits
        connection_id = life.rpc.connection_id
        since = self._clock()
        self._namenodes.suspect(life.namenode, "new RPC connection: is it still the same?")
        try:
            async with asyncio.timeout(CONFIRM_TIMEOUT_S):
                while not self._is_confirmed_since(life, since):  # noqa: ASYNC110 - the pool has no such event
                    await asyncio.sleep(CONFIRM_STEP_S)
        except TimeoutError as exc:
            raise ChannelUnavailableError(
                f"{life.namenode.http} was not confirmed as the active NameNode in {CONFIRM_TIMEOUT_S:g} s"
            ) from exc
        life.incarnation.confirmed(connection_id)

    def _is_confirmed_since(self, life: _Life, since: float) -> bool:
        self._check_term(life)
        confirmed_as_of = self._namenodes.confirmed_as_of
        return self._namenodes.active is not None and confirmed_as_of is not None and confirmed_as_of >= since

    def _check_term(self, life: _Life) -> None:
        active = self._namenodes.active
        if active is not None and life.incarnation.is_replaced(active.term):
            raise MissingEventsError(
                f"the active NameNode is another one or was restarted: {active.namenode.http}, "
                f"term {active.term} after {life.incarnation.term}"
            )

    async def _present_end(self, life: _Life) -> int:
        sent_on = life.rpc.connection_id
        txid = await life.rpc.get_current_edit_log_txid()
        self._check_believed(life, sent_on)
        if txid < 0:  # becoming active: its log is not open yet (NameNodeRpcServer.getCurrentEditLogTxid)
            raise ChannelUnavailableError(f"{life.namenode.rpc} is only becoming active")
        return txid

    async def _poll(self, life: _Life) -> EditsRead:
        """Poll once. From the reply on there is no await (P2)."""
        self._check_term(life)
        sent_on = life.rpc.connection_id
        sent_at = self._clock()
        page = await life.rpc.get_edits(self._cursor.next_txid)
        replied_at = self._clock()
        self._check_term(life)
        self._check_believed(life, sent_on)
        progress = self._cursor.receive(page, sent_at)
        if isinstance(progress, Gap):
            raise MissingEventsError(progress.reason)
        self._pacer.polled(sent_at, replied_at, advanced=progress.advanced, is_behind=progress.is_behind)
        if progress.advanced:
            self._rolls.polled(replied_at - sent_at)
        self._counts.polled(replied_at - sent_at, found=progress.advanced)
        active = self._namenodes.active
        return EditsRead(
            progress.batches,
            progress.through_txid,
            life.incarnation.covered_as_of(
                progress.covered_at,
                None if active is None else active.term,
                self._namenodes.confirmed_as_of,
            ),
        )

    def _check_believed(self, life: _Life, sent_on: int) -> None:
        if not life.incarnation.may_believe(sent_on, life.rpc.connection_id):
            self._counts.polls_distrusted += 1
            raise ChannelUnavailableError(f"{life.namenode.rpc}: the connection changed under a call")

    async def _pause(self) -> None:
        """Wait until the next poll is due."""
        while (delay_s := self._pacer.due_at - self._clock()) > 0:
            self._woken.clear()
            try:
                async with asyncio.timeout(delay_s):
                    await self._woken.wait()
            except TimeoutError:
                return

    async def _roll_if_due(self, life: _Life) -> None:
        """Close a long segment. A failure is no reason to stop reading."""
        sent_at = self._clock()
        is_pressed = self._pacer.is_pressed(sent_at)
        if not self._rolls.is_due(self._cursor.through_txid, sent_at, is_pressed=is_pressed):
            return
        self._rolls.asked(sent_at)
        try:
            began_txid = await life.rpc.roll_edits()
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
                _log.warning("rollEdits failed, next try in %g s: %s", self._roll_interval_s, exc)
            return
        self._counts.rolls += 1
        self._pacer.charge(self._clock() - sent_at, self._clock())
        self._rolls.rolled(began_txid)

    async def _recover(self, life: _Life, exc: Exception) -> None:
        """Wait before the next try; end the life where trying again can't help."""
        now = self._clock()
        self._counts.polls_failed += 1
        self._suspect(life, exc)
        match exc:
            case RemoteCallError(verdict=Verdict.ACCESS_CONTROL) | RpcAuthenticationError():
                raise _unavailable(exc) from exc
            case RpcUnavailableError() | ChannelUnavailableError():
                life.incarnation.lost()  # so that the new connection is confirmed before a poll is spent on it
            case RemoteCallError(verdict=verdict) if verdict in _PASSING:
                pass
            case _:
                if self._unreadable_since is None:
                    self._unreadable_since = now
                if now - self._unreadable_since >= UNREADABLE_S:
                    raise MissingEventsError(f"unreadable from {self._cursor.next_txid} on: {exc}") from exc
        delay_s = self._backoff.failed(self._chance())
        if self._backoff.failures == 2:  # noqa: PLR2004 - one lost connection is no news
            _log.warning("edits can't be read, trying again: %s", exc)
        await asyncio.sleep(delay_s)
        self._check_term(life)

    def _recovered(self) -> None:
        if self._backoff.failures > 1:
            _log.info("edits can be read again after %d failures", self._backoff.failures)
        self._backoff.succeeded()
        self._unreadable_since = None

    def _suspect(self, life: _Life, exc: Exception) -> None:
        self._namenodes.suspect(life.namenode, str(exc))


def _unavailable(exc: HadoopError) -> ChannelUnavailableError:
    """Translate the border's error into this room's."""
    match exc:
        case RemoteCallError(verdict=Verdict.ACCESS_CONTROL) | RpcAuthenticationError():
            return NotPermittedError(str(exc))
    return ChannelUnavailableError(str(exc))
