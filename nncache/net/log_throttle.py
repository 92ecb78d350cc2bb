"""Rate-limited warnings, for events that any client can cause."""

import logging
from collections.abc import Callable
from typing import Final

COMPLAIN_EVERY_S: Final = 10.0
"""Seconds between two lines of one kind; the next line counts the suppressed ones."""


class ThrottledLog:
    """One kind of warning: the first line immediately, then at most one every `COMPLAIN_EVERY_S`.

    Without it, a NameNode that refuses our questions would cause a line for each write, thousands a second.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._quiet_until = float("-inf")
        self._left_out = 0

    def warn(self, text: str) -> None:
        """Log the line, or count it as suppressed."""
        now = self._clock()
        if now < self._quiet_until:
            self._left_out += 1
            return
        suffix = f" ({self._left_out} more like this since the last)" if self._left_out else ""
        self._quiet_until, self._left_out = now + COMPLAIN_EVERY_S, 0
        self._log.warning("%s%s", text, suffix)
