"""Notify systemd of a daemon's state, by the protocol of sd_notify(3).

The protocol is one datagram of text. Its manual page suggests implementing it rather than linking a library.
Without `NOTIFY_SOCKET` in the environment nothing is sent.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Mapping
from typing import Final

_log = logging.getLogger(__name__)

_BEATS: Final = 3
"""Keep-alive pings in each period of the watchdog, so that one late ping does no harm."""


class ServiceManager:
    """The service manager that started this process, if it listens.

    Attributes:
        beat_s: seconds between two keep-alive pings; None if none are required (`WatchdogSec` of the unit).
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self.beat_s = _beat_s(environ) if self._address else None

    def ready(self) -> None:
        """Report that the daemon serves, or that a reload is complete."""
        self._tell("READY=1")

    def reloading(self) -> None:
        """Report that a reload has begun; `ready` ends it."""
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """Report that the daemon is stopping."""
        self._tell("STOPPING=1")

    async def beat(self) -> None:
        """Send keep-alive pings until cancelled. A blocked event loop sends none."""
        while self.beat_s is not None:
            self._tell("WATCHDOG=1")
            await asyncio.sleep(self.beat_s)
        await asyncio.Event().wait()

    def _tell(self, text: str) -> None:
        if not self._address:
            return
        name = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as end:
                end.sendto(text.encode(), name)
        except OSError as error:
            _log.warning(
                "cannot tell the service manager %s: %s: %s", text.partition("\n")[0], self._address, error
            )


def _beat_s(environ: Mapping[str, str]) -> float | None:
    """Return the seconds between two pings (sd_watchdog_enabled(3)); None if this process must send none."""
    usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or not int(usec) or (pid and pid != str(os.getpid())):
        return None
    return int(usec) / 1e6 / _BEATS
