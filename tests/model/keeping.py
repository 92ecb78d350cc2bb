"""A client connection of the model, with the parts that request handlers use."""

import asyncio
from collections.abc import Callable

from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.path_waits import HeldRequest


class ModelConnection:
    """An open plain HTTP connection; with `may_hold` it can hold a request without a task."""

    is_over_tls = False
    holder = "127.0.0.1"

    def __init__(self, *, may_hold: bool = False) -> None:
        self.transport = object()  # any object: the connection is not lost
        self.on_lost: Callable[[], None] | None = None
        self._may_hold = may_hold
        self._answer: asyncio.Future[RawResponse] = asyncio.get_running_loop().create_future()
        self._held: HeldRequest | None = None

    def has_closed(self) -> bool:
        """Return False: it is open."""
        return False

    def hold(self, _: Request, held: HeldRequest) -> bool:
        """Hold the request if `may_hold`; return whether it is held."""
        if self._may_hold:
            self._held = held
        return self._may_hold

    def answered(self, response: RawResponse) -> None:
        """Store the answer; a client that leaves in the same iteration of the event loop gets none."""
        if not self._answer.done():
            self._answer.set_result(response)

    def end(self) -> None:
        """Close the connection: the client sees that it gets no answer."""
        self._answer.set_exception(ConnectionResetError("the connection was ended"))

    async def answer(self) -> RawResponse:
        """Wait for the answer; a cancelled wait is a client that leaves."""
        assert self._held is not None
        try:
            return await self._answer
        except asyncio.CancelledError:
            self._held.abandon()
            raise
