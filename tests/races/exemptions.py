"""Places of the listed modules at which no race is held, each with its reason. (tests/races/exemptions.py)

By `Place.key`. A row about a place that is not there, or about one that a run visited after all, fails the run.
"""

from typing import Final

_BEGINS_OR_ENDS = "the proxy begins or ends: there is no read, write or change yet, or any more"

NEVER_WAITS: Final[dict[str, str]] = {}
"""The awaited coroutine has no wait of its own on any way through it."""

OFF_THE_PATH: Final[dict[str, str]] = {}
"""It waits, but not on the way of a read, a forwarded call or a change."""
