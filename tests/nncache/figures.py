"""Figures of each room, made up, for tests of what shows them."""

from cache.decisions import Conclusion, Reason
from cache.stats import CacheStats
from hadoop.pool import PoolStats
from invalidation.stats import StreamStats

ROOMS = ("cache", "pool", "stream")


def made_up() -> dict[str, object]:
    """Return one Stats value per room."""
    return {
        "cache": CacheStats(
            entries=1,
            grants=1,
            directories=1,
            bytes=1,
            tickets=0,
            windows=0,
            is_open=True,
            gate_age_s=0.1,
            covered_txid=9,
            serves=1,
            joins=0,
            waits=0,
            decisions={Reason.NO_GRANT: 3},
            conclusions={Conclusion.STORED: 2},
            changes=0,
            forgotten=0,
            flushes=0,
            evictions=0,
        ),
        "pool": PoolStats(
            namenodes=2, reachable=1, has_active=1, term=1, probes=1, failed_probes=0, suspicions=0
        ),
        "stream": StreamStats(),
    }
