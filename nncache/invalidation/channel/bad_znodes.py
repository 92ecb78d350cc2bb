"""Count and tell what should not be in the channel's znodes, each once."""

import logging
from typing import Final

MAX_REMEMBERED: Final = 1000
"""Paths remembered; with more than that something else is wrong."""

_log = logging.getLogger(__name__)


class BadZnodes:
    """Znodes that hold what cannot be read, or are none of the channel's. Both cost only what depends on them."""

    def __init__(self) -> None:
        self._corrupt: set[str] = set()
        self._foreign: set[str] = set()

    @property
    def corrupt_znodes(self) -> int:
        """How many there were whose data could not be read."""
        return len(self._corrupt)

    @property
    def foreign_znodes(self) -> int:
        """How many there were whose name is none of the channel's."""
        return len(self._foreign)

    def corrupt(self, path: str, why: str) -> None:
        """Take note of a znode that cannot be read."""
        if _is_new(path, self._corrupt):
            _log.warning("corrupt znode, ignored: %s", why)

    def foreign(self, path: str) -> None:
        """Take note of a znode that does not belong here."""
        if _is_new(path, self._foreign):
            _log.warning("foreign znode, ignored: %s", path)


def _is_new(path: str, known: set[str]) -> bool:
    if path in known or len(known) >= MAX_REMEMBERED:
        return False
    known.add(path)
    return True
