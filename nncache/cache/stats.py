"""The cache's figures."""

import math
from collections import Counter
from dataclasses import dataclass, field

from nncache.cache.decisions import Conclusion, MissReason


@dataclass(slots=True, kw_only=True)
class CacheStats:
    """A snapshot of the figures; counters count since the cache was created."""

    entries: int = 0  # held now, those that wait to be taken apart included
    grants: int = 0  # the same
    directories: int = 0  # the same
    bytes: int = 0  # what they take, with the hits held for repeated requests and the questions under way
    tickets: int = 0  # questions on their way to the NameNode
    windows: int = 0  # two-step writes under way
    is_open: bool = False
    gate_age_s: float = math.inf  # since all changes were last known to be applied
    max_staleness_s: float = 0.0  # at which age the gate closes, as the settings say
    covered_txid: int = -1  # last transaction known to be applied; -1 before
    joins: int = 0
    waits: int = 0
    decisions: Counter[MissReason] = field(default_factory=Counter)  # lookups that went to the NameNode
    conclusions: Counter[Conclusion] = field(default_factory=Counter)  # what became of fetched replies
    changes: int = 0
    forgotten: int = 0
    flushes: int = 0
    evictions: int = 0
