"""The changer as a process beside the driver."""

import subprocess
import sys
from typing import IO, Self

import msgspec

from nncache.bench.changing.changer import Order, Outcome


class ChangerError(Exception):
    """The changer has ended, or could not begin; its own words are above."""


class ChangerProcess:
    """One run of `nncache.bench.changing.changer`; it ends with the `with` block."""

    def __init__(self, order: Order) -> None:
        """Start it; `await_ready` waits until it knows what there is."""
        self._process = subprocess.Popen(
            (sys.executable, "-m", "nncache.bench.changing.changer"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._say(msgspec.json.encode(order).decode())

    def await_ready(self) -> None:
        """Wait until it has taken down what there is before the first change.

        Raises:
            ChangerError: it ended instead.
        """
        if self._hear() != "ready":
            raise ChangerError("the changer did not begin")

    def begin(self, zero_s: float) -> None:
        """Have it make the changes; time 0 is `zero_s` of this host's CLOCK_BOOTTIME."""
        self._say(repr(zero_s))

    def outcome(self) -> Outcome:
        """Wait for its end and return what it says.

        Raises:
            ChangerError: it ended without a word.
        """
        said = self._hear()
        if not said or self._process.wait():
            raise ChangerError("the changer ended before its time")
        return msgspec.json.decode(said, type=Outcome)

    def _say(self, line: str) -> None:
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        stdin.write(line.encode() + b"\n")
        stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()
