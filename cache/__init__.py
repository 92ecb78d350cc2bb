"""What may be answered without asking the NameNode: the pure deciding core.

No socket, no clock, no log: shells bring the time and carry out what is decided.
"""

from cache.admission import Admission, admit
from cache.decisions import (
    Conclusion,
    Decision,
    Denied,
    Failed,
    Fetch,
    Forward,
    Join,
    Known,
    OpenFile,
    Outcome,
    Reason,
    Serve,
    Unchanged,
    Wait,
)
from cache.entries import Entry, Grant, Hit, Kind, Ticket
from cache.explanation import Explanation
from cache.metadata_cache import MetadataCache
from cache.replies import Reply
from cache.ring import Caller
from cache.settings import CacheSettings
from cache.stats import CacheStats

__all__ = [
    "Admission",
    "CacheSettings",
    "CacheStats",
    "Caller",
    "Conclusion",
    "Decision",
    "Denied",
    "Entry",
    "Explanation",
    "Failed",
    "Fetch",
    "Forward",
    "Grant",
    "Hit",
    "Join",
    "Kind",
    "Known",
    "MetadataCache",
    "OpenFile",
    "Outcome",
    "Reason",
    "Reply",
    "Serve",
    "Ticket",
    "Unchanged",
    "Wait",
    "admit",
]
