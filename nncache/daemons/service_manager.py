"""Tell systemd how a daemon is doing, as sd_notify(3) describes it.

The protocol is one datagram of text; its manual page suggests to write it oneself rather than to link a library.
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
"""In each period of the watchdog, so that one that comes late costs nothing."""


class ServiceManager:
    """The process that started this one, if it listens.

    Attributes:
        beat_s: seconds between two signs of life, if such are asked for (`WatchdogSec` of the unit).
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self.beat_s = _beat_s(environ) if self._address else None

    def ready(self) -> None:
        """Say that it serves, or that it does so with the settings that were read again."""
        self._tell("READY=1")

    def reloading(self) -> None:
        """Say that settings are being read again; `ready` ends it."""
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """Say that it ends."""
        self._tell("STOPPING=1")

    async def beat(self) -> None:
        """Give signs of life until cancelled: they end when the event loop is held for too long."""
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
    """Return how often a sign of life is due (sd_watchdog_enabled(3)); None if none is asked of this process."""
    usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or not int(usec) or (pid and pid != str(os.getpid())):
        return None
    return int(usec) / 1e6 / _BEATS
