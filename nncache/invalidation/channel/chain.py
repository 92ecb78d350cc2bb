"""Follow a stream's records and notice every gap.

Sans-I/O. Each record names the one before it, so a gap is known exactly. The design of HDFS-8940 only guesses it from
"no overlap".
"""

from dataclasses import dataclass
from typing import TypeAlias

from nncache.invalidation.channel.records import RecordLink


@dataclass(frozen=True, slots=True)
class ChainContinued:
    """The record is the next one; its transactions up to `after_txid` have been read already."""

    after_txid: int


@dataclass(frozen=True, slots=True)
class ChainReplayed:
    """The whole record has been read already."""


@dataclass(frozen=True, slots=True)
class ChainBroken:
    """Continuity is lost: transactions are missing, or the stream is not the one followed so far."""

    reason: str


Step: TypeAlias = ChainContinued | ChainReplayed | ChainBroken


class ChainPosition:
    """A position in a stream.

    Invariant: every transaction from the first position up to `txid` was in a record that was `ChainContinued`.
    """

    def __init__(self, chain: str, txid: int) -> None:
        """Start after transaction `txid` of the stream with this chain id."""
        self.chain = chain
        """The chain id of the stream."""
        self.txid = txid
        """Every transaction up to this one has been read."""

    def receive(self, link: RecordLink) -> Step:
        """Check the next record that was found; only `ChainContinued` advances the position."""
        if link.chain != self.chain:
            return ChainBroken("the stream was restarted")
        if link.txid <= self.txid:
            return ChainReplayed()
        if link.previous > self.txid:
            return ChainBroken(f"transactions {self.txid + 1} to {link.previous} are missing")
        after_txid, self.txid = self.txid, link.txid
        return ChainContinued(after_txid)
