"""What kazoo would write into the log, and what of it matters.

kazoo tells of every attempt to connect, several times a second while there is no server. What matters is said once, by
`coordination/connection.py`.
"""

import logging
from collections.abc import Callable
from typing import Final

_log = logging.getLogger(__name__)

_UNRESOLVED: Final = "Cannot resolve %s: %s"
"""kazoo says nowhere else that a host has no address (ConnectionHandler._expand_client_hosts, 2.11)."""


class KazooLog(logging.Logger):
    """The logger of one KazooClient: warnings and errors become lines for debugging."""

    def __init__(self, on_unresolved: Callable[[str], None]) -> None:
        """Make a logger; the function is called, in kazoo's thread, when a host has no address."""
        super().__init__("kazoo", level=logging.WARNING)
        self._on_unresolved = on_unresolved

    def handle(self, record: logging.LogRecord) -> None:
        """Take what kazoo says."""
        text = record.getMessage()
        if record.msg == _UNRESOLVED:
            self._on_unresolved(text)
        _log.debug("kazoo: %s", text, exc_info=record.exc_info)
