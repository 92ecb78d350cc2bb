"""The clock of a run, and the offset of this host's clock.

Source: RFC 5905, section 8 (offset and delay); the sample with the shortest round trip is the best one.
"""

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

SAMPLES: Final = 20
PATIENCE_S: Final = 10.0

ASK: Final = b"clock\n"  # the request that the driver answers with its time


class ClockError(Exception):
    """The driver does not answer with its time; the message names its address."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The offset of a clock."""

    offset_s: float  # this host's clock minus the driver's
    error_s: float  # the error of the offset, in both directions: half of the round trip

    def then(self, later: "ClockOffset") -> "ClockOffset":
        """Return the offset with its error from this measurement to a later one, including the drift."""
        drift_s = abs(later.offset_s - self.offset_s)
        return ClockOffset(self.offset_s, max(self.error_s, drift_s + later.error_s))


def boottime() -> float:
    """Return the seconds since this host's boot, including suspended time (CLOCK_BOOTTIME)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def endpoint(address: str) -> tuple[str, int]:
    """Return host and port of "host:port"."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def measure(address: str, clock: Callable[[], float] = boottime) -> ClockOffset:
    """Return the offset of a clock from the driver's.

    Raises:
        ClockError: the driver cannot be reached, or does not answer with its time.
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
        raise ClockError(f"no clock answers at {address}: {exc}") from exc
    return min(samples, key=lambda sample: sample.error_s)


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer one connection until it ends, or sends another request."""
        try:
            while self.rfile.readline(len(ASK) + 1) == ASK:
                self.wfile.write(f"{boottime()!r}\n".encode("ascii"))
        except OSError:
            return


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def serving_time(host: str) -> Iterator[str]:
    """Serve this host's time until the end of the block; yield "host:port"."""
    with _Server((host, 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="clock", daemon=True)
        thread.start()
        try:
            yield f"{host}:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
