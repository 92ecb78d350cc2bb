"""Pass calls through, and forget what they make stale before their answer goes out.

The guarantee OwnWrites, step by step:

1. What is there already, and which missing ancestors the call may make, is asked before it is sent
   (`proxy/decide/existing_path.py`).
2. The NameNode answers, or does not; both end in `settle`, which the forwarding awaits, shielded from
   the client's leaving, before the first byte goes to the client.
3. The forgetting itself is synchronous, so nothing can interrupt it half way. If forwarding ends without
   having settled, the outcome is unknown. Where only the NameNode's
   events tell what a call has changed, the answer waits for them, at most `max_staleness_s`: then either
   they have been applied, or the gate is closed until they are (docs/decisions/0013).
4. A redirected CREATE or APPEND happens later, past the proxy, at the path that the redirect names
   (`hadoop/redirects.py`): what its caller can make there is asked, as they, then the last transaction id, then a
   window is opened, then the redirect is passed on. Without a right to the write there is no window before
   something changes that may give them one.
"""

import asyncio
import contextlib
import logging
from dataclasses import replace
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.cache.deferred_writes import TwoStepWrite, Writer
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import Call
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
from nncache.proxy.decide.ports import Clock, CoverageSignal, NameNodeQueries, Stream
from nncache.proxy.errors import OverloadedError, UpstreamError
from nncache.proxy.identity import cancelled_by, rpc_user_of_head
from nncache.proxy.messages import Decorate, RequestHead, SettledReply, nothing_to_settle

_log = logging.getLogger(__name__)


ASK_AGAIN_S: Final = 1.0
"""Between two questions about a two-step write to a NameNode that does not answer."""

_NOT_WRITTEN: Final = ExistingPath(may_write=False)
"""Where the second step writes another path than the first one was about: that one may have set an access time."""

_SLACK_S: Final = 0.001  # so that a wait does not end in the very moment that it waits for


class Writes:
    """Calls that pass through, those that change something and those that do not."""

    def __init__(
        self,
        cache: MetadataCache,
        stream: Stream,
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
        self.unknown_outcomes = 0  # calls that were sent and got no reply that tells
        self.left_to_events = 0  # calls whose answer waited for the events to tell what they have changed
        self.windows_opened = 0  # two-step writes whose redirect was passed on
        self.windows_without_txid = 0  # ... of these, ended by time only
        self._path_probe = PathProbe(
            cache, queries, clock, query_timeout_s=query_timeout_s, two_step_timeout_s=two_step_timeout_s
        )
        self._throttled = ThrottledLog(_log, clock)  # about these
        self._txid_failures = 0  # questions for the last transaction id without an answer
        self._is_txid_silent = False  # the last of these was one
        self._tasks = tasks
        self._asking: asyncio.Task[None] | None = None  # what asks again
        self._rechecks = 0  # how often the cache wanted something asked again
        self._query_timeout_s = query_timeout_s
        self._is_stopped = False
        cache.windows.on_recheck = self._on_recheck
        self.errors = 0  # exceptions of our own, each logged (FailToNameNode)

    @property
    def query_failures(self) -> int:
        """Questions to the NameNode without an answer."""
        return self._txid_failures + self._path_probe.query_failures

    async def pass_through(
        self, request: Request, head: RequestHead, call: Call, decorate: Decorate
    ) -> RawResponse:
        """Pass one call and its reply through.

        Raises:
            ProxyError: there is no reply to pass on.
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

    async def probe(self, call: Call, user: RpcUser | None) -> ExistingPath:
        """Find out what is there already where the call is about to write."""
        try:
            return await self._path_probe.probe(call, user)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not say what it needs proof of")
            return UNTOUCHED

    async def take(self, call: Call, outcome: CallOutcome, existing: ExistingPath) -> None:
        """Take what the call makes stale: forget it, and wait for the events that tell the rest. Never raises."""
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
            if self._rechecks != rechecks and self._asking is not None:  # some second step may succeed now
                await asyncio.wait({self._asking}, timeout=self._query_timeout_s)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not wait for what is asked about two-step writes", is_under_way=True)

    def _apply(self, changes: tuple[Footprint, ...]) -> None:
        now = self._clock()
        for change in changes:
            self._cache.apply(change, now)
        self.settled += bool(changes)

    async def _await_events(self) -> None:
        """Wait until all that has been acknowledged by now is applied, or nothing older can be served."""
        self.left_to_events += 1
        began, gate = self._clock(), self._cache.gate
        while gate.fresh_as_of < began:
            left_s = gate.max_staleness_s - (self._clock() - began)
            if left_s < 0:
                return
            self._signal.request_probe()
            await self._signal.wait_covered(left_s + _SLACK_S)

    def _distrust_cache(self, what: str, *, is_under_way: bool = False) -> None:
        """Start from nothing after an internal error; if even that fails, keep nothing from here on.

        While a write is under way that the cache does not know of, nothing may be kept either.
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

    async def probe_write(self, path: str, writer: Writer) -> ExistingPath | None:
        """Find out what the second step of a write can make; None after an internal error, when all is forwarded."""
        try:
            return await self._path_probe.probe_write(path, writer)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not say what a two-step write needs", is_under_way=True)
            return None

    async def open_window(
        self, path: str, namenode: NameNode, existing: ExistingPath, writer: Writer
    ) -> None:
        """Take the path out of the cache until the second step of a write has been seen to end, if it can be made."""
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

    # -- what is asked again -------------------------------------------------------------------------

    def _on_recheck(self) -> None:
        self._rechecks += 1
        if self._asking is None and not self._is_stopped:
            self._asking = self._tasks.create_task(self._ask_again())

    def stop(self) -> None:
        """Ask nothing again from here on."""
        self._is_stopped = True
        if self._asking is not None:
            self._asking.cancel()

    async def _ask_again(self) -> None:
        """Ask what the cache wants to know of two-step writes, one after the other, until it knows."""
        try:
            while writes := self._cache.windows.take_recheck_queue():
                for write in writes:
                    await self._ask_about(write)
        except Exception:  # noqa: BLE001 - FailToNameNode: all is forwarded for as long as any of these may last
            self._distrust_cache("could not ask about two-step writes again", is_under_way=True)
        finally:
            self._asking = None

    async def _ask_about(self, write: TwoStepWrite) -> None:
        """Narrow the window of a write to what it can make, or open one that its caller has a right to now.

        Nothing was kept under a window, so what is kept once it is narrower was asked for later than the answer.
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


def _writer_of(head: RequestHead, call: Call, user: RpcUser | None) -> Writer:
    owners = f"peer={holder_of(head.peer)}", f"caller={head.caller}"
    appends = call.op is not None and call.op.effect is not Effect.APPEARS
    return Writer(owners=owners, user=user, appends=appends)


class _Effect:
    """What one call in progress does to the cache.

    Attributes:
        existing: what was there before it was sent.
        is_settled: whether there is nothing more to take.
    """

    __slots__ = ("_call", "_writer", "_writes", "existing", "is_settled")

    def __init__(self, writes: Writes, call: Call, existing: ExistingPath, writer: Writer) -> None:
        self._writes = writes
        self._call = call
        self._writer = writer
        self.existing = existing
        self.is_settled = False

    async def settle(self, reply: SettledReply | None) -> None:
        """Take what is known of the outcome; the reply is held back until this is through."""
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
                # First, so that a change that gives the right while others are asked about is not missed.
                await self._writes.open_window(path, reply.namenode, found, writer)
                existing = found if path == written_path(self._call) else existing
        await self._take(outcome, existing)

    async def _take(self, outcome: CallOutcome, existing: ExistingPath) -> None:
        await self._writes.take(self._call, outcome, existing)
        self.is_settled = True
