"""The names of the product's guarantees, as the model's judge and its broken variants use them.

They are the guarantees of docs/guarantees.md, under the names that code, tests, metrics and docs share.
"""

from enum import StrEnum


class Guarantee(StrEnum):
    """One guarantee of the product; the model judges each after every step."""

    VERBATIM = "Verbatim"
    """What passes through is unchanged, and a cached answer is the NameNode's own, byte for byte."""
    BOUNDED = "Bounded"
    """No cached answer is older than `max_staleness` after a change's acknowledgement to its client."""
    OWN_WRITES = "OwnWrites"
    """Once a write through the proxy has been answered, every later read through it sees that write."""
    NO_LATE_FILL = "NoLateFill"
    """A reply that the NameNode gave before a change becomes neither entry nor grant once that change is known."""
    GAP_FLUSH = "GapFlush"
    """A lost, dropped or trimmed event is noticed and flushes what the stream covered, and all grants."""
    PROVEN_GRANT = "ProvenGrant"
    """No caller learns from the cache what the NameNode would not have told them."""
    OPEN_FILE_UNCACHED = "OpenFileUncached"
    """A file that is open for writing is never answered from the cache once its opening is known."""
    FAIL_TO_NAMENODE = "FailToNameNode"
    """Whatever breaks in the proxy, the call is forwarded; the proxy never makes a read fail."""
    HITS_KEPT = "HitsKept"
    """A call costs others no hits but those of what it changes, or of what its caller may change."""
    OWN_NAMESPACE = "OwnNamespace"
    """A request reaches the namespace to which the mount table gives its paths, despite another's faults."""
