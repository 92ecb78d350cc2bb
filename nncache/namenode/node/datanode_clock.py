"""For how long a DataNode has been away, as one observer sees it.

Pure. No clock is compared with another process's: an observer counts on its own since when a heartbeat is gone, and
begins at zero with what it sees for the first time.
"""

from collections.abc import Set as AbstractSet
from typing import Final

DEAD_AFTER_S: Final = 630.0
"""After so long without a heartbeat a DataNode's replicas are made elsewhere: 10.5 minutes, as in HDFS."""


class DataNodeClock:
    """Remembers since when each DataNode is away."""

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._away: dict[str, float] = {}

    def look(self, names: AbstractSet[str], there: AbstractSet[str], now: float) -> frozenset[str]:
        """Take note of who is there; return who counts as dead."""
        self._away = {name: self._away.get(name, now) for name in names - there}
        return frozenset(name for name, since in self._away.items() if now - since > self._dead_after_s)
