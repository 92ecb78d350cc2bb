"""One connection of the proxy to a scripted NameNode, in memory."""

import asyncio
from typing import Any

from tests.hostile.fuzzing.transport import DeafTransport


class Wire(DeafTransport):
    """The proxy's transport, with the NameNode at its other end.

    Attributes:
        heard: the bytes that the NameNode receives.
    """

    def __init__(self) -> None:
        """Create an open connection."""
        super().__init__()
        self.heard = asyncio.StreamReader()
        self._loop = asyncio.get_running_loop()
        self._is_held = False  # reading is paused
        self._backlog = list[bytes]()  # sent, not yet passed to the protocol
        self._says_no_more = False  # the NameNode closed after the backlog
        self._is_over = False  # connection_lost was called or scheduled

    # ---- the NameNode -------------------------------------------------------------------------------

    def say(self, data: bytes) -> None:
        """Send data."""
        if not self.is_closed and not self._says_no_more:
            self._backlog.append(data)
            self._hand_over()

    def end(self) -> None:
        """Close the connection."""
        self._says_no_more = True
        self._hand_over()

    # ---- the transport ------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Pass data to the NameNode unless the connection is closed."""
        if not self.is_closed:
            self.heard.feed_data(bytes(data))

    def writelines(self, parts: Any) -> None:
        """Write all parts."""
        self.write(b"".join(parts))

    def close(self) -> None:
        """Close the connection; nothing is buffered."""
        self.is_closed = True
        if not self._is_over:
            self._is_over = True
            self.heard.feed_eof()
            self._loop.call_soon(self.get_protocol().connection_lost, None)

    def abort(self) -> None:
        """Close the connection."""
        self.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the default: there is no socket."""
        return default

    def pause_reading(self) -> None:
        """Hold later data of the NameNode."""
        self._is_held = True

    def resume_reading(self) -> None:
        """Pass held data to the protocol."""
        self._is_held = False
        self._loop.call_soon(self._hand_over)

    def is_reading(self) -> bool:
        """Return whether data is passed to the protocol."""
        return not self._is_held

    def _hand_over(self) -> None:
        while self._backlog and not (self._is_held or self.is_closed):
            self.get_protocol().data_received(self._backlog.pop(0))
        if self._says_no_more and not (self._backlog or self._is_held or self.is_closed):
            self.get_protocol().eof_received()
            self.close()
