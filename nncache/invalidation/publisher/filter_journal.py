"""Record the publications of each filter and the changes of the set of filters.

Pure; for operators. It outlasts the publisher's runs.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.invalidation.channel.records import MatchedEvents
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition, Publication

CHANGES: Final = 20
"""Changes of filters that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterFigures:
    """The publications of one filter by this process.

    Attributes:
        events: matching events; an event that matches several filters counts for each.
        records: records with these events.
        last_txid: the transaction of the last event; None if there is none.
        last_at: when that was published, in seconds of the process's clock; None if there is none.
    """

    events: int = 0
    records: int = 0
    last_txid: int | None = None
    last_at: float | None = None


@dataclass(frozen=True, slots=True)
class FilterChanged:
    """A change of one filter; `at` is in seconds of the process's clock."""

    at: float
    kind: str
    name: str
    path_glob: str


class FilterHistory:
    """Counts the publications of each filter while it is in force.

    Invariant:
        J1  `_figures` holds only ids of filters that were in force when the set last changed, or that had something
            published since.
    """

    def __init__(self) -> None:
        self._figures: dict[str, FilterFigures] = {}  # by id: a filter that restarts gets another one
        self._changes: deque[FilterChanged] = deque(maxlen=CHANGES)

    def of(self, id_: str) -> FilterFigures:
        """Return the figures of the filter with this id."""
        return self._figures.get(id_, FilterFigures())

    @property
    def changes(self) -> tuple[FilterChanged, ...]:
        """The last changes of the set, the latest first."""
        return tuple(reversed(self._changes))

    def published(self, publication: Publication, filters: Mapping[str, FilterPosition], now: float) -> None:
        """Record what was written for these filters."""
        for name, content in publication.filters.items():
            if isinstance(content, MatchedEvents):
                id_ = filters[name].filter.chain
                before = self.of(id_)
                self._figures[id_] = FilterFigures(
                    events=before.events + sum(len(batch.events) for batch in content.batches),
                    records=before.records + 1,
                    last_txid=content.batches[-1].txid,
                    last_at=now,
                )

    def changed(
        self,
        change: FilterChange,
        before: Mapping[str, FilterPosition],
        after: Mapping[str, FilterPosition],
        now: float,
    ) -> None:
        """Record a completed change from one set of filters to the next."""
        for kind, names in by_kind(change).items():
            for name in names:
                position = after.get(name) or before.get(name)
                glob = "" if position is None else position.filter.path_glob
                self._changes.append(FilterChanged(now, kind, name, glob))
        in_force = {position.filter.chain for position in after.values()}
        self._figures = {id_: each for id_, each in self._figures.items() if id_ in in_force}


def by_kind(change: FilterChange) -> dict[str, Sequence[str]]:
    """Return the names of the filters that a change concerns, sorted, by the kind of change."""
    added = {filter_.name for filter_ in change.added}
    return {
        "added": sorted(added - set(change.removed)),
        "restarted": sorted(added & set(change.removed)),
        "removed": sorted(set(change.removed) - added),
        "modified": sorted(filter_.name for filter_ in change.modified),
        "updated": sorted(filter_.name for filter_ in change.updated),
    }
