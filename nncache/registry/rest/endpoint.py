"""GET /v1/registry/PATH: serves the registry over HTTP.

Read-only and open to every client: the registry is world-readable by design.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from typing import Final, NoReturn, Protocol

from nncache.coordination.task_group import run_all
from nncache.net.http1.conditional import Conditions, conditions_of, etag_of
from nncache.net.shares import Rates, holder_of
from nncache.proxy.clients.counted_answer import counted_answer
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse, date_field
from nncache.proxy.decide.waits import WaitEnd
from nncache.proxy.errors import (
    ClientGoneError,
    MethodNotAllowedError,
    ProxyError,
    RegistryUnavailableError,
    TooManyRequestsError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Headers
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.registry.rest.fair_limiter import FairLimiter
from nncache.registry.rest.request import RegistryRequest, is_registry, read_registry_request
from nncache.registry.rest.waits import RegistryPage, RegistryQuestion, RegistryWaits

_log = logging.getLogger(__name__)

PER_S: Final = 20.0
"""Rate limit of a client address, in units per second; a request costs one unit."""

BURST: Final = 100.0

MANY: Final = 10.0
"""Cost of a request that reads a whole subtree."""

PER_BYTES: Final = 16_384
"""Bytes read of a record that cost one further unit."""

UNUSED_S: Final = 300.0
"""Time without a waiting request after which the registry is no longer followed."""

AGAIN_S: Final = 5.0
"""Delay before the registry is followed again after a failure."""

MOST_BYTES: Final = 256 * 1024 * 1024
"""Limit of the bytes of replies that clients have not read yet."""

BYTES_OF_ONE: Final = 64 * 1024 * 1024
"""Limit of these bytes for one address; its last reply may exceed it."""

_ALLOW: Final = b"GET, HEAD"
_METHODS: Final = frozenset({"GET", "HEAD"})
_NO_CONDITIONS: Final = Conditions(None, 0)
_FIELDS: Final[Headers] = (
    (b"Cache-Control", b"no-cache"),
    (b"Vary", b"Accept"),
    (b"X-Content-Type-Options", b"nosniff"),
)


class RegistryAnswer(StrEnum):
    """The kind of answer to a registry request."""

    FOUND = "found"
    NOT_MODIFIED = "not-modified"
    NOT_FOUND = "not-found"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


REGISTRY_ANSWERS: Final[Mapping[str, str]] = {
    RegistryAnswer.FOUND: "with what is there",
    RegistryAnswer.NOT_MODIFIED: "304: nothing has changed",
    RegistryAnswer.NOT_FOUND: "404: no such entry, or no record there",
    RegistryAnswer.REFUSED: "another status of 4xx: a wrong request, or too many",
    RegistryAnswer.UNAVAILABLE: "503: ZooKeeper does not answer, or too many subtrees are being read",
}
"""The meaning of each, for the documentation."""


class RegistrySource(Protocol):
    """The source of registry pages and changes."""

    @property
    def gaps(self) -> int:
        """Times since start that changes may have been missed, so that everything was read again."""

    async def page(self, registry_request: RegistryRequest) -> RegistryPage:
        """Return the requested page.

        Raises:
            ClientError: the entry does not exist, or the query is invalid.
            RegistryUnavailableError: ZooKeeper does not answer.
        """

    async def follow(self, invalidated: Callable[[str | None], None]) -> NoReturn:
        """Report each change until cancelled: the path of an entry that may have changed; None: any entry may have.

        Raises:
            RegistryUnavailableError: the registry cannot be followed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryStats:
    """Figures since the start.

    Attributes:
        answers: requests by kind of answer.
        waiters: requests that wait now.
        waits: requests that waited, by how their waits ended.
        waits_not_admitted: requests answered immediately because too many were waiting.
        gaps: times that changes may have been missed, so that everything was read again.
    """

    answers: dict[RegistryAnswer, int]
    waiters: int = 0
    waits: dict[WaitEnd, int]
    waits_not_admitted: int = 0
    gaps: int = 0


NO_REGISTRY: Final = RegistryStats(answers={}, waits={})
"""The figures of a proxy that does not serve the registry."""


class UnreadReplies:
    """Bounds the bytes of replies in transmission: a client may take an hour to read one.

    Invariants:
        U1  An address with BYTES_OF_ONE gets no further reply. Only a single reply may exceed MOST_BYTES in all.
    """

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()  # bytes by address

    def add(self, holder: str, size: int) -> None:
        """Count a reply's bytes until `drop`.

        Raises:
            TooManyRequestsError: this address has to read its earlier replies first.
            RegistryUnavailableError: the replies of all addresses are too large together.
        """
        if self._held[holder] >= BYTES_OF_ONE:
            raise TooManyRequestsError("large replies have not been read yet: read them first")
        total = self._held.total()
        if total and total + size > MOST_BYTES:
            raise RegistryUnavailableError("clients have not read other large replies yet: ask again")
        self._held[holder] += size

    def drop(self, holder: str, size: int) -> None:
        """Stop counting a reply: it was sent, or its client has disconnected."""
        self._held[holder] -= size
        if not self._held[holder]:
            del self._held[holder]


class _Found(RawResponse):
    """A reply whose bytes count until its client has read it."""

    def __init__(
        self, body: bytes, fields: Headers, limits: LimitSettings, unread: UnreadReplies, holder: str
    ) -> None:
        """Count the body. Raises as `UnreadReplies.add`."""
        super().__init__(200, "OK", fields, body=body, limits=limits)
        unread.add(holder, len(body))
        self._is_over = partial(unread.drop, holder, len(body))

    async def send(self, request: Request) -> None:
        """Send the reply. Raises ConnectionError if the client has disconnected, or does not read."""
        try:
            await super().send(request)
        finally:
            self._is_over()


class _UnusedError(Exception):
    """No request waits for a change."""


class RegistryEndpoint:
    """Serves the registry. Requests can wait for changes while `run` runs."""

    def __init__(
        self, source: RegistrySource, traffic: Traffic, limits: LimitSettings, *, max_wait_s: float = 0.0
    ) -> None:
        """Serve the pages of `source`; a request waits at most `max_wait_s`."""
        self._source = source
        self._traffic = traffic
        self._limits = limits
        self._max_wait_s = max_wait_s
        self._rates = Rates(PER_S, BURST)  # by address
        self._limiter = FairLimiter()  # of questions about subtrees
        self._unread = UnreadReplies()
        self._waits = RegistryWaits(self._page, source.page)
        self._answers: Counter[RegistryAnswer] = Counter(dict.fromkeys(RegistryAnswer, 0))

    def before(self, others: Handler) -> Handler:
        """Return a handler that serves the registry, and passes requests for other targets to `others`."""

        def handle(request: Request) -> Awaitable[RawResponse | None]:
            return self.handle(request) if is_registry(request.target) else others(request)

        return handle

    async def run(self) -> NoReturn:
        """Follow the registry while requests wait for a change, and for UNUSED_S more, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:  # of questions for waiting requests
                while True:
                    self._waits.held.resume(tasks)
                    await self._waits.is_wanted.wait()
                    try:
                        await run_all(
                            lambda: self._source.follow(self._waits.invalidated), self._end_when_unused
                        )
                    except _UnusedError:
                        continue
                    except RegistryUnavailableError as error:
                        _log.warning("no requests about the registry are held for %g s: %s", AGAIN_S, error)
                    self._waits.held.pause()
                    await asyncio.sleep(AGAIN_S)
        finally:
            self._waits.held.pause()

    async def _end_when_unused(self) -> NoReturn:
        await self._waits.unused_for(UNUSED_S)
        raise _UnusedError

    def stop(self) -> None:
        """Answer all waiting requests; later ones do not wait."""
        self._waits.held.stop()

    def stats(self) -> RegistryStats:
        """Return the figures since start."""
        held = self._waits.held
        return RegistryStats(
            answers=dict(self._answers),
            waiters=held.waiting,
            waits=dict(held.ended),
            waits_not_admitted=held.not_admitted,
            gaps=self._source.gaps,
        )

    async def handle(self, request: Request) -> RawResponse:
        """Answer one request."""
        return await counted_answer(self._traffic, request, self._counted)

    async def _counted(self, request: Request, exchange: Exchange) -> RawResponse:
        try:
            response = await self._answer(request, exchange)
        except ClientGoneError:
            raise
        except ProxyError as error:
            self._answers[_kind_of(error.status)] += 1
            raise
        self._answers[_kind_of(response.status)] += 1
        return response

    async def _answer(self, request: Request, exchange: Exchange) -> RawResponse:
        if request.method not in _METHODS:
            raise MethodNotAllowedError(
                "the registry is read with GET; it is written with nncache registry", _ALLOW
            )
        headers = request.fields
        registry_request = read_registry_request(request.target, headers)
        want = conditions_of(headers, max_wait_s=self._max_wait_s) or _NO_CONDITIONS
        holder = holder_of(exchange.peer)
        self._admit(holder, MANY if registry_request.reads_many else 1.0)
        applied_s = None
        if want.wait_s <= 0:
            page = await self._page(registry_request, holder)
        else:
            question = RegistryQuestion(registry_request, holder)
            waited = await self._waits.held.answer(question, want, request.connection)
            assert waited is not None, "it waits in its task"
            exchange.started += waited.held_s  # only the work is timed, not the wait
            if isinstance(waited.answer, Exception):
                raise waited.answer
            page, applied_s = waited.answer, waited.applied_s
        self._rates.charge(holder, self._traffic.clock(), page.read_bytes // PER_BYTES)
        fields = (date_field(), (b"Content-Type", page.content_type), *_FIELDS, *page.fields)
        if applied_s:
            fields = (*fields, (b"Preference-Applied", b"wait=%d" % applied_s))
        if page.status != HTTPStatus.OK:
            return RawResponse(page.status, page.reason, fields, body=page.body, limits=self._limits)
        exchange.result = Result.REGISTRY
        is_short = len(page.body) <= PER_BYTES
        tag = etag_of(page.body) if is_short else await asyncio.to_thread(etag_of, page.body)
        fields = (*fields, (b"ETag", tag))
        if tag in (want.known or ()):
            return RawResponse(304, "Not Modified", fields, body=b"", limits=self._limits)
        exchange.body_bytes = len(page.body)
        return _Found(page.body, fields, self._limits, self._unread, holder)

    def _admit(self, holder: str, cost: float) -> None:
        """Charge a client address for a request.

        Raises:
            TooManyRequestsError: its rate is used up; the error says when to retry.
        """
        wait_s = self._rates.take(holder, self._traffic.clock(), cost)
        if wait_s:
            raise TooManyRequestsError(
                f"too many questions about the registry: {PER_S:g} a second, of which one about a subtree is {MANY:g}",
                math.ceil(wait_s),
            )

    async def _page(self, registry_request: RegistryRequest, holder: str) -> RegistryPage:
        if not registry_request.reads_many:
            return await self._source.page(registry_request)
        async with self._limiter.slot(holder):
            return await self._source.page(registry_request)


def _kind_of(status: int) -> RegistryAnswer:
    match status:
        case HTTPStatus.OK:
            return RegistryAnswer.FOUND
        case HTTPStatus.NOT_MODIFIED:
            return RegistryAnswer.NOT_MODIFIED
        case HTTPStatus.NOT_FOUND:
            return RegistryAnswer.NOT_FOUND
        case _ if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return RegistryAnswer.REFUSED
        case _:
            return RegistryAnswer.UNAVAILABLE
