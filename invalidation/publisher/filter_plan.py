"""Say how the published filters must change to be those of HDFS. (invalidation/publisher/filter_plan.py)

Sans-I/O. A filter whose glob changes is another filter, under another id: what its subscribers have is not what it
would have told them. So is one whose znodes are damaged.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from nncache.invalidation.channel.records import PublishedFilter
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition


class StoredFilters(Protocol):
    """The filters as HDFS has them; `nncache.invalidation.filters.hdfs_store.StoredFilters` has this shape."""

    @property
    def filters(self) -> Mapping[str, Filter]:
        """Those that can be used, by name."""

    @property
    def broken(self) -> Mapping[str, str]:
        """What is wrong with each of the others, by name."""


def plan_filters(
    published: Mapping[str, PublishedFilter],
    damaged: Mapping[str, PublishedFilter | None],
    stored: StoredFilters | None,
    *,
    since_txid: int,
    new_id: Callable[[], str],
) -> FilterChange:
    """Return the change; it may be empty.

    Without `stored` (HDFS could not be read yet), and for a definition there that is broken, what is published stays.
    `since_txid` is the last transaction published: a new filter matches from the next one on.
    """
    removed: list[str] = []
    added: list[PublishedFilter] = []
    updated: list[PublishedFilter] = []
    names = {*published, *damaged, *(() if stored is None else stored.filters)}
    for name in sorted(names):
        has = published.get(name)
        wanted = _wanted(name, has or damaged.get(name), stored)
        if has is not None and wanted is not None and wanted.path_glob == has.path_glob:
            if (wanted.owner, wanted.allowed_subscribers) != (has.owner, has.allowed_subscribers):
                updated.append(_published(wanted, has.id, has.since_txid))
            continue
        if has is not None or name in damaged:
            removed.append(name)
        if wanted is not None:
            added.append(_published(wanted, new_id(), since_txid))
    return FilterChange(removed=tuple(removed), added=tuple(added), updated=tuple(updated))


def changed_positions(
    positions: Mapping[str, FilterPosition], change: FilterChange
) -> dict[str, FilterPosition]:
    """Return the filters in force after a change, by name."""
    changed = {name: position for name, position in positions.items() if name not in change.removed}
    changed |= {filter_.name: FilterPosition(filter_, filter_.since_txid) for filter_ in change.added}
    changed |= {
        filter_.name: FilterPosition(filter_, positions[filter_.name].txid) for filter_ in change.updated
    }
    return changed


def _wanted(
    name: str, has: PublishedFilter | None, stored: StoredFilters | None
) -> Filter | PublishedFilter | None:
    if stored is None or name in stored.broken:
        return has
    return stored.filters.get(name)


def _published(wanted: Filter | PublishedFilter, id_: str, since_txid: int) -> PublishedFilter:
    return PublishedFilter(
        name=wanted.name,
        id=id_,
        path_glob=wanted.path_glob,
        since_txid=since_txid,
        owner=wanted.owner,
        allowed_subscribers=wanted.allowed_subscribers,
    )
