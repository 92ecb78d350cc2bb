"""The interface of streams to the source of events.

Types and values only: `nncache/events/zookeeper.py` makes the values from a publisher's records in ZooKeeper.
"""

from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from nncache.hadoop.events import EventBatch


@dataclass(frozen=True, slots=True)
class AfterTxid:
    """A position in a filter's stream: after this transaction.

    Attributes:
        txid: the transaction id.
        chain: the chain of the stream to which the position belongs; None: not known.
    """

    txid: int
    chain: str | None = None


@dataclass(frozen=True, slots=True)
class StreamBegun:
    """The stream starts here: all events after this position follow, and no earlier ones."""

    after: AfterTxid


@dataclass(frozen=True, slots=True)
class NextEvents:
    """The next events.

    Attributes:
        batches: the events, by transaction, in order.
        through: all transactions up to this position are in these batches or in earlier ones.
    """

    batches: tuple[EventBatch, ...]
    through: AfterTxid


@dataclass(frozen=True, slots=True)
class FilterRedefined:
    """The filter was modified: the events after this position match its new glob, earlier ones the old glob.

    It may be repeated when a reader resumes right after it.
    """

    after: AfterTxid
    glob_before: str
    owner_before: str
    glob: str
    owner: str


@dataclass(frozen=True, slots=True)
class EventsGap:
    """Events are missing.

    Attributes:
        reason: why they are missing.
        first_txid: the first missing transaction; None: not known.
        last_txid: the last missing transaction; None: not known.
        after: the position from which a new subscription can continue; None: only from its own start.
    """

    reason: str
    first_txid: int | None
    last_txid: int | None
    after: AfterTxid | None


@dataclass(frozen=True, slots=True)
class EventsOutage:
    """An outage: events cannot be read at present. Whether any are missing will show when it is over."""

    reason: str


@dataclass(frozen=True, slots=True)
class FilterGone:
    """There is no such filter."""


Item: TypeAlias = StreamBegun | NextEvents | FilterRedefined | EventsGap | EventsOutage | FilterGone


class SourceUnavailableError(Exception):
    """ZooKeeper does not answer."""


class Readers(Protocol):
    """The users who may read a filter's events."""

    async def read(self) -> AbstractSet[str] | None:
        """Return the users; None: there is no such filter.

        Raises:
            SourceUnavailableError: ZooKeeper does not answer.
        """

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as the users may have changed, False after `timeout_s` seconds."""


class EventSource(Protocol):
    """Provides the events of filters, and their readers."""

    def follow(self, filter_name: str, after: AfterTxid | None) -> AsyncIterator[Item]:
        """Return an endless iterator over a filter's events after a position, in order, across gaps and outages.

        Each event occurs once. None: from now on. Awaiting the next item may be cancelled and repeated.
        """

    def readers(self, filter_name: str) -> Readers:
        """Return the readers of a filter's events."""

    async def close(self) -> None:
        """Release all resources; a later query acquires them again."""
