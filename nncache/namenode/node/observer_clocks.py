"""How long a lease has not been renewed, and a process has been away, as one observer sees it.

Pure. No clock is compared with another process's: an observer counts on its own how long the version of a lease has
not changed or a heartbeat is gone, and begins at zero with what it sees for the first time, as HDFS does after a
failover.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

SOFT_LIMIT_S: Final = 60.0
"""After that another client may have the file closed, to write it itself (HdfsConstants)."""

HARD_LIMIT_S: Final = 1200.0
"""After that the NameNode closes the holder's files (dfs.namenode.lease-hard-limit-sec, since HDFS-14758)."""

DEAD_AFTER_S: Final = 630.0
"""After so long without a heartbeat a DataNode's replicas are made elsewhere: 10.5 minutes, as in HDFS."""

REMEMBERED: Final = 10_000
"""Leases, before old ones are forgotten."""


class LeaseClock:
    """Remembers when each lease was seen to have been renewed."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}  # version, and when it was first seen
        self._most = REMEMBERED  # leases, before those are forgotten that must have ended

    def see(self, holder: str, version: int, now: float) -> float:
        """Take note of a lease as it is; return for how long it has not been renewed."""
        known = self._seen.get(holder)
        if known is None or known[0] != version:
            if len(self._seen) >= self._most:
                self._forget(now)
            self._seen[holder] = (version, now)
            return 0.0
        return now - known[1]

    def _forget(self, now: float) -> None:
        """Forget what was left for longer than any lease lasts: a DataNode never looks at all leases."""
        kept_s = 2 * HARD_LIMIT_S
        self._seen = {holder: seen for holder, seen in self._seen.items() if now - seen[1] <= kept_s}
        self._most = max(REMEMBERED, 2 * len(self._seen))

    def is_soft_limit_over(self, holder: str, version: int, now: float) -> bool:
        """Tell whether another client may take a file over."""
        return self.see(holder, version, now) > SOFT_LIMIT_S

    def look(self, versions: Mapping[str, int], now: float) -> tuple[str, ...]:
        """Take note of all leases; return the holders whose hard limit is over."""
        for holder in self._seen.keys() - versions.keys():
            del self._seen[holder]
        return tuple(
            holder for holder, version in versions.items() if self.see(holder, version, now) > HARD_LIMIT_S
        )


class Absences:
    """Remembers since when each of several is away."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._away: dict[str, float] = {}

    def look(self, names: AbstractSet[str], there: AbstractSet[str], now: float) -> frozenset[str]:
        """Take note of who is there; return who has been away for longer than that."""
        self._away = {name: self._away.get(name, now) for name in names - there}
        return frozenset(name for name, since in self._away.items() if now - since > self._most_s)
