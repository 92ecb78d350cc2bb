"""One connection of the proxy to a scripted NameNode, in memory."""

import asyncio
from typing import Any

from tests.hostile.fuzzing.transport import DeafTransport


class Wire(DeafTransport):
    """The proxy's transport, with the NameNode at its other end.

    Attributes:
        heard: by the NameNode.
    """

    def __init__(self) -> None:
        """Make an open one."""
        super().__init__()
        self.heard = asyncio.StreamReader()
        self._loop = asyncio.get_running_loop()
        self._is_held = False  # reading was paused
        self._backlog = list[bytes]()  # said, and not handed over yet
        self._says_no_more = False  # the NameNode has closed, behind the backlog
        self._is_over = False  # the protocol hears, or will hear, that it is lost

    # ---- the NameNode -------------------------------------------------------------------------------

    def say(self, data: bytes) -> None:
        """Send."""
        if not self.is_closed and not self._says_no_more:
            self._backlog.append(data)
            self._hand_over()

    def end(self) -> None:
        """Close the connection."""
        self._says_no_more = True
        self._hand_over()

    # ---- the transport ------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Let the NameNode hear it, if it listens still."""
        if not self.is_closed:
            self.heard.feed_data(bytes(data))

    def writelines(self, parts: Any) -> None:
        """Write them all."""
        self.write(b"".join(parts))

    def close(self) -> None:
        """End the connection; nothing is left to be written."""
        self.is_closed = True
        if not self._is_over:
            self._is_over = True
            self.heard.feed_eof()
            self._loop.call_soon(self.get_protocol().connection_lost, None)

    def abort(self) -> None:
        """End the connection."""
        self.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """There is no socket."""
        return default

    def pause_reading(self) -> None:
        """Hold what is said from here on."""
        self._is_held = True

    def resume_reading(self) -> None:
        """Hand it over."""
        self._is_held = False
        self._loop.call_soon(self._hand_over)

    def is_reading(self) -> bool:
        """Say whether it is handed over."""
        return not self._is_held

    def _hand_over(self) -> None:
        while self._backlog and not (self._is_held or self.is_closed):
            self.get_protocol().data_received(self._backlog.pop(0))
        if self._says_no_more and not (self._backlog or self._is_held or self.is_closed):
            self.get_protocol().eof_received()
            self.close()
