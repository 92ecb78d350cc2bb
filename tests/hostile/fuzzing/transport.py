"""The other end of a connection: it accepts all data and sends none."""

import asyncio
from typing import Any


class DeafTransport(asyncio.Transport):
    """Records the written data.

    Attributes:
        written: all data so far.
        is_closed: it was closed or aborted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_closed = False
        self._protocol: Any = None

    def connect(self, protocol: asyncio.BaseProtocol) -> None:
        """Open the connection with this protocol."""
        self._protocol = protocol
        protocol.connection_made(self)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replace the protocol."""
        self._protocol = protocol

    def get_protocol(self) -> Any:
        """Return the current protocol."""
        return self._protocol

    def write(self, data: Any) -> None:
        """Record the data."""
        self.written += data

    def is_closing(self) -> bool:
        """Whether it was closed or aborted."""
        return self.is_closed

    def close(self) -> None:
        """Record the close."""
        self.is_closed = True

    def abort(self) -> None:
        """Record the close."""
        self.is_closed = True

    def get_write_buffer_size(self) -> int:
        """Return 0: all data has been read."""
        return 0

    def can_write_eof(self) -> bool:
        """Return True: a half-close is possible."""
        return True

    def write_eof(self) -> None:
        """Do nothing."""

    def pause_reading(self) -> None:
        """Do nothing: the test feeds the data."""

    def resume_reading(self) -> None:
        """Do nothing, as above."""

    def is_reading(self) -> bool:
        """Return True: it never pauses."""
        return True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return a client's address."""
        return ("192.0.2.1", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: there are no limits."""
