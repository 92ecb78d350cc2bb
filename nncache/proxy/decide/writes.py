"""Forward calls, and forget what they make stale before their answer is sent.

The guarantee OwnWrites, step by step:

1. Before a call is sent, the NameNode is asked what exists at its path, and which missing ancestors the call may
   create (`proxy/decide/existing_path.py`).
2. The NameNode replies, or does not. Either way ends in `settle`, which the forwarding awaits before the first byte
   is sent to the client. The client's disconnect does not cancel it.
3. Forgetting is synchronous, so it cannot be interrupted. If forwarding ends without `settle`, the outcome is
   unknown. If only the NameNode's events show what a call has changed, the answer waits for them, at most
   `max_staleness_s`: by then either they have been applied, or the gate is closed until they are
   (docs/decisions/0013).
4. A redirected CREATE or APPEND happens later and bypasses the proxy, at the path that the redirect names
   (`hadoop/redirects.py`). So the proxy asks, as the caller, what the caller can create there, and for the last
   transaction id; it opens a window, then passes on the redirect. A caller without the right to the write gets no
   window until a change may give that right.
"""

import asyncio
import contextlib
import logging
from dataclasses import replace
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.cache.deferred_writes import TwoStepWrite, TwoStepWriter
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import WebHdfsCall
from nncache.hadoop.change import EverythingUnknown, Footprint
from nncache.hadoop.effects import (
    UNTOUCHED,
    CallOutcome,
    ExistingPath,
    changes_nothing,
    effects_of_call,
    opens_window,
    outcome_of,
    written_path,
)
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.operations import Effect
from nncache.hadoop.paths import ROOT
from nncache.hadoop.redirects import second_step_paths
from nncache.hadoop.rpc.user import RpcUser
from nncache.net.log_throttle import ThrottledLog
from nncache.net.shares import holder_of
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.existing_path import PathProbe
from nncache.proxy.decide.ports import Clock, CoverageSignal, NameNodeQueries, StreamCall
from nncache.proxy.errors import OverloadedError, UpstreamError
from nncache.proxy.identity import cancelled_by, rpc_user_of_head
from nncache.proxy.messages import Decorate, RequestHead, SettledReply, nothing_to_settle

_log = logging.getLogger(__name__)


ASK_AGAIN_S: Final = 1.0
"""Seconds between two questions about a two-step write to a NameNode that does not answer."""

_NOT_WRITTEN: Final = ExistingPath(may_write=False)
"""For a second step that writes another path than the first step named: the first may have set an access time."""

_SLACK_S: Final = 0.001  # so that a wait ends after the moment that it waits for


class Writes:
    """Forwards calls, whether or not they change anything."""

    def __init__(
        self,
        cache: MetadataCache,
        stream: StreamCall,
        queries: NameNodeQueries,
        signal: CoverageSignal,
        clock: Clock,
        *,
        tasks: asyncio.TaskGroup,
        query_timeout_s: float,
        two_step_timeout_s: float,
    ) -> None:
        self._cache = cache
        self._stream = stream
        self._queries = queries
        self._signal = signal
        self._clock = clock
        self.settled = 0  # calls whose changes were applied before their answer
        self.unknown_outcomes = 0  # calls that were sent and whose outcome is unknown
        self.left_to_events = 0  # calls whose answer waited for the events that show what they changed
        self.windows_opened = 0  # two-step writes whose redirect was passed on
        self.windows_without_txid = 0  # ... whose window ends by time only
        self._path_probe = PathProbe(
            cache, queries, clock, query_timeout_s=query_timeout_s, two_step_timeout_s=two_step_timeout_s
        )
        self._throttled = ThrottledLog(_log, clock)  # about windows without a transaction id
        self._txid_failures = 0  # calls for the last transaction id without an answer
        self._is_txid_silent = False  # the last of these calls had no answer
        self._tasks = tasks
        self._asking: asyncio.Task[None] | None = None  # the task that asks again
        self._rechecks = 0  # how often the cache requested a recheck
        self._query_timeout_s = query_timeout_s
        self._is_stopped = False
        cache.windows.on_recheck = self._on_recheck
        self.errors = 0  # internal errors, each logged (FailToNameNode)

    @property
    def query_failures(self) -> int:
        """Number of questions to the NameNode without an answer."""
        return self._txid_failures + self._path_probe.query_failures

    async def pass_through(
        self, request: Request, head: RequestHead, call: WebHdfsCall, decorate: Decorate
    ) -> RawResponse:
        """Forward one call and its reply.

        Raises:
            ProxyError: there is no reply to forward.
        """
        if call.is_read and changes_nothing(call):
            return await self._stream(request, head, nothing_to_settle, decorate)
        user = rpc_user_of_head(head)
        effect = _Effect(self, call, await self.probe(call, user), _writer_of(head, call, user))
        try:
            return await self._stream(request, head, effect.settle, decorate)
        except UpstreamError as error:
            effect.is_settled |= not error.outcome_unknown  # nothing was sent
            raise
        except OverloadedError:
            effect.is_settled = True  # nothing was sent
            raise
        finally:
            if not effect.is_settled:
                await self.take(call, CallOutcome.UNKNOWN, effect.existing)

    async def probe(self, call: WebHdfsCall, user: RpcUser | None) -> ExistingPath:
        """Return what exists where the call is about to write."""
        try:
            return await self._path_probe.probe(call, user)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not say what it needs proof of")
            return UNTOUCHED

    async def take(self, call: WebHdfsCall, outcome: CallOutcome, existing: ExistingPath) -> None:
        """Forget what the call makes stale, and wait for events if only they show the rest. Never raises."""
        if outcome is CallOutcome.UNKNOWN and not call.is_read:
            self.unknown_outcomes += 1
        rechecks = self._rechecks
        try:
            for name in cancelled_by(call):  # also if it is refused: it may have been cancelled elsewhere
                is_certain = outcome is not CallOutcome.UNDONE
                self._cache.rights.end(Caller(name), self._clock(), is_certain=is_certain)
            effects = effects_of_call(call, outcome, existing)
            self._apply(effects.changes)
            if not effects.is_complete:
                await self._await_events()
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not take the changes of a write")
        try:
            if self._rechecks != rechecks and self._asking is not None:  # a second step may be permitted now
                await asyncio.wait({self._asking}, timeout=self._query_timeout_s)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not wait for what is asked about two-step writes", is_under_way=True)

    def _apply(self, changes: tuple[Footprint, ...]) -> None:
        now = self._clock()
        for change in changes:
            self._cache.apply(change, now)
        self.settled += bool(changes)

    async def _await_events(self) -> None:
        """Wait until changes acknowledged by now are applied, the gate must have closed, or nothing is cached."""
        self.left_to_events += 1
        began, gate = self._clock(), self._cache.gate
        while gate.fresh_as_of < began and self._cache.term is not None:
            left_s = gate.max_staleness_s - (self._clock() - began)
            if left_s < 0:
                return
            self._signal.request_probe()
            await self._signal.wait_covered(left_s + _SLACK_S)

    def _distrust_cache(self, what: str, *, is_under_way: bool = False) -> None:
        """Empty the cache after an internal error; if that fails too, cache nothing from now on.

        `is_under_way`: a write that the cache does not know of is in flight, so nothing may be cached meanwhile.
        """
        self.errors += 1
        _log.exception("the cache %s; it was emptied", what)
        try:
            if is_under_way:
                self._cache.forward_all(self._clock())
            self._cache.apply(EverythingUnknown(f"the cache {what}"), self._clock())
        except Exception:  # noqa: BLE001 - FailToNameNode
            _log.exception("the cache cannot be emptied; nothing is cached from here on")
            with contextlib.suppress(Exception):  # the gate closes by time all the same
                self._cache.close_stream(f"the cache {what}")

    async def probe_write(self, path: str, writer: TwoStepWriter) -> ExistingPath | None:
        """Return what the second step of a write can create; None: an internal error, all paths are forwarded."""
        try:
            return await self._path_probe.probe_write(path, writer)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not say what a two-step write needs", is_under_way=True)
            return None

    async def open_window(
        self, path: str, namenode: NameNode, existing: ExistingPath, writer: TwoStepWriter
    ) -> None:
        """Forward the path until the end of the write's second step is seen, if the second step is possible."""
        if path == ROOT:
            return
        writer = replace(writer, has_right=existing.can_be_made, is_known=existing.is_known)
        txid: int | None = None
        wait_s = self._query_timeout_s if self._is_txid_silent else self._path_probe.redirect_wait_s
        try:
            if writer.has_right:
                async with asyncio.timeout(wait_s):
                    txid = await self._queries.last_txid(namenode)
                self._is_txid_silent = False
        except Exception as error:  # noqa: BLE001 - FailToNameNode
            self._txid_failures += 1
            self._is_txid_silent = True
            self._throttled.warn(f"the window of a write to {path} ends by time only: {error}")
        finally:  # also when it is cancelled here
            self.windows_opened += writer.has_right
            self.windows_without_txid += writer.has_right and txid is None
            try:
                self._cache.open_window(path, txid, self._clock(), existing.topmost_missing, writer)
            except Exception:  # noqa: BLE001 - FailToNameNode
                self._distrust_cache("could not open the window of a two-step write", is_under_way=True)

    # -- rechecks of two-step writes -----------------------------------------------------------------

    def _on_recheck(self) -> None:
        self._rechecks += 1
        if self._asking is None and not self._is_stopped:
            self._asking = self._tasks.create_task(self._ask_again())

    def stop(self) -> None:
        """Stop asking about two-step writes."""
        self._is_stopped = True
        if self._asking is not None:
            self._asking.cancel()

    async def _ask_again(self) -> None:
        """Ask about the two-step writes in the cache's recheck queue, one by one, until the queue is empty."""
        try:
            while writes := self._cache.windows.take_recheck_queue():
                for write in writes:
                    await self._ask_about(write)
        except Exception:  # noqa: BLE001 - FailToNameNode: everything is forwarded while any of these may last
            self._distrust_cache("could not ask about two-step writes again", is_under_way=True)
        finally:
            self._asking = None

    async def _ask_about(self, write: TwoStepWrite) -> None:
        """Narrow a write's window to the paths that it can create, or open one if its caller now has the right.

        Nothing is cached under a window, so every entry after the narrowing was fetched later than this answer.
        """
        if self._path_probe.is_silent:
            await asyncio.sleep(ASK_AGAIN_S)
        if not self._cache.windows.is_pending(write, self._clock()):
            return
        existing = await self._path_probe.probe_write(write.path, write.writer, is_held=False)
        if not existing.is_known:
            self._cache.windows.recheck(write)
            return
        known = write.known(existing.topmost_missing, has_right=existing.can_be_made)
        self._cache.answer_recheck(write, known, self._clock())


def _writer_of(head: RequestHead, call: WebHdfsCall, user: RpcUser | None) -> TwoStepWriter:
    owners = f"peer={holder_of(head.peer)}", f"caller={head.caller}"
    appends = call.op is not None and call.op.effect is not Effect.APPEARS
    return TwoStepWriter(owners=owners, user=user, appends=appends)


class _Effect:
    """The effect of one call in progress on the cache.

    Attributes:
        existing: what existed before the call was sent.
        is_settled: whether the cache has taken the whole effect.
    """

    __slots__ = ("_call", "_writer", "_writes", "existing", "is_settled")

    def __init__(
        self, writes: Writes, call: WebHdfsCall, existing: ExistingPath, writer: TwoStepWriter
    ) -> None:
        self._writes = writes
        self._call = call
        self._writer = writer
        self.existing = existing
        self.is_settled = False

    async def settle(self, reply: SettledReply | None) -> None:
        """Apply the call's outcome to the cache; the reply is held back until this returns."""
        status, body = (None, None) if reply is None else (reply.status, reply.body)
        outcome = outcome_of(self._call, status, body)
        if reply is None or outcome is not CallOutcome.DONE or not opens_window(self._call):
            await self._take(outcome, self.existing)
            return
        paths, existing = second_step_paths(self._call, reply.headers, body), _NOT_WRITTEN
        writer = replace(self._writer, alternatives=paths if len(paths) > 1 else ())
        for path in paths:
            found = await self._writes.probe_write(path, writer)
            if found is not None:
                # Before the next question, so that a change that gives the right during it is not missed.
                await self._writes.open_window(path, reply.namenode, found, writer)
                existing = found if path == written_path(self._call) else existing
        await self._take(outcome, existing)

    async def _take(self, outcome: CallOutcome, existing: ExistingPath) -> None:
        await self._writes.take(self._call, outcome, existing)
        self.is_settled = True
