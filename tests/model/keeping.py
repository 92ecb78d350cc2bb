"""A connection of a client of the model, as far as those who answer a request look at it."""

import asyncio
from collections.abc import Callable

from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.path_waits import HeldRequest


class ModelConnection:
    """A connection that is there, in plain HTTP; with `may_hold` it holds a request without its task."""

    is_over_tls = False
    holder = "127.0.0.1"

    def __init__(self, *, may_hold: bool = False) -> None:
        self.transport = object()  # it is not lost
        self.on_lost: Callable[[], None] | None = None
        self._may_hold = may_hold
        self._answer: asyncio.Future[RawResponse] = asyncio.get_running_loop().create_future()
        self._held: HeldRequest | None = None

    def has_closed(self) -> bool:
        """It has not."""
        return False

    def hold(self, _: Request, held: HeldRequest) -> bool:
        """Hold it."""
        if self._may_hold:
            self._held = held
        return self._may_hold

    def answered(self, response: RawResponse) -> None:
        """Take the answer; a client that leaves in this very turn of the event loop takes none."""
        if not self._answer.done():
            self._answer.set_result(response)

    def end(self) -> None:
        """Lose the connection: the client sees that there is no answer."""
        self._answer.set_exception(ConnectionResetError("the connection was ended"))

    async def answer(self) -> RawResponse:
        """Wait for the answer; who is cancelled meanwhile is a client that leaves."""
        assert self._held is not None
        try:
            return await self._answer
        except asyncio.CancelledError:
            self._held.abandon()
            raise
