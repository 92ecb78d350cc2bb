"""An event loop whose time passes only while nothing comes over its sockets: no machine is too busy for it.

Both ends of each connection are in this one loop, over loopback: what was sent is there at once.
"""

import asyncio
import selectors
from typing import Final

GRACE_S: Final = 0.005
"""Real seconds that bytes may take from one end to the other before time passes."""


class _PatientSelector(selectors.DefaultSelector):
    """Lets the time pass that the loop would wait for, once nothing is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_s = 1000.0  # not 0, as on any machine that has been up for a while

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; a wait without an end is a real one: a thread works for the loop."""
        waits_s = timeout if timeout is None or timeout <= 0 else GRACE_S
        ready = super().select(waits_s)
        if not ready and timeout is not None and timeout > 0:
            self.passed_s += timeout
        return ready


class PatientLoop(asyncio.SelectorEventLoop):
    """The loop; its `time` is the clock of the test."""

    def __init__(self) -> None:
        self._patient = _PatientSelector()
        super().__init__(self._patient)

    def time(self) -> float:
        """Return the seconds of the test."""
        return self._patient.passed_s

    def busy(self, seconds: float) -> None:
        """Let so much time pass in which the loop does nothing else."""
        self._patient.passed_s += seconds


def clock() -> float:
    """Return the time of the running loop."""
    return asyncio.get_running_loop().time()
