"""A connection of a client of the model that lets go of its request while that is held."""

import asyncio

from nncache.proxy.clients.response import RawResponse
from nncache.proxy.held_requests import HeldRequest


class KeepingConnection:
    """A connection that lets go of its request while that is held (`nncache.proxy.held_requests`)."""

    is_alone = True
    is_over_tls = False

    def __init__(self) -> None:
        self._answer: asyncio.Future[RawResponse] = asyncio.get_running_loop().create_future()
        self._held: HeldRequest | None = None

    def give_back(self, *, held: HeldRequest) -> None:
        """Hold it."""
        self._held = held
        held.held_by(self)

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
