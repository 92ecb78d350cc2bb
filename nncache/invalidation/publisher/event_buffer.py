"""Hold the filters' events until they are published, in bounded memory.

Sans-I/O. When it is full, the filter with the most events in it loses the later half of them: those of a filter that
has few wait no longer, and none of them is lost, as long as others have more.
"""

from dataclasses import dataclass, field
from typing import Final

from nncache.hadoop.events import Event, EventBatch, MetadataUpdate, Rename
from nncache.invalidation.channel.records import Dropped, Events
from nncache.invalidation.publisher.stats import PublisherStats

UNIT_BYTES: Final = 1024
"""An event counts once more for each so many bytes of its paths, ACL entries and attributes."""

_ACL_ENTRY_BYTES: Final = 64
"""Of one entry, about."""


@dataclass(slots=True)
class _Waiting:
    """What waits of one filter."""

    batches: list[EventBatch] = field(default_factory=list)  # in order
    weight: int = 0  # of these
    dropped: Dropped | None = None  # behind them
    is_shed: bool = False  # some of these were dropped since the buffer was full


class EventBuffer:
    """What waits to be published, by filter.

    Invariants:
        B1  The events that wait weigh `max_events` at most after `add` with `may_drop`.
        B2  Of each filter the events that wait are all that were added, up to the first that it misses, and what it
            misses reaches to the last that was added.
    """

    def __init__(self, max_events: int, counts: PublisherStats) -> None:
        """Begin; what filters miss is counted in `counts`."""
        self._max_events = max_events
        self._counts = counts
        self._waiting: dict[str, _Waiting] = {}  # by name
        self.weight = 0  # of all events that wait

    @property
    def is_full(self) -> bool:
        """Whether no more should be added without dropping."""
        return self.weight >= self._max_events

    def misses(self, name: str) -> bool:
        """Tell whether a filter misses events, and so all that follow until the next `take`."""
        waiting = self._waiting.get(name)
        return waiting is not None and waiting.dropped is not None

    def leave_out(self, name: str, batch: EventBatch, reason: str) -> None:
        """Take note that a filter misses these events, for this reason if it misses none before."""
        waiting = self._waiting.setdefault(name, _Waiting())
        if waiting.is_shed:
            self._counts.events_overflowed += len(batch.events)
        else:
            self._counts.events_over_limit += len(batch.events)
        known = waiting.dropped
        if known is None:
            waiting.dropped = Dropped(batch.txid, batch.txid, reason)
        else:
            waiting.dropped = Dropped(known.first_txid, batch.txid, known.reason)

    def add(self, name: str, batch: EventBatch, *, may_drop: bool) -> None:
        """Let a filter that misses nothing have these events; with `may_drop` some filter may lose its latest."""
        waiting = self._waiting.setdefault(name, _Waiting())
        weight = weight_of(batch)
        waiting.batches.append(batch)
        waiting.weight += weight
        self.weight += weight
        while may_drop and self.weight > self._max_events:
            self._shed()

    def take(self) -> tuple[dict[str, Events], dict[str, Dropped]]:
        """Return by name what waits, and what is missed behind it; then nothing waits."""
        events = {name: Events(tuple(each.batches)) for name, each in self._waiting.items() if each.batches}
        dropped = {name: each.dropped for name, each in self._waiting.items() if each.dropped is not None}
        self._waiting, self.weight = {}, 0
        return events, dropped

    def _shed(self) -> None:
        """Drop the later half of what the filter with the most has."""
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
        most.dropped, most.is_shed = Dropped(gone[0].txid, last_txid, reason), True


def weight_of(batch: EventBatch) -> int:
    """Return as how many events those of a transaction count."""
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
