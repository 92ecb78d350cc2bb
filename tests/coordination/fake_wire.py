"""A connection to a fake server, ordered in both directions, with latency, until it is cut."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nncache.coordination.errors import ConnectionLostError, CoordinationError

SPACING_S = 1e-6
"""The least time between two deliveries: the loop does not order events that are due at the same time."""


@dataclass(frozen=True, slots=True)
class WireReply:
    """The result of a request."""

    value: Any = None
    error: CoordinationError | None = None


class FakeWire:
    """A connection, until it is cut. `latency_s` returns the present round-trip time."""

    def __init__(self, latency_s: Callable[[], float]) -> None:
        self._latency_s = latency_s
        self._is_cut = False
        self._last_out = 0.0  # loop time at which the last request arrives
        self._last_back = 0.0  # and at which the last answer does
        self._in_flight: set[asyncio.Future[WireReply]] = set()

    def ask(self, request: Callable[[], object]) -> asyncio.Future[WireReply]:
        """Deliver a request to the server; return the future of its reply."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[WireReply] = loop.create_future()
        self._in_flight.add(future)
        self._last_out = self._due(loop, self._last_out)
        loop.call_at(self._last_out, self._arrive, request, future)
        return future

    def tell(self, take: Callable[[], None]) -> None:
        """Deliver a callback to the client."""
        loop = asyncio.get_running_loop()
        self._last_back = self._due(loop, self._last_back)
        loop.call_at(self._last_back, self._reach, take)

    def cut(self) -> None:
        """Drop everything in flight; pending requests fail."""
        self._is_cut = True
        for future in self._in_flight:
            if not future.done():
                future.set_result(
                    WireReply(error=ConnectionLostError("the connection was lost under the call"))
                )

    def _due(self, loop: asyncio.AbstractEventLoop, last: float) -> float:
        return max(loop.time() + self._latency_s() / 2, last + SPACING_S)

    def _arrive(self, request: Callable[[], object], future: asyncio.Future[WireReply]) -> None:
        if self._is_cut:
            return
        try:
            answer = WireReply(request())
        except CoordinationError as exc:
            answer = WireReply(error=exc)
        self.tell(lambda: self._take(future, answer))

    def _reach(self, take: Callable[[], None]) -> None:
        if not self._is_cut:
            take()

    def _take(self, future: asyncio.Future[WireReply], answer: WireReply) -> None:
        self._in_flight.discard(future)
        if not future.done():
            future.set_result(answer)
