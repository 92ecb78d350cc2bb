"""The clock of a run, and how far this host's is off against it.

Source: RFC 5905, section 8 (offset and delay); of several samples the one with the shortest round trip is best.
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

ASK: Final = b"clock\n"  # what the driver answers with its time


class ClockError(Exception):
    """The driver does not answer with its time; the message names it."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far a clock is off."""

    offset_s: float  # this host's clock minus the driver's
    error_s: float  # by how much that may be wrong, either way: half of the round trip

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
    """Return how far a clock is off against the driver's.

    Raises:
        ClockError: that can't be reached, or answers with something else.
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
        """Answer one connection until it ends, or asks for something else."""
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
