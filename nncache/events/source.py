"""What a stream of events needs of the rest of the system.

Shapes and values only: `nncache/events/zookeeper.py` makes them of what a publisher writes to ZooKeeper.
"""

from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from nncache.hadoop.events import EventBatch


@dataclass(frozen=True, slots=True)
class After:
    """A position in a filter's stream: behind this transaction.

    Attributes:
        txid: the transaction.
        chain: the run of the filter in which that is a position; None: not known.
    """

    txid: int
    chain: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """All later events follow, and no earlier one."""

    after: After


@dataclass(frozen=True, slots=True)
class StateChange:
    """The next events.

    Attributes:
        batches: by transaction, in order.
        through: all transactions up to here are in these batches, or in earlier ones.
    """

    batches: tuple[EventBatch, ...]
    through: After


@dataclass(frozen=True, slots=True)
class Modified:
    """The filter was modified: events behind this position are those of its new glob, none before is.

    It may come again, when a reader goes on right behind it.
    """

    after: After
    glob_before: str
    owner_before: str
    glob: str
    owner: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Events are missing.

    Attributes:
        reason: why.
        first_txid: the first transaction that is missing; None: not known.
        last_txid: the last one; None: not known.
        after: behind what the next subscription can go on; None: only from then on.
    """

    reason: str
    first_txid: int | None
    last_txid: int | None
    after: After | None


@dataclass(frozen=True, slots=True)
class Away:
    """What happens has not been known for a while; whether events are missing will show when that is over."""

    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such filter."""


Item: TypeAlias = Begun | StateChange | Modified | Gap | Away | Gone


class SourceSilentError(Exception):
    """ZooKeeper does not answer."""


class Readers(Protocol):
    """Who may read a filter's events."""

    async def read(self) -> AbstractSet[str] | None:
        """Return the users; None if there is no such filter.

        Raises:
            SourceSilentError: that cannot be known now.
        """

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as it may be others than were read, False after `timeout_s` seconds."""


class EventSource(Protocol):
    """Knows filters and their events."""

    def follow(self, filter_name: str, after: After | None) -> AsyncIterator[Item]:
        """Return the events of a filter behind a position, in order, each once, past gaps and outages, without end.

        None: from now on. A wait for the next item may be cancelled and begun again.
        """

    def readers(self, filter_name: str) -> Readers:
        """Return a look at who may read them."""

    async def close(self) -> None:
        """Give up what questions have begun; a later one begins it again."""
