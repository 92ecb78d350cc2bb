"""Name what the product promises, as the model's judge and its broken variants name it.

The guarantees of ARCHITECTURE.md, under the names that code, tests, metrics and docs share.
"""

from enum import StrEnum


class Guarantee(StrEnum):
    """One promise of the product; the model judges each after every step."""

    VERBATIM = "Verbatim"
    """What passes through is unchanged, and a cached answer is the NameNode's own, byte for byte."""
    BOUNDED = "Bounded"
    """No cached answer is older than `max_staleness`, counted from a change's acknowledgement to its maker."""
    OWN_WRITES = "OwnWrites"
    """Once a write through the proxy has been answered, every later read through it sees that write."""
    NO_LATE_FILL = "NoLateFill"
    """A reply that the NameNode gave before a change becomes neither entry nor grant once that change is known."""
    GAP_FLUSH = "GapFlush"
    """A lost, dropped or trimmed event is noticed, and costs what the stream covered: its entries, and all grants."""
    PROVEN_GRANT = "ProvenGrant"
    """Nobody learns from the cache what the NameNode would not have told them."""
    OPEN_FILE_UNCACHED = "OpenFileUncached"
    """A file that is open for writing is never answered from the cache once its opening is known."""
    FAIL_TO_NAMENODE = "FailToNameNode"
    """Whatever breaks on our side, the call is forwarded; the proxy never makes a read fail."""
    HITS_KEPT = "HitsKept"
    """A call costs others no hits but those of what it changes, or of what its caller has a right to change."""
    OWN_NAMESPACE = "OwnNamespace"
    """A request reaches the namespace to which the mount table gives its paths, and no trouble of another one."""
