"""What exists at and above the path that a call is about to write.

MKDIRS, CREATE and CREATESYMLINK create missing ancestors. Each creation invalidates everything cached below it.
A directory at the path itself costs nothing: MKDIRS then creates nothing, and the NameNode redirects a CREATE but
does not carry it out while the directory exists. Such calls must neither empty the cache nor keep a whole subtree out
of it. So the proxy asks the NameNode about everything that the cache cannot prove: before it sends a one-step call, and
before it passes on the redirect of a two-step write.
"""

import asyncio
import logging
from typing import Final

from cachetools import LRUCache

from nncache.cache.deferred_writes import TwoStepWriter
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import WebHdfsCall
from nncache.hadoop.effects import UNTOUCHED, ExistingPath, destination_of, written_path
from nncache.hadoop.errors import CallerRefusedError
from nncache.hadoop.operations import Effect
from nncache.hadoop.paths import ROOT, Ancestors, ancestors, exceeds_limits
from nncache.hadoop.rpc.user import RpcUser
from nncache.net.http_failure import why_unanswered
from nncache.net.log_throttle import ThrottledLog
from nncache.proxy.decide.ports import Clock, NameNodeQueries
from nncache.proxy.messages import WriteRight

_log = logging.getLogger(__name__)


MAX_SHARED: Final = 1_000


class _Shared:
    """A question about a caller and a directory, shared by all calls that arrived before it was sent.

    A later call needs a new question: the answer may be older than a right whose event is in flight, or was lost.
    """

    __slots__ = ("answer", "asked", "lock")

    def __init__(self) -> None:
        self.asked = 0  # how often it was sent
        self.answer: tuple[WriteRight, str | None] | None = None  # to the last question; None: none yet
        self.lock = asyncio.Lock()


class PathProbe:
    """Finds out what exists, from the cache or else from the NameNode."""

    def __init__(
        self,
        cache: MetadataCache,
        queries: NameNodeQueries,
        clock: Clock,
        *,
        query_timeout_s: float,
        two_step_timeout_s: float,
    ) -> None:
        self._cache = cache
        self._queries = queries
        self._clock = clock
        self._query_timeout_s = query_timeout_s
        self._two_step_timeout_s = two_step_timeout_s
        self.is_silent = False  # the NameNode did not answer the last question about a two-step write
        self._throttled = ThrottledLog(_log, clock)  # about questions without an answer
        self._shared: LRUCache[tuple[RpcUser, str], _Shared] = LRUCache(MAX_SHARED)
        self.query_failures = 0  # questions to the NameNode without an answer

    async def probe(self, call: WebHdfsCall, user: RpcUser | None) -> ExistingPath:
        """Return what exists before a one-step call is sent, as its caller sees it, within one query's timeout."""
        path = written_path(call)
        if call.op is not None and call.op.effect is Effect.MOVES:
            return await self._probe_destination(call, user)
        if call.op is None or call.op.two_step or not call.op.makes_ancestors:
            return UNTOUCHED
        if path is None or exceeds_limits(path):
            return UNTOUCHED
        if path == ROOT:
            return ExistingPath(is_directory=True)
        unproven = self._cache.unproven_ancestors(path, self._clock())
        topmost: str | None = None
        try:
            async with asyncio.timeout(self._query_timeout_s):
                # The cache is no proof here: another client may have deleted the directory, its event still in flight.
                if self._cache.holds(path) and await self._queries.is_directory(path, user):
                    return ExistingPath(is_directory=True)
                for above in unproven:
                    # Where nothing is cached, "missing" costs nothing.
                    if self._cache.holds(above) and await self._queries.exists(above, user):
                        break
                    topmost = above
        except CallerRefusedError:
            # Callers cannot create what they may not see: no event will follow.
            return ExistingPath(is_known=False)
        except Exception as error:  # noqa: BLE001 - FailToNameNode: the events will show it
            self._fail(f"cannot tell what exists at and above {path}", error)
            return ExistingPath(is_known=False)
        return ExistingPath(topmost_missing=topmost)

    @property
    def redirect_wait_s(self) -> float:
        """Timeout in seconds of a question that a redirect waits for; shorter while the NameNode does not answer."""
        return self._query_timeout_s if self.is_silent else self._two_step_timeout_s

    async def probe_write(self, path: str, writer: TwoStepWriter, *, is_held: bool = True) -> ExistingPath:
        """Return what the second step of a two-step write can create, before its redirect is passed on.

        The second step cannot start before that, so the present answer counts. A NameNode that fails to answer is
        asked once more. Then every ancestor that may be missing counts as missing. `is_held`: the redirect waits.
        """
        if path == ROOT:
            return ExistingPath(is_directory=True)
        if not self._cache.concerns(path):
            return UNTOUCHED
        try:
            async with asyncio.timeout(self.redirect_wait_s if is_held else self._two_step_timeout_s):
                existing = await self._look_until_settled(path, writer)
        except Exception as error:  # noqa: BLE001 - FailToNameNode: ancestors not proven to exist count as missing
            self._fail(f"cannot tell what a write to {path} can make", error)
            self.is_silent = True
            unproven = () if writer.appends else self._cache.unproven_ancestors(path, self._clock())
            return ExistingPath(topmost_missing=unproven[-1] if unproven else None, is_known=False)
        self.is_silent = False
        return existing

    async def _look_until_settled(self, path: str, writer: TwoStepWriter) -> ExistingPath:
        """Ask; repeat if the caller has no right, and a change that may grant it was applied during the question.

        The change may be another client's that is answered already: nothing would report it later.
        """
        watches = self._cache.store.watches
        watch = watches.add(path, _nothing)
        try:
            while True:
                invalidations = watch.invalidations
                try:
                    existing = await self._ask_with_retry(path, writer)
                except CallerRefusedError:
                    existing = ExistingPath(may_write=False)
                if existing.can_be_made or watch.invalidations == invalidations:
                    return existing
        finally:
            watches.remove(watch)

    async def _ask_with_retry(self, path: str, writer: TwoStepWriter) -> ExistingPath:
        try:
            return await self._look(path, writer)
        except CallerRefusedError:
            raise
        except Exception as error:  # noqa: BLE001 - a connection lost, a pause: asked once more
            self._fail(f"asking once more what a write to {path} can make", error)
            return await self._look(path, writer)

    async def _look(self, path: str, writer: TwoStepWriter) -> ExistingPath:
        topmost: str | None = None
        if (
            not writer.appends
        ):  # FSDirWriteFileOp.startFile: the right to write the nearest ancestor that exists
            right, topmost = await self._look_above(path, writer.user)
            if right is WriteRight.DENIED:
                return ExistingPath(may_write=False)
        if await self._queries.is_directory(path, writer.user):
            return ExistingPath(is_directory=True)
        # ... and the file itself, if it exists. FSDirAppendOp.appendFile: only the file.
        right = await self._queries.may_write(path, writer.user)
        may_write = right is not WriteRight.DENIED and not (writer.appends and right is WriteRight.MISSING)
        return ExistingPath(topmost_missing=topmost, may_write=may_write)

    async def _look_above(self, path: str, user: RpcUser | None) -> tuple[WriteRight, str | None]:
        """Return the right to write the nearest ancestor that exists, and the topmost ancestor that is missing.

        Many calls into one directory share one question in flight.
        """
        above = ancestors(path)
        if user is None:
            return await self._ask_above(above, user)
        shared = self._shared.setdefault((user, above[0]), _Shared())
        asked_before = shared.asked
        async with shared.lock:
            if shared.asked == asked_before or shared.answer is None:
                shared.asked, shared.answer = shared.asked + 1, None
                shared.answer = await self._ask_above(above, user)
            return shared.answer

    async def _ask_above(self, above: Ancestors, user: RpcUser | None) -> tuple[WriteRight, str | None]:
        """Ask the NameNode. All ancestors of an existing path exist, so O(log depth) questions are enough."""
        topmost: str | None = None
        right = await self._queries.may_write(above[0], user)
        is_there = right in {WriteRight.GRANTED, WriteRight.DENIED}
        if not is_there and (right is WriteRight.MISSING or not await self._queries.exists(above[0], user)):
            low, high = 1, len(above) - 1  # the root exists
            while low < high:
                middle = (low + high) // 2
                if await self._queries.exists(above[middle], user):
                    high = middle
                else:
                    low = middle + 1
            if low < len(above):
                topmost = above[low - 1]
                right = await self._queries.may_write(above[low], user)
        return right, topmost

    def _fail(self, what: str, error: Exception) -> None:
        self.query_failures += 1
        why = why_unanswered(error)
        self._throttled.warn(f"{what}: {why}; the call goes on: see the load and the log of the NameNode")

    async def _probe_destination(self, call: WebHdfsCall, user: RpcUser | None) -> ExistingPath:
        """Return whether RENAME moves into a directory, if anything is cached there."""
        destination = destination_of(call)
        if destination is None or destination == ROOT or not self._cache.holds(destination):
            return UNTOUCHED
        try:
            async with asyncio.timeout(self._query_timeout_s):
                return ExistingPath(
                    destination_is_directory=await self._queries.is_directory(destination, user)
                )
        except Exception as error:  # noqa: BLE001 - FailToNameNode: the events will show it
            self._fail(f"cannot tell whether {destination} is a directory", error)
            return ExistingPath(is_known=False)


def _nothing() -> None:
    """Do nothing: the watch's count is read instead."""
