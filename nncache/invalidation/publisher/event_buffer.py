"""Buffer the filters' events until they are published, in bounded memory.

Sans-I/O. When the buffer overflows, the filter with the most events in it loses the later half of them. A filter with
few events waits no longer, and loses none while another filter has more.
"""

from dataclasses import dataclass, field
from typing import Final

from nncache.hadoop.events import Event, EventBatch, MetadataUpdate, Rename
from nncache.invalidation.channel.records import DroppedTransactions, MatchedEvents
from nncache.invalidation.publisher.stats import PublisherStats

UNIT_BYTES: Final = 1024
"""Bytes of paths, ACL entries and attributes that raise an event's weight by one."""

_ACL_ENTRY_BYTES: Final = 64
"""Approximate size of one ACL entry."""


@dataclass(slots=True)
class _Waiting:
    """The buffered events of one filter."""

    batches: list[EventBatch] = field(default_factory=list)  # in order
    weight: int = 0  # of these batches
    dropped: DroppedTransactions | None = None  # the transactions after these batches that the filter misses
    is_shed: bool = False  # some batches were dropped because the buffer was full


class EventBuffer:
    """The events that wait to be published, by filter.

    Invariants:
        B1  After `add` with `may_drop`, the buffered events weigh at most `max_events`.
        B2  For each filter, the buffered events are all its events before the first dropped one. The dropped range
            ends with the filter's last transaction.
    """

    def __init__(self, max_events: int, counts: PublisherStats) -> None:
        """Create an empty buffer; `counts` counts the events that filters miss."""
        self._max_events = max_events
        self._counts = counts
        self._waiting: dict[str, _Waiting] = {}  # by name
        self.weight = 0  # of all buffered events

    @property
    def is_full(self) -> bool:
        """Whether another event would exceed the limit."""
        return self.weight >= self._max_events

    def misses(self, name: str) -> bool:
        """Return whether a filter misses events. It then misses all later ones until the next `take`."""
        waiting = self._waiting.get(name)
        return waiting is not None and waiting.dropped is not None

    def leave_out(self, name: str, batch: EventBatch, reason: str) -> None:
        """Record that a filter misses these events. The reason of an earlier miss stays."""
        waiting = self._waiting.setdefault(name, _Waiting())
        if waiting.is_shed:
            self._counts.events_overflowed += len(batch.events)
        else:
            self._counts.events_over_limit += len(batch.events)
        known = waiting.dropped
        if known is None:
            waiting.dropped = DroppedTransactions(batch.txid, batch.txid, reason)
        else:
            waiting.dropped = DroppedTransactions(known.first_txid, batch.txid, known.reason)

    def add(self, name: str, batch: EventBatch, *, may_drop: bool) -> None:
        """Buffer events of a filter that misses none. With `may_drop`, overflow drops some filter's latest events."""
        waiting = self._waiting.setdefault(name, _Waiting())
        weight = weight_of(batch)
        waiting.batches.append(batch)
        waiting.weight += weight
        self.weight += weight
        while may_drop and self.weight > self._max_events:
            self._shed()

    def take(self) -> tuple[dict[str, MatchedEvents], dict[str, DroppedTransactions]]:
        """Return the buffered events and the dropped transactions that follow them, by filter, and empty the buffer."""
        events = {
            name: MatchedEvents(tuple(each.batches)) for name, each in self._waiting.items() if each.batches
        }
        dropped = {name: each.dropped for name, each in self._waiting.items() if each.dropped is not None}
        self._waiting, self.weight = {}, 0
        return events, dropped

    def _shed(self) -> None:
        """Drop the later half of the events of the filter with the largest weight."""
        most = max(self._waiting.values(), key=lambda each: each.weight)
        kept = len(most.batches) // 2
        gone = most.batches[kept:]
        del most.batches[kept:]
        weight = sum(map(weight_of, gone))
        most.weight -= weight
        self.weight -= weight
        self._counts.events_overflowed += sum(len(batch.events) for batch in gone)
        reason = f"more than {self._max_events} events waited to be published (max_buffered_events)"
        later = most.dropped
        last_txid = gone[-1].txid if later is None else later.last_txid
        most.dropped, most.is_shed = DroppedTransactions(gone[0].txid, last_txid, reason), True


def weight_of(batch: EventBatch) -> int:
    """Return the weight of a transaction's events, in units of one small event."""
    return sum(1 + _bytes_of(event) // UNIT_BYTES for event in batch.events)


def _bytes_of(event: Event) -> int:
    match event:
        case Rename(source, destination):
            return len(source) + len(destination)
        case MetadataUpdate(path=path, acls=acls, xattrs=xattrs):
            attributes = sum(len(each.name) + len(each.value) for each in xattrs)
            return len(path) + len(acls) * _ACL_ENTRY_BYTES + attributes
        case _:
            return len(event.path)
