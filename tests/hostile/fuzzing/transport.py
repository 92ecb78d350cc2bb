"""The other end of a connection that takes everything and says nothing."""

import asyncio
from typing import Any


class DeafTransport(asyncio.Transport):
    """Keeps what is written.

    Attributes:
        written: all of it.
        is_closed: it was closed or aborted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.is_closed = False
        self._protocol: Any = None

    def connect(self, protocol: asyncio.BaseProtocol) -> None:
        """Begin, with this protocol."""
        self._protocol = protocol
        protocol.connection_made(self)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Go on with another."""
        self._protocol = protocol

    def get_protocol(self) -> Any:
        """Return the one that is served."""
        return self._protocol

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written += data

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.is_closed

    def close(self) -> None:
        """Take note."""
        self.is_closed = True

    def abort(self) -> None:
        """Take note."""
        self.is_closed = True

    def get_write_buffer_size(self) -> int:
        """Everything has been read."""
        return 0

    def can_write_eof(self) -> bool:
        """A half can be closed."""
        return True

    def write_eof(self) -> None:
        """Nothing more is said."""

    def pause_reading(self) -> None:
        """What is fed is fed."""

    def resume_reading(self) -> None:
        """As above."""

    def is_reading(self) -> bool:
        """It never stops."""
        return True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Say whose address it is."""
        return ("192.0.2.1", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There are none."""
