"""Requests of one connection, served one after another in its own task.

aiohttp (read in 3.14.5, `RequestHandler.start`) makes a task for each request, so that context variables of one do not
reach the next; nothing here has any. Without them a request takes two turns of the event loop less, which is a third of
what a forwarded call takes.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.http import StreamWriter
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import _PAYLOAD_ACCESS_ERROR, ERROR, _ErrInfo

Respond: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class OneTaskHandler(web.RequestHandler):
    """aiohttp's, but for `start`, and for how long a connection that ends waits for its client."""

    __slots__ = ("_closing_timeout_s", "_closing_timer", "on_lost")

    def __init__(
        self,
        manager: web.Server,
        *,
        loop: asyncio.AbstractEventLoop,
        closing_timeout_s: float,
        **options: Any,  # noqa: ANN401 - aiohttp's
    ) -> None:
        """Make one; `closing_timeout_s` is what a client has for reading what was written, `options` are aiohttp's."""
        super().__init__(manager, loop=loop, **options)
        self._closing_timeout_s = closing_timeout_s
        self._closing_timer: asyncio.TimerHandle | None = None  # runs while a closed one is still being read
        self.on_lost: Callable[[], None] | None = (
            None  # called when the client may be gone: a request is held
        )

    def connection_lost(self, exc: BaseException | None) -> None:
        """Clean up."""
        if self._closing_timer is not None:
            self._closing_timer.cancel()
        super().connection_lost(exc)
        self.leave()

    @property
    def ends_with_its_reply(self) -> bool:
        """Whether the connection will not go on after the reply that is to begin now, whatever its request asks for."""
        return False

    def leave(self) -> None:
        """Let a request that is held know that its client may be gone."""
        if self.on_lost is not None:
            self.on_lost()

    def force_close(self) -> None:
        """End the connection; what the client has not read by then it has little time for."""
        transport = self.transport
        super().force_close()
        if transport is not None:
            self._see_it_closed(transport)

    def _see_it_closed(self, transport: asyncio.Transport) -> None:
        """Bound the time for which a closing transport waits for its client to read what was written."""
        if self._closing_timer is None and transport.get_write_buffer_size() > 0:
            self._closing_timer = self._loop.call_later(self._closing_timeout_s, transport.abort)

    async def start(self) -> None:
        """Serve requests until the connection ends, or is to end."""
        try:
            while not self._force_close and await self._serve_next():
                self._begin_keepalive()
        except Exception as exc:  # noqa: BLE001 - outside of any request; no timer would end it
            self.log_exception("a client's connection can't be served", exc_info=exc)
            self.force_close()
        if not self._force_close:
            self._task_handler = None
            if self.transport is not None:
                self.transport.close()
        if self.transport is not None:
            self._see_it_closed(self.transport)

    async def _serve_next(self) -> bool:
        """Serve one request; whether the connection goes on after it."""
        request, payload, respond = await self._next()
        try:
            response, is_reset = await self._handle_request(request, None, respond)
            if is_reset:
                return False
            self._keepalive = bool(response.keep_alive)
            if not payload.is_eof():
                await self._discard(payload)
            payload.set_exception(_PAYLOAD_ACCESS_ERROR)
        except ConnectionError:  # the client's
            return False
        except asyncio.CancelledError:
            self.force_close()
            raise
        finally:
            request._task = None  # type: ignore[assignment] # noqa: SLF001 - a cycle of references
        return self._keepalive and not self._close and not self._force_close

    async def _next(self) -> tuple[web.BaseRequest, StreamReader, Respond]:
        """Wait for a request."""
        if not self._messages:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        message, payload = self._messages.popleft()
        if self._parser is not None:
            self._parser.message_consumed()
        if self._buffer_paused and len(self._messages) <= self._msg_queue_resume_size:
            self._resume_reading_if_drained()
        assert self._manager is not None
        assert self._request_handler is not None
        assert self._request_factory is not None
        self._manager.requests_count += 1
        respond = self._request_handler
        if isinstance(message, _ErrInfo):
            respond, message = self._make_error_handler(message), ERROR
        task = self._task_handler or asyncio.current_task()
        assert task is not None
        request = self._request_factory(message, payload, self, StreamWriter(self, self._loop), task)
        return request, payload, respond

    async def _discard(self, payload: StreamReader) -> None:
        """Read on for a while what is left of a body, so that no reset overtakes the reply (RFC 9112, section 9.6)."""
        if self._force_close or not self._lingering_time:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._lingering_time):
                while not payload.is_eof():
                    await payload.readany()
        if not payload.is_eof() and not self._force_close:
            self.close()

    def _begin_keepalive(self) -> None:
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(
                self._next_keepalive_close_time, self._process_keepalive
            )
