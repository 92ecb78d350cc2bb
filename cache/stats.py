"""The cache's figures. (cache/stats.py)"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cache.decisions import Conclusion, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """A snapshot; counters count since the cache was made.

    Attributes:
        entries, grants, directories: held now, those that wait to be taken apart included.
        bytes: what they take, with the hits held for repeated requests and the questions under way.
        tickets: questions on their way to the NameNode.
        windows: two-step writes under way.
        gate_age_s: seconds since all changes were last known to be applied; infinite before the first time.
        covered_txid: last transaction known to be applied; -1 before.
        decisions: lookups that went to the NameNode, by reason.
        conclusions: fetched replies, by what became of them.
    """

    entries: int
    grants: int
    directories: int
    bytes: int
    tickets: int
    windows: int
    is_open: bool
    gate_age_s: float
    covered_txid: int
    serves: int
    joins: int
    waits: int
    decisions: dict[Reason, int]
    conclusions: dict[Conclusion, int]
    changes: int
    forgotten: int
    flushes: int
    evictions: int


@dataclass(slots=True)
class CacheCounters:
    """The counters behind `CacheStats`, as the cache counts them."""

    serves: int = 0
    joins: int = 0
    waits: int = 0
    decisions: Counter[Reason] = field(default_factory=Counter)
    conclusions: Counter[Conclusion] = field(default_factory=Counter)
    changes: int = 0
    forgotten: int = 0
    flushes: int = 0
    evictions: int = 0
    hits_evicted: int = 0  # of those that were held for repeated requests
