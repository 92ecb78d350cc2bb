"""Questions in flight to the NameNode, each shared by all requests that may share it.

A flight outlives the client that started it, so that a poller's disconnect costs no other caller the answer. It runs
in a task of its own, unless `nncache.proxy.decide.direct_calls` sends the call and delivers the reply. It ends in
exactly one `MetadataCache.conclude`, whatever happens. The task's done-callback ensures that: a task that is cancelled
before its first step runs no `finally`, but it does run its callbacks.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TypeAlias

from nncache.cache.decisions import Cacheable, Conclusion, Failed, Outcome
from nncache.cache.entries import Ticket
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import StatusRequest
from nncache.hadoop.errors import HadoopError
from nncache.proxy.decide.outcomes import file_outcome, outcome_of
from nncache.proxy.decide.ports import Clock, FetchCall, NameNodeQueries
from nncache.proxy.errors import ProxyError, UpstreamUnavailableError
from nncache.proxy.identity import Credential, rpc_user_of
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.upstream.direct_exchange import StartedCall

_log = logging.getLogger(__name__)

Answer: TypeAlias = UpstreamReply | ProxyError
"""The NameNode's reply, or why there is none: a value, so that no caller has to be waiting for it."""


@dataclass(frozen=True, slots=True)
class FlightResult:
    """How a flight ended.

    Attributes:
        conclusion: the cache's decision about the reply; NOT_KEPT if there was none.
        shared: the reply as it is cached, if requests that joined may have it.
    """

    conclusion: Conclusion
    shared: Cacheable | None


class Flight:
    """One question in flight.

    Attributes:
        plain: the question.
        credential: the cookie or token that authenticates it, if any.
        answered: done when the NameNode has replied or failed; the request that started the flight awaits it.
        done: done when the cache has taken the outcome; requests that joined await it.
        is_joined: whether another request waits for the reply.
    """

    __slots__ = ("answered", "credential", "done", "is_joined", "plain", "ticket")

    def __init__(self, ticket: Ticket, plain: StatusRequest, credential: Credential | None) -> None:
        loop = asyncio.get_running_loop()
        self.ticket = ticket
        self.plain = plain
        self.credential = credential
        self.is_joined = False
        self.answered: asyncio.Future[Answer] = loop.create_future()
        self.done: asyncio.Future[FlightResult] = loop.create_future()

    async def answer(self) -> Answer:
        """Wait for the NameNode's reply; cancelling one waiter does not cancel the others."""
        return await asyncio.shield(self.answered)

    async def result(self, timeout_s: float | None = None) -> FlightResult | None:
        """Wait for the end of the flight; None: it has not ended within `timeout_s`."""
        await asyncio.wait((self.done,), timeout=timeout_s)
        return self.done.result() if self.done.done() else None


class Flights:
    """All questions in flight, and the handling of their replies.

    Invariants:
        F1  Every ticket given to `launch` is concluded exactly once; one given to `begin` as well, once `ask` or
            `take` is called.
        F2  A flight can be found from its beginning until its ticket is concluded.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        cache: MetadataCache,
        fetch: FetchCall,
        queries: NameNodeQueries,
        clock: Clock,
        *,
        query_timeout_s: float,
    ) -> None:
        self._tasks = tasks  # entered and left by the front end
        self._cache = cache
        self._fetch = fetch
        self._queries = queries
        self._clock = clock
        self._query_timeout_s = query_timeout_s
        self._under_way: dict[Ticket, Flight] = {}
        self.fetches = 0  # calls sent for reads that may be cached
        self.closed_queries = 0  # calls of isFileClosed
        self.closed_query_failures = 0  # ... without an answer, so that the reply was not cached
        self.errors = 0  # internal errors, each logged (FailToNameNode)

    def __len__(self) -> int:
        """Return the number of questions in flight."""
        return len(self._under_way)

    def find(self, ticket: Ticket) -> Flight | None:
        """Return the flight of a ticket that is not concluded yet."""
        return self._under_way.get(ticket)

    def launch(
        self, ticket: Ticket, plain: StatusRequest, head: RequestHead, credential: Credential | None = None
    ) -> Flight:
        """Ask the NameNode under a ticket that the cache has just issued."""
        flight = self.begin(ticket, plain, credential)
        self.ask(flight, head)
        return flight

    def begin(self, ticket: Ticket, plain: StatusRequest, credential: Credential | None = None) -> Flight:
        """Register a question that is asked in the same iteration of the loop; `ask` or `take` must follow."""
        flight = Flight(ticket, plain, credential)
        self._under_way[ticket] = flight
        self.fetches += 1
        return flight

    def ask(self, flight: Flight, head: RequestHead, begun: StartedCall | None = None) -> None:
        """Ask the NameNode, or keep waiting for the reply to a call that was sent."""
        self._start(flight, self._run(flight, head, begun), begun)

    def take(self, flight: Flight, reply: UpstreamReply) -> None:
        """Take the NameNode's reply. The flight ends now, unless isFileClosed must be called first."""
        flight.answered.set_result(reply)
        try:
            outcome = self._outcome_of(flight, reply)
        except Exception:  # noqa: BLE001 - FailToNameNode: the reply is passed on all the same
            self._note_error(flight)
            outcome = Failed()
        if outcome is None:
            self._start(flight, self._known_if_closed(flight, reply))
        else:
            self._finish(flight, outcome)

    def _start(
        self, flight: Flight, running: Coroutine[None, None, Outcome], begun: StartedCall | None = None
    ) -> None:
        """Determine the outcome in a task, and end the flight with it."""

        def end(task: asyncio.Task[Outcome]) -> None:
            if begun is not None:
                begun.abandon()
            self._finish(flight, Failed() if task.cancelled() else task.result())

        try:
            task = self._tasks.create_task(running)
        except RuntimeError:  # the group is being shut down
            running.close()
            if begun is not None:
                begun.abandon()
            self._finish(flight, Failed())
            return
        task.add_done_callback(end)

    async def _run(self, flight: Flight, head: RequestHead, begun: StartedCall | None) -> Outcome:
        """Ask the NameNode, answer the waiting request, and return the outcome for the cache. Never raises."""
        try:
            try:
                reply = await self._fetch(head, begun)
            except ProxyError as error:
                flight.answered.set_result(error)
                return Failed()
            flight.answered.set_result(reply)
            outcome = self._outcome_of(flight, reply)
            return await self._known_if_closed(flight, reply) if outcome is None else outcome
        except Exception as error:  # noqa: BLE001 - an internal error must not take the other flights along
            self._note_error(flight)
            if not flight.answered.done():
                failure = ProxyError("internal error")
                failure.__cause__ = error
                flight.answered.set_result(failure)
        return Failed()

    async def _known_if_closed(self, flight: Flight, reply: UpstreamReply) -> Outcome:
        """Return the outcome of a file's status for the cache. Never raises."""
        try:
            is_closed = await self._is_closed(reply, flight)
            return file_outcome(reply, flight.credential, is_closed=is_closed)
        except Exception:  # noqa: BLE001 - as above
            self._note_error(flight)
            return Failed()

    def _outcome_of(self, flight: Flight, reply: UpstreamReply) -> Outcome | None:
        unchanged = None if flight.is_joined else flight.ticket
        return outcome_of(reply, flight.plain.as_requested, flight.credential, unchanged=unchanged)

    def _note_error(self, flight: Flight) -> None:
        self.errors += 1
        _log.exception("internal error while reading %s", flight.plain.path)

    async def _is_closed(self, reply: UpstreamReply, flight: Flight) -> bool:
        """Whether the same NameNode reports that the file is closed (OpenFileUncached).

        This may be asked after the reply: if the file is opened in between, that change spoils the ticket.
        """
        self.closed_queries += 1
        path, asker = flight.plain.path, rpc_user_of(flight.plain, flight.credential)
        try:
            async with asyncio.timeout(self._query_timeout_s):
                return await self._queries.is_file_closed(reply.namenode, path, asker)
        except (HadoopError, TimeoutError, OSError) as error:
            self.closed_query_failures += 1
            _log.debug("isFileClosed of %s: %s", path, error)
            return False

    def _finish(self, flight: Flight, outcome: Outcome) -> None:
        """End the flight: pass the outcome to the cache, then to all waiting requests."""
        conclusion = Conclusion.NOT_KEPT
        try:
            conclusion = self._cache.conclude(flight.ticket, outcome)
        except Exception:  # noqa: BLE001 - FailToNameNode: the reply is passed on all the same
            self.errors += 1
            _log.exception("the cache could not take a reply")
        del self._under_way[flight.ticket]
        if not flight.answered.done():
            flight.answered.set_result(UpstreamUnavailableError("the proxy is being stopped"))
        shared = outcome if conclusion.is_shareable and isinstance(outcome, Cacheable) else None
        flight.done.set_result(FlightResult(conclusion, shared))
