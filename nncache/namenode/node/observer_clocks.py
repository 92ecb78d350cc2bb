"""Time since a lease was renewed, and since a process disappeared, as one observer measures it.

Pure. Clocks of different processes are never compared: an observer measures by itself how long the version of a lease
has not changed or a heartbeat is missing. The time starts at zero for each item that it sees for the first time, as in
HDFS after a failover.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

SOFT_LIMIT_S: Final = 60.0
"""Time without renewal after which another client may have the file closed and write it (HdfsConstants)."""

HARD_LIMIT_S: Final = 1200.0
"""Time without renewal after which the NameNode closes the files (dfs.namenode.lease-hard-limit-sec, HDFS-14758)."""

DEAD_AFTER_S: Final = 630.0
"""Time without a heartbeat after which a DataNode is dead: 10.5 minutes, as in HDFS. Its replicas are replaced."""

REMEMBERED: Final = 10_000
"""Number of leases beyond which old ones are forgotten."""


class LeaseClock:
    """Remembers when each lease was last seen renewed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}  # by holder: version, and when it was first seen
        self._most = REMEMBERED  # number of leases beyond which old ones are forgotten

    def see(self, holder: str, version: int, now: float) -> float:
        """Record the version of a lease. Return the seconds since its last renewal was seen."""
        known = self._seen.get(holder)
        if known is None or known[0] != version:
            if len(self._seen) >= self._most:
                self._forget(now)
            self._seen[holder] = (version, now)
            return 0.0
        return now - known[1]

    def _forget(self, now: float) -> None:
        """Forget leases that are not renewed for longer than any lease lasts: a DataNode never calls `look`."""
        kept_s = 2 * HARD_LIMIT_S
        self._seen = {holder: seen for holder, seen in self._seen.items() if now - seen[1] <= kept_s}
        self._most = max(REMEMBERED, 2 * len(self._seen))

    def is_soft_limit_over(self, holder: str, version: int, now: float) -> bool:
        """Tell whether another client may take over the holder's files."""
        return self.see(holder, version, now) > SOFT_LIMIT_S

    def look(self, versions: Mapping[str, int], now: float) -> tuple[str, ...]:
        """Record the versions of all leases. Return the holders whose hard limit has expired."""
        for holder in self._seen.keys() - versions.keys():
            del self._seen[holder]
        return tuple(
            holder for holder, version in versions.items() if self.see(holder, version, now) > HARD_LIMIT_S
        )


class Absences:
    """Remembers since when each name is absent."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._away: dict[str, float] = {}

    def look(self, names: AbstractSet[str], there: AbstractSet[str], now: float) -> frozenset[str]:
        """Record which names are absent. Return the names absent for more than `most_s` seconds."""
        self._away = {name: self._away.get(name, now) for name in names - there}
        return frozenset(name for name, since in self._away.items() if now - since > self._most_s)
