"""What may be answered without asking the NameNode: the pure deciding core.

No socket, no clock, no log: shells bring the time and carry out what is decided.
"""

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import (
    Cacheable,
    Conclusion,
    Decision,
    Denied,
    Failed,
    Fetch,
    Forward,
    Join,
    MissReason,
    OpenFile,
    Outcome,
    Serve,
    Unauthenticated,
    Unchanged,
    Wait,
)
from nncache.cache.entries import Entry, EntryKind, Grant, Hit, Ticket
from nncache.cache.explanation import Explanation
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.replies import StoredReply
from nncache.cache.settings import CacheSettings
from nncache.cache.stats import CacheStats

__all__ = [
    "CacheSettings",
    "CacheStats",
    "Cacheable",
    "Caller",
    "Conclusion",
    "Decision",
    "Denied",
    "Entry",
    "EntryKind",
    "Explanation",
    "Failed",
    "Fetch",
    "Forward",
    "Grant",
    "Hit",
    "Join",
    "MetadataCache",
    "MissReason",
    "OpenFile",
    "Outcome",
    "Serve",
    "StoredReply",
    "Ticket",
    "Unauthenticated",
    "Unchanged",
    "Wait",
]
