"""A request's body, read from the client in parts."""

import asyncio
import contextlib
from collections.abc import Callable

from nncache.net.http1.body import Body
from nncache.net.http1.chunks import ChunksError
from nncache.proxy.clients.patience import Patience
from nncache.proxy.errors import MalformedRequestError, SlowRequestError
from nncache.proxy.limits import LimitSettings


class RequestBody(Body):
    """Returns the parts of a body as they arrive, and gives up on a client that sends too slowly.

    Only the time spent waiting for the client counts (`patience.py`), not the time in which the NameNode does not read.

    Attributes:
        is_begun: whether reading has started, so that the body cannot be sent a second time.
    """

    __slots__ = ("_is_unwanted", "_patience", "is_begun")

    def __init__(self, length: int | None, limits: LimitSettings, on_room: Callable[[], None]) -> None:
        super().__init__(length, on_room)
        self._patience = Patience(limits)
        self._is_unwanted = False
        self.is_begun = False

    @property
    def spent_s(self) -> float:
        """Seconds of the time limit used up; see `nncache.proxy.clients.patience.Patience`."""
        return self._patience.spent_s

    def feed(self, data: bytes) -> bytes:
        """Take received bytes, and return those after the body. Malformed chunks make the body fail."""
        try:
            behind = super().feed(data)
        except ChunksError as error:
            self.fail(MalformedRequestError(f"the body's chunks make no sense: {error}"))
            return b""
        if self._is_unwanted and not self.has_failed:
            self.take()
        return behind

    async def read_part(self) -> bytes:
        """Return the bytes that have arrived, waiting if there are none; b"" after the last part.

        Raises:
            SlowRequestError: the client is too slow.
            MalformedRequestError: the chunks are malformed.
            ClientGoneError: the client disconnected before the end of the body.
        """
        self.is_begun = True
        loop = asyncio.get_running_loop()
        began = loop.time()
        if self.is_waited_for:
            try:
                async with asyncio.timeout(self._patience.left_s):
                    await self.arrival()
            except TimeoutError:
                raise SlowRequestError("the body came too slowly") from None
        part = self.take()
        self._patience.spend(loop.time() - began, len(part))
        return part

    async def discard(self, timeout_s: float) -> None:
        """Read and drop the rest for up to `timeout_s`, so that no reset discards the reply (RFC 9112, section 9.6)."""
        if self.has_failed:
            return
        self._is_unwanted = True
        self.take()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self.is_over:
                    await self.arrival()
