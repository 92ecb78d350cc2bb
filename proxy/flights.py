"""Questions on their way to the NameNode, each shared by all who may share it. (proxy/flights.py)

A flight is a task of its own: it outlives the client for whom it was launched, so that a poller who
hangs up costs no other caller the answer. It ends in exactly one `MetadataCache.conclude`, whatever
happens, because that is done by the task's done-callback: a task that is cancelled before its first
step runs no `finally`, but it does run its callbacks.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from nncache.cache.admission import Admission, admit
from nncache.cache.decisions import Conclusion, Denied, Failed, Known, OpenFile, Outcome, Unchanged
from nncache.cache.entries import Kind, Ticket
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.replies import Reply
from nncache.hadoop.calls import StatusRequest
from nncache.hadoop.errors import HadoopError
from nncache.proxy.errors import NoActiveNameNodeError, ProxyError
from nncache.proxy.headers import replayed_headers
from nncache.proxy.identity import rpc_user_of
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.ports import Clock, ClosedFiles, Fetcher

_log = logging.getLogger(__name__)

Answer: TypeAlias = UpstreamReply | ProxyError
"""What the NameNode said, or why it said nothing: a value, so that no caller has to be there to take it."""


@dataclass(frozen=True, slots=True)
class FlightResult:
    """How a flight ended.

    Attributes:
        conclusion: what the cache made of the reply; NOT_KEPT if there was none.
        shared: the reply as it is kept, if those who joined may have it.
    """

    conclusion: Conclusion
    shared: Known | None


class Flight:
    """One question under way.

    Attributes:
        answered: done when the NameNode has replied or failed; what the client who asked gets.
        done: done when the cache has taken the outcome; what those who joined wait for.
        is_joined: another caller is to have the reply, if they may.
    """

    __slots__ = ("answered", "done", "is_joined", "ticket")

    def __init__(self, ticket: Ticket) -> None:
        loop = asyncio.get_running_loop()
        self.ticket = ticket
        self.is_joined = False
        self.answered: asyncio.Future[Answer] = loop.create_future()
        self.done: asyncio.Future[FlightResult] = loop.create_future()

    async def answer(self) -> Answer:
        """Wait for the NameNode's reply; a caller that is cancelled here cancels no other."""
        return await asyncio.shield(self.answered)

    async def result(self, timeout_s: float | None = None) -> FlightResult | None:
        """Wait for the end of the flight; None if it has not come in time."""
        await asyncio.wait((self.done,), timeout=timeout_s)
        return self.done.result() if self.done.done() else None


class Flights:
    """All questions under way, and what is done with the replies.

    Invariants:
        F1  Every ticket given to `launch` is concluded exactly once.
        F2  A flight can be found from its launch until its ticket is concluded.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        cache: MetadataCache,
        fetcher: Fetcher,
        queries: ClosedFiles,
        clock: Clock,
        *,
        query_timeout_s: float,
    ) -> None:
        self._tasks = tasks  # entered and left by the front end
        self._cache = cache
        self._fetcher = fetcher
        self._queries = queries
        self._clock = clock
        self._query_timeout_s = query_timeout_s
        self._under_way: dict[Ticket, Flight] = {}
        self.fetches = 0  # calls sent for reads that may be kept
        self.closed_queries = 0  # isFileClosed asked
        self.closed_query_failures = 0  # ... without an answer, hence not kept
        self.errors = 0  # exceptions of our own, each logged (FailToNameNode)

    def __len__(self) -> int:
        """Return the number of flights under way."""
        return len(self._under_way)

    def find(self, ticket: Ticket) -> Flight | None:
        """Return the flight of a ticket that is not concluded yet."""
        return self._under_way.get(ticket)

    def launch(self, ticket: Ticket, plain: StatusRequest, head: RequestHead) -> Flight:
        """Ask the NameNode under a ticket that was taken just before."""
        flight = Flight(ticket)
        self._under_way[ticket] = flight
        self.fetches += 1
        running = self._run(flight, plain, head)
        try:
            task = self._tasks.create_task(running)
        except RuntimeError:  # the group is being shut down
            running.close()
            self._finish(flight, Failed())
            return flight
        task.add_done_callback(
            lambda task: self._finish(flight, Failed() if task.cancelled() else task.result())
        )
        return flight

    async def _run(self, flight: Flight, plain: StatusRequest, head: RequestHead) -> Outcome:
        """Ask, hand the reply to the one who asked, and say what it is to the cache. Never raises."""
        try:
            try:
                reply = await self._fetcher.fetch(head)
            except ProxyError as error:
                flight.answered.set_result(error)
                return Failed()
            flight.answered.set_result(reply)
            return await self._judge(flight, reply, plain)
        except Exception as error:  # noqa: BLE001 - an internal error must not take the other flights along
            self.errors += 1
            _log.exception("internal error while reading %s", plain.path)
            if not flight.answered.done():
                failure = ProxyError("internal error")
                failure.__cause__ = error
                flight.answered.set_result(failure)
        return Failed()

    async def _judge(self, flight: Flight, reply: UpstreamReply, plain: StatusRequest) -> Outcome:
        admission = admit(reply.status, reply.body, plain.as_requested)
        match admission:
            case Admission.MISSING:
                return _known(reply, Kind.MISSING)
            case Admission.DIRECTORY:
                return _known(reply, Kind.DIRECTORY)
            case Admission.ASK_WHETHER_CLOSED:
                known = _known(reply, Kind.FILE)
                if not flight.is_joined and flight.ticket.finds_unchanged(known.reply):
                    return Unchanged(reply=known.reply, replied_at=reply.replied_at, term=reply.term)
                if await self._is_closed(reply, plain):
                    return known
                return OpenFile(replied_at=reply.replied_at, term=reply.term)
            case Admission.DO_NOT_KEEP:
                return OpenFile(replied_at=reply.replied_at, term=reply.term)
            case Admission.DENIED:
                return Denied()
            case Admission.FAILED:
                return Failed()
            case _:
                assert_never(admission)

    async def _is_closed(self, reply: UpstreamReply, plain: StatusRequest) -> bool:
        """Whether the NameNode that replied also says that the file is closed (OpenFileUncached).

        It may be asked after the reply: an opening in between makes a change that spoils the ticket.
        """
        self.closed_queries += 1
        try:
            async with asyncio.timeout(self._query_timeout_s):
                return await self._queries.is_file_closed(reply.namenode, plain.path, rpc_user_of(plain))
        except (HadoopError, TimeoutError, OSError) as error:
            self.closed_query_failures += 1
            _log.debug("isFileClosed of %s: %s", plain.path, error)
            return False

    def _finish(self, flight: Flight, outcome: Outcome) -> None:
        """End the flight: the cache takes the outcome, then everybody who waits is told."""
        conclusion = Conclusion.NOT_KEPT
        try:
            conclusion = self._cache.conclude(flight.ticket, outcome)
        except Exception:  # noqa: BLE001 - FailToNameNode: the reply is passed on all the same
            self.errors += 1
            _log.exception("the cache could not take a reply")
        del self._under_way[flight.ticket]
        if not flight.answered.done():
            flight.answered.set_result(NoActiveNameNodeError("the proxy is being stopped"))
        shared = outcome if conclusion.is_shareable and isinstance(outcome, Known) else None
        flight.done.set_result(FlightResult(conclusion, shared))


def _known(reply: UpstreamReply, kind: Kind) -> Known:
    kept = Reply(status=reply.status, headers=replayed_headers(reply.headers), body=reply.body)
    return Known(reply=kept, kind=kind, replied_at=reply.replied_at, term=reply.term)
