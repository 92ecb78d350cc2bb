"""The WebHDFS front end: choose how each request is answered, and report that in its reply.

`reads` answers a plain GETFILESTATUS; `writes` forwards everything else below `/webhdfs`.
"""

import asyncio
import logging
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, assert_never

from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import WHAT_IS_SERVED, WebHdfsCall, is_webhdfs, parse_call
from nncache.net.http1.conditional import Conditions, conditions_of
from nncache.proxy.admission import WEBHDFS, AdmittedRequest, ByToken
from nncache.proxy.cache_status import (
    NOT_ADMITTED,
    NOT_WEBHDFS,
    Bypass,
    ForwardReason,
    forwarded,
    shows_path,
    why_not_asked,
)
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse, error_reply
from nncache.proxy.decide.answers import Answers
from nncache.proxy.decide.call_limits import CallLimits, LimitedFetcher
from nncache.proxy.decide.flights import Flights
from nncache.proxy.decide.path_waits import HeldRequest, PathQuestions
from nncache.proxy.decide.ports import Admit, Clock, CoverageSignal, NameNodeQueries, RejectedRequest
from nncache.proxy.decide.reads import (
    Asked,
    Collapsed,
    ForwardWithoutTrace,
    FromMemory,
    ReadAnswer,
    StatusRead,
    StatusReads,
)
from nncache.proxy.decide.waits import Waited, WaitEnd, Waits
from nncache.proxy.decide.writes import Writes
from nncache.proxy.errors import ClientGoneError, ProxyError, UnknownAddressError
from nncache.proxy.headers import request_headers
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import (
    Decorate,
    Headers,
    RequestHead,
    Settle,
    SettledReply,
    UpstreamReply,
    nothing_to_settle,
)
from nncache.proxy.reading import ParsedRequest, read_admitted, read_request
from nncache.proxy.settings import ProxySettings
from nncache.proxy.traffic import GETFILESTATUS, Exchange, Result, Traffic, operation_name, result_of
from nncache.proxy.upstream.direct_exchange import StartedCall

_log = logging.getLogger(__name__)

_CACHE_ERROR: Final = (forwarded(Bypass.CACHE_ERROR, is_shown=False),)


class UpstreamPort(Protocol):
    """The methods of `nncache.proxy.upstream.client.UpstreamPort` that are needed here."""

    async def fetch(self, head: RequestHead, begun: StartedCall | None, /) -> UpstreamReply:
        """Send a call, and return its small reply; a `FetchCall`."""
        ...

    async def stream(
        self, request: Request, head: RequestHead, settle: Settle, decorate: Decorate, /
    ) -> RawResponse:
        """Forward a call and its reply; a `StreamCall`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEndStats:
    """Figures since start; `nncache.proxy.traffic` has the results of requests.

    Attributes:
        forwarded: requests for which a NameNode was asked, by reason.
        flights: reads in flight to the NameNode at present, which other requests may join.
        fetches: reads sent to the NameNode that other requests could join.
        closed_queries: calls of isFileClosed.
        settled: calls whose changes were applied before their answer.
        unknown_outcomes: calls that were sent and whose outcome is unknown.
        left_to_events: calls whose answer waited for the events that show what they changed.
        windows_opened: two-step writes whose redirect was passed on.
        windows_without_txid: those of them whose window ends by time only.
        query_failures: the proxy's own calls that the NameNode did not answer.
        cache_errors: internal errors; the call was forwarded all the same (FailToNameNode).
        calls_refused: calls beyond a limit, by setting.
        waiters: requests held at present.
        waiters_bytes: memory in bytes that they take.
        waits: requests that were held, by how their wait ended.
        waits_not_admitted: requests that were not held because too many were held, or because they were too large.
    """

    forwarded: dict[ForwardReason, int]
    flights: int
    fetches: int
    closed_queries: int
    settled: int
    unknown_outcomes: int
    left_to_events: int
    windows_opened: int
    windows_without_txid: int
    query_failures: int
    cache_errors: int
    calls_refused: dict[str, int]
    waiters: int
    waiters_bytes: int
    waits: dict[WaitEnd, int]
    waits_not_admitted: int


class FrontEnd:
    """Answers requests. An async context manager: its exit waits for the questions in flight."""

    def __init__(  # noqa: PLR0913 - one for each part
        self,
        cache: MetadataCache,
        upstream: UpstreamPort,
        queries: NameNodeQueries,
        signal: CoverageSignal,
        settings: ProxySettings,
        clock: Clock,
        limits: LimitSettings | None = None,
        traffic: Traffic | None = None,
        *,
        answers: Answers | None = None,
        admit: Admit | None = None,
    ) -> None:
        """Create the front end; `admit` authenticates clients, None: the NameNodes do."""
        self._clock = clock
        self.traffic = traffic or Traffic(clock)
        self._tasks = asyncio.TaskGroup()  # holds the flights
        timeout_s = settings.namenode_query_timeout_s
        self.call_limits = CallLimits(limits or LimitSettings(), clock)
        fetch = LimitedFetcher(upstream.fetch, self.call_limits).fetch
        self.flights = Flights(self._tasks, cache, fetch, queries, clock, query_timeout_s=timeout_s)
        self.join_wait_s = settings.join_wait_s
        self._reads = StatusReads(cache, self.flights, signal, clock, join_wait_s=settings.join_wait_s)
        self._writes = Writes(
            cache,
            upstream.stream,
            queries,
            signal,
            clock,
            tasks=self._tasks,
            query_timeout_s=timeout_s,
            two_step_timeout_s=settings.two_step_query_timeout_s,
        )
        self.waits: Waits[StatusRead, ReadAnswer] = Waits(
            PathQuestions(cache, self._reads, fetch, clock), settings.max_waiters, self._tasks
        )
        self._max_wait_s = settings.max_wait_s
        self.answers = answers or Answers(clock)
        self.admit = admit
        self._stream = upstream.stream
        self._errors = 0  # internal errors; the call was forwarded all the same

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writes.stop()
        await self._tasks.__aexit__(kind, exc, trace)

    async def handle(self, request: Request) -> RawResponse | None:
        """Answer one request; None: the request is held, and answered later."""
        exchange = request.record
        if exchange is None:
            exchange = Exchange(request.method, request.target, request.peer, self._clock())
            exchange.take_ids(request.first)
        is_held = False
        try:
            try:
                response = await self._handle(request, exchange)
            except (ProxyError, ConnectionError):
                raise
            except Exception:  # FailToNameNode
                if not self._may_be_asked_again(request):
                    raise
                response = await self._forward_unread(request, exchange)
            if response is None:
                is_held = True  # it is counted when it is answered
                return None
            exchange.status, exchange.body_bytes = response.status, response.known_length
            if request.transport is None:
                exchange.result = Result.ABANDONED
        except Exception as error:
            exchange.result = result_of(error)
            raise
        else:
            return response
        finally:
            if not is_held:
                self.traffic.ended(exchange)

    def _may_be_asked_again(self, request: Request) -> bool:
        """Whether a call may be repeated at the NameNode: it is a read with the client's own credentials."""
        is_read = request.method in {"GET", "HEAD"} and request.body is None
        return is_read and self.admit is None and not request.has_reply_begun and is_webhdfs(request.target)

    async def _forward_unread(self, request: Request, exchange: Exchange) -> RawResponse:
        """Forward a request without reading its meaning."""
        self._errors += 1
        _log.exception("internal error while a request was handled; it is forwarded as it stands")
        self.answers.note_forwarded(exchange, Bypass.CACHE_ERROR)
        peer = request.peer
        head = RequestHead(request.method, request.target, request_headers(request.fields, peer), peer)
        with self.call_limits.admitted(head):
            response = await self._stream(request, head, nothing_to_settle, lambda _: _CACHE_ERROR)
        exchange.result = Result.FORWARDED
        return response

    async def _handle(self, request: Request, exchange: Exchange) -> RawResponse | None:
        target, peer = exchange.target, exchange.peer
        if not is_webhdfs(target):
            exchange.result = Result.REFUSED
            return error_reply(UnknownAddressError(WHAT_IS_SERVED), (NOT_WEBHDFS,))
        if self.admit is None:
            reading = request.reading or read_request(request.method, target, request.fields, peer)
        else:
            admission = await self.admit(request, WEBHDFS)
            match admission:
                case AdmittedRequest():
                    reading = read_admitted(request.method, admission, peer)
                case ByToken(headers):
                    reading = self.answers.issued.believed(
                        read_request(request.method, target, headers, peer)
                    )
                case RejectedRequest(response):
                    exchange.result = Result.REFUSED
                    response.add((NOT_ADMITTED,))
                    return response
                case _:
                    assert_never(admission)
        return await self._read(request, exchange, reading)

    async def _read(self, request: Request, exchange: Exchange, reading: ParsedRequest) -> RawResponse | None:
        head, plain, adds = reading.head, reading.plain, reading.adds
        if plain is None:
            call = reading.call
            assert call is not None
            return await self._pass_on(request, exchange, head, call, why_not_asked(call), adds)
        exchange.operation, exchange.caller = GETFILESTATUS, head.caller
        read = StatusRead(
            plain=plain,
            caller=reading.caller,
            head=head,
            credential=reading.credential,
            refresh=reading.refresh,
            asked=request.begun if isinstance(request.begun, Asked) else None,
            decision=request.decision,
            lease=reading.lease,
        )
        conditions, is_secure = (
            conditions_of(request.fields, max_wait_s=self._max_wait_s),
            request.connection.is_over_tls,
        )
        waited: Waited[ReadAnswer] | None
        if conditions is None:
            waited = Waited(answer=await self._answer(read))
        else:
            held = HeldRequest(request, self.answers, self.traffic, exchange, reading, conditions)
            waited = await self._wait(read, conditions, request, held)
            if waited is None:
                return None
            exchange.started += waited.held_s  # the time of the wait does not count
        answer = waited.answer
        if not isinstance(answer, ForwardWithoutTrace):
            try:
                if conditions is None:
                    return self.answers.plain(request, exchange, reading, answer, is_secure=is_secure)
                return self.answers.with_conditions(
                    exchange, reading, waited, conditions, is_secure=is_secure
                )
            except Exception:  # FailToNameNode: the NameNode has this answer as well
                if not isinstance(answer, FromMemory | Collapsed):
                    raise
                answer = self._note_error(read)
        call = parse_call(head.method, head.target)
        return await self._pass_on(request, exchange, head, call, answer.why, adds)

    async def _wait(
        self, read: StatusRead, conditions: Conditions, request: Request, held: HeldRequest
    ) -> Waited[ReadAnswer] | None:
        try:
            return await self.waits.answer(read, conditions, request.connection, held.keep)
        except ClientGoneError:
            raise
        except Exception:  # noqa: BLE001 - FailToNameNode: whatever it is, the call is forwarded
            return Waited(answer=self._note_error(read))

    async def _answer(self, read: StatusRead) -> ReadAnswer:
        try:
            return await self._reads.answer(read)
        except Exception:  # noqa: BLE001 - FailToNameNode: whatever it is, the call is forwarded
            return self._note_error(read)

    def _note_error(self, read: StatusRead) -> ForwardWithoutTrace:
        self._errors += 1
        _log.exception("internal error while reading %s; it is forwarded", read.plain.path)
        return ForwardWithoutTrace(Bypass.CACHE_ERROR)

    async def _pass_on(
        self,
        request: Request,
        exchange: Exchange,
        head: RequestHead,
        call: WebHdfsCall,
        why: ForwardReason,
        adds: Headers,
    ) -> RawResponse:
        exchange.operation, exchange.caller = operation_name(call), head.caller
        self.answers.note_forwarded(exchange, why)
        self.answers.issued.sent(call)

        def how(reply: SettledReply) -> Headers:
            self.answers.issued.replied(call, head, reply)
            return (*adds, forwarded(why, is_shown=shows_path(reply.status, reply.body)))

        try:
            with self.call_limits.admitted(head, is_charged=isinstance(request.begun, StartedCall)):
                response = await self._writes.pass_through(request, head, call, how)
        except ProxyError as error:
            return self.answers.failed(exchange, error, why, adds)
        exchange.result = Result.FORWARDED
        return response

    def stats(self) -> FrontEndStats:
        """Return the figures since start."""
        flights, writes = self.flights, self._writes
        return FrontEndStats(
            forwarded=dict(self.answers.forwarded),
            flights=len(flights),
            fetches=flights.fetches,
            closed_queries=flights.closed_queries,
            settled=writes.settled,
            unknown_outcomes=writes.unknown_outcomes,
            left_to_events=writes.left_to_events,
            windows_opened=writes.windows_opened,
            windows_without_txid=writes.windows_without_txid,
            query_failures=flights.closed_query_failures + writes.query_failures,
            cache_errors=self._errors + flights.errors + writes.errors + self.waits.errors,
            calls_refused=dict(self.call_limits.refused),
            waiters=self.waits.waiting,
            waiters_bytes=self.waits.kept_bytes,
            waits=dict(self.waits.ended),
            waits_not_admitted=self.waits.not_admitted,
        )
