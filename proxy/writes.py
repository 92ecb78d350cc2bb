"""Pass calls through, and forget what they make stale before their answer goes out. (proxy/writes.py)

The guarantee OwnWrites, step by step:

1. What is there already, and which missing ancestors the call may make, is asked before it is sent
   (`proxy/ground.py`).
2. The NameNode answers, or does not; both end in `settle`, which the forwarding awaits, shielded from
   the client's leaving, before the first byte goes to the client.
3. The forgetting itself is synchronous, so nothing can interrupt it half way. If forwarding ends without
   having settled, the outcome is unknown and the same is forgotten.
4. A redirected CREATE or APPEND happens later, past the proxy: what step 1 left open is asked again, then
   the last transaction id, then a window is opened, then the redirect is passed on.
"""

import asyncio
import contextlib
import logging
from http import HTTPStatus

from aiohttp import web

from cache.metadata_cache import MetadataCache
from hadoop.calls import Call
from hadoop.change import Change, EverythingUnknown
from hadoop.changes import CallOutcome, changes_of_call, opens_window, written_path
from hadoop.election_view import NameNode
from proxy.complaints import Complaints
from proxy.errors import OverloadedError, UpstreamError
from proxy.ground import UNTOUCHED, Ground, Surveyor
from proxy.messages import Header, RequestHead, SettledReply
from proxy.ports import Clock, NameNodeQueries, Streamer

_log = logging.getLogger(__name__)


def outcome_of(reply: SettledReply | None) -> CallOutcome:
    """Say what a reply, or its absence, tells about the call's effect.

    A redirect is a success: of the first step. A 4xx is a definite refusal, by the NameNode or by its
    servlet container before it looked at the call; only a 408 may have been cut in the middle.
    """
    if reply is None or reply.status == HTTPStatus.REQUEST_TIMEOUT:
        return CallOutcome.UNKNOWN
    if reply.status < HTTPStatus.BAD_REQUEST:
        return CallOutcome.DONE
    if reply.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return CallOutcome.REFUSED
    return CallOutcome.UNKNOWN


class Writes:
    """Calls that pass through, those that change something and those that do not."""

    def __init__(
        self,
        cache: MetadataCache,
        streamer: Streamer,
        queries: NameNodeQueries,
        clock: Clock,
        *,
        query_timeout_s: float,
    ) -> None:
        self._cache = cache
        self._streamer = streamer
        self._queries = queries
        self._clock = clock
        self._query_timeout_s = query_timeout_s
        self.settled = 0  # calls whose changes were applied before their answer
        self.unknown_outcomes = 0  # ... of these, sent and without a reply that tells
        self.windows_opened = 0  # two-step writes whose redirect was passed on
        self.windows_without_txid = 0  # ... of these, ended by time only
        self._surveyor = Surveyor(cache, queries, clock, query_timeout_s=query_timeout_s)
        self._complaints = Complaints(_log, clock)  # about these
        self._txid_failures = 0  # questions for the last transaction id without an answer
        self.errors = 0  # exceptions of our own, each logged (FailToNameNode)

    @property
    def query_failures(self) -> int:
        """Questions to the NameNode without an answer."""
        return self._txid_failures + self._surveyor.query_failures

    async def pass_through(
        self, request: web.BaseRequest, head: RequestHead, call: Call, cache_status: Header
    ) -> web.StreamResponse:
        """Pass one call and its reply through.

        Raises:
            ProxyError: there is no reply to pass on.
        """
        effect = _Effect(self, call, await self.survey(call))
        try:
            return await self._streamer.stream(request, head, effect.settle, lambda _: (cache_status,))
        except UpstreamError as error:
            effect.is_settled |= not error.outcome_unknown  # nothing was sent
            raise
        except OverloadedError:
            effect.is_settled = True  # nothing was sent
            raise
        finally:
            if not effect.is_settled:
                self.forget(call, CallOutcome.UNKNOWN, effect.ground)

    async def survey(self, call: Call) -> Ground:
        """Find out what is there already where the call is about to write."""
        try:
            return await self._surveyor.survey(call)
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not say what it needs proof of")
            return UNTOUCHED

    def forget(self, call: Call, outcome: CallOutcome, ground: Ground) -> None:
        """Apply what the call makes stale. Synchronous; never raises."""
        if ground.is_directory and call.op is not None:
            outcome = CallOutcome.REFUSED  # whatever it is told: nothing is made in a directory's place
        if outcome is CallOutcome.UNKNOWN and not call.is_read:
            self.unknown_outcomes += 1
        try:
            self._apply(changes_of_call(call, outcome, ground.topmost_missing))
        except Exception:  # noqa: BLE001 - FailToNameNode
            self._distrust_cache("could not take the changes of a write")

    def _apply(self, changes: tuple[Change, ...]) -> None:
        now = self._clock()
        for change in changes:
            self._cache.apply(change, now)
        self.settled += bool(changes)

    def _distrust_cache(self, what: str, *, is_under_way: bool = False) -> None:
        """Start from nothing after a fault of ours; if even that fails, keep nothing from here on.

        While a write is under way that the cache does not know of, nothing may be kept either.
        """
        self.errors += 1
        _log.exception("the cache %s; it starts from nothing", what)
        try:
            if is_under_way:
                self._cache.forward_all(self._clock())
            self._cache.apply(EverythingUnknown(f"the cache {what}"), self._clock())
        except Exception:  # noqa: BLE001 - FailToNameNode
            _log.exception("the cache cannot forget; nothing is kept from here on")
            with contextlib.suppress(Exception):  # the gate closes by time all the same
                self._cache.close_stream(f"the cache {what}")

    async def open_window(self, path: str, namenode: NameNode, topmost_missing: str | None) -> None:
        """Take the path out of the cache until the second step of a write has been seen to end."""
        txid: int | None = None
        try:
            async with asyncio.timeout(self._query_timeout_s):
                txid = await self._queries.last_txid(namenode)
        except Exception as error:  # noqa: BLE001 - FailToNameNode
            self._txid_failures += 1
            self._complaints.warn(f"the window of a write to {path} ends by time only: {error}")
        finally:  # also when it is cancelled here
            self.windows_opened += 1
            self.windows_without_txid += txid is None
            try:
                self._cache.open_window(path, txid, self._clock(), topmost_missing)
            except Exception:  # noqa: BLE001 - FailToNameNode
                self._distrust_cache("could not open the window of a two-step write", is_under_way=True)


class _Effect:
    """What one call in progress does to the cache.

    Attributes:
        ground: what was there before it was sent.
        is_settled: whether there is nothing more to forget.
    """

    __slots__ = ("_call", "_writes", "ground", "is_settled")

    def __init__(self, writes: Writes, call: Call, ground: Ground) -> None:
        self._writes = writes
        self._call = call
        self.ground = ground
        self.is_settled = False

    async def settle(self, reply: SettledReply | None) -> None:
        """Take what is known of the outcome; the reply is held back until this is through."""
        outcome = outcome_of(reply)
        self._writes.forget(self._call, outcome, self.ground)
        self.is_settled = True
        if reply is None or outcome is not CallOutcome.DONE or not opens_window(self._call):
            return
        path = written_path(self._call)
        if not self.ground.is_known:  # nothing is made before the second step, so it is not too late to look
            self.ground = await self._writes.survey(self._call)
        if path is not None and not self.ground.is_directory:
            await self._writes.open_window(path, reply.namenode, self.ground.topmost_missing)
