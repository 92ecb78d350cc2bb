"""The cache's figures, counted in place; what is handed out is a copy."""

import math
from collections import Counter
from dataclasses import dataclass, field

from nncache.cache.decisions import Conclusion, Reason


@dataclass(slots=True, kw_only=True)
class CacheStats:
    """A snapshot; counters count since the cache was made.

    Attributes:
        entries, grants, directories: held now, those that wait to be taken apart included.
        bytes: what they take, with the hits held for repeated requests and the questions under way.
        tickets: questions on their way to the NameNode.
        windows: two-step writes under way.
        gate_age_s: seconds since all changes were last known to be applied; infinite before the first time.
        max_staleness_s: at which age the gate closes, as the settings say.
        covered_txid: last transaction known to be applied; -1 before.
        decisions: lookups that went to the NameNode, by reason.
        conclusions: fetched replies, by what became of them.
    """

    entries: int = 0
    grants: int = 0
    directories: int = 0
    bytes: int = 0
    tickets: int = 0
    windows: int = 0
    is_open: bool = False
    gate_age_s: float = math.inf
    max_staleness_s: float = 0.0
    covered_txid: int = -1
    joins: int = 0
    waits: int = 0
    decisions: Counter[Reason] = field(default_factory=Counter)
    conclusions: Counter[Conclusion] = field(default_factory=Counter)
    changes: int = 0
    forgotten: int = 0
    flushes: int = 0
    evictions: int = 0
