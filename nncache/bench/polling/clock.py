"""The clock of a run, and how far this host's is off against it.

Source: RFC 5905, section 8 (offset and delay); of several samples the one with the shortest round trip is best.
"""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

SAMPLES: Final = 20
PATIENCE_S: Final = 10.0

ASK: Final = b"clock\n"
"""What the conductor answers with its time."""


class ClockError(Exception):
    """The conductor does not tell the time; the message names it."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far a clock is off.

    Attributes:
        offset_s: this host's clock minus the driver's.
        error_s: by how much that may be wrong, either way: half of the round trip.
    """

    offset_s: float
    error_s: float

    def then(self, later: "ClockOffset") -> "ClockOffset":
        """Return the offset with the error that holds from this measurement to a later one, drift included."""
        drift_s = abs(later.offset_s - self.offset_s)
        return ClockOffset(self.offset_s, max(self.error_s, drift_s + later.error_s))


def boottime() -> float:
    """Return the seconds since this host's boot, time in suspend included (CLOCK_BOOTTIME)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def endpoint(address: str) -> tuple[str, int]:
    """Return host and port of "host:port"."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def measure(address: str, clock: Callable[[], float] = boottime) -> ClockOffset:
    """Return how far a clock is off against the conductor's.

    Args:
        address: of the conductor, "host:port".
        clock: the one that is measured.

    Raises:
        ClockError: it can't be reached, or answers with something else.
    """
    try:
        with socket.create_connection(endpoint(address), timeout=PATIENCE_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection.makefile("rb") as replies:
                samples = []
                for _ in range(SAMPLES):
                    sent_s = clock()
                    connection.sendall(ASK)
                    line = replies.readline()
                    replied_s = clock()
                    theirs_s = float(line)
                    error_s = (replied_s - sent_s) / 2
                    samples.append(ClockOffset((sent_s + replied_s) / 2 - theirs_s, error_s))
    except (OSError, ValueError) as exc:
        raise ClockError(f"the conductor at {address} does not tell the time: {exc}") from exc
    return min(samples, key=lambda sample: sample.error_s)
