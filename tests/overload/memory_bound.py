"""How much memory a proxy may take by its settings."""

from typing import Final

from tests.overload.proc import MIB
from tests.overload.real_cluster import Setting

CONNECTION_BYTES: Final = 20 * 1024
"""Of one client connection with a call under way (docs/sizing.md)."""

WORKING_BYTES: Final = 40 * MIB
"""Beside that: buffers of calls under way, the allocator's slack, and what waits for the collector.

Calls of 60 KB over 8 connections take 33 to 43 MiB in all, and no more however many they are.
"""

TOLERANCE: Final = 1.2


def bound_bytes(setting: Setting, idle_bytes: int, connections: int = 0) -> int:
    """Return what it has when idle, its two tables, and what works on so many connections."""
    tables = setting.cache_bytes + setting.fast_path_bytes
    return idle_bytes + tables + WORKING_BYTES + connections * CONNECTION_BYTES
