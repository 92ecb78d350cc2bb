"""An event loop in virtual time, which advances only when its sockets are quiet: a busy machine changes nothing.

Both ends of each connection are in this loop, over loopback, so sent bytes arrive immediately.
"""

import asyncio
import selectors
from typing import Final

GRACE_S: Final = 0.005
"""Real seconds that bytes may take to the other end before time advances."""


class _PatientSelector(selectors.DefaultSelector):
    """Advances the time by a wait's length once no socket is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.passed_s = 1000.0  # not 0, as on a machine that has been up for a while

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the ready sockets; a wait without a timeout is real, as a thread may be working for the loop."""
        waits_s = timeout if timeout is None or timeout <= 0 else GRACE_S
        ready = super().select(waits_s)
        if not ready and timeout is not None and timeout > 0:
            self.passed_s += timeout
        return ready


class PatientLoop(asyncio.SelectorEventLoop):
    """The loop; its `time` is the test's clock."""

    def __init__(self) -> None:
        self._patient = _PatientSelector()
        super().__init__(self._patient)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._patient.passed_s

    def busy(self, seconds: float) -> None:
        """Advance the time by `seconds`, as if a callback had blocked the loop."""
        self._patient.passed_s += seconds


def clock() -> float:
    """Return the time of the running loop."""
    return asyncio.get_running_loop().time()
