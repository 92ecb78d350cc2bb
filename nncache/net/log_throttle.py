"""Warnings that any client can provoke, written seldom."""

import logging
from collections.abc import Callable
from typing import Final

COMPLAIN_EVERY_S: Final = 10.0
"""Between two lines of one kind; what falls in between is counted in the next."""


class ThrottledLog:
    """One kind of warning: a line at once, then at most one every `COMPLAIN_EVERY_S`.

    While a NameNode refuses a question of ours, each write would bring a line, thousands a second.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._quiet_until = float("-inf")
        self._left_out = 0

    def warn(self, text: str) -> None:
        """Write the line, or count it."""
        now = self._clock()
        if now < self._quiet_until:
            self._left_out += 1
            return
        suffix = f" ({self._left_out} more like this since the last)" if self._left_out else ""
        self._quiet_until, self._left_out = now + COMPLAIN_EVERY_S, 0
        self._log.warning("%s%s", text, suffix)
