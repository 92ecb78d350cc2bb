"""Plan the change from the published filters to those in HDFS.

Sans-I/O. A filter with a changed glob is another filter for caches, under another id. Its stream continues, and
announces the change to its subscribers. A filter that was recreated with another glob or owner starts over, like one
with damaged znodes: its present records are not those of the new filter, and must not reach the new owner.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from nncache.invalidation.channel.published_filters import FilterTerms, PublishedFilter
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition


def plan_filters(
    published: Mapping[str, PublishedFilter],
    damaged: Mapping[str, PublishedFilter | None],
    stored: StoredFilters | None,
    *,
    since_txid: int,
    new_id: Callable[[], str],
) -> FilterChange:
    """Return the change; it may be empty.

    Without `stored` (HDFS could not be read yet), and for a filter whose definition there is broken, the published
    state stays. `since_txid` is the last transaction published: a new filter matches from the next one on.
    """
    removed: list[str] = []
    added: list[PublishedFilter] = []
    updated: list[PublishedFilter] = []
    modified: list[PublishedFilter] = []
    names = {*published, *damaged, *(() if stored is None else stored.filters)}
    for name in sorted(names):
        has = published.get(name)
        wanted = _wanted(name, has or damaged.get(name), stored)
        if has is not None and wanted is not None:
            if _is_modified(has, wanted):
                modified.append(_modified(has, wanted, new_id))
                continue
            if has.terms == FilterTerms(wanted.path_glob, wanted.owner):
                if (wanted.allowed_subscribers, wanted.file_id) != (has.allowed_subscribers, has.file_id):
                    updated.append(_updated(has, wanted))
                continue
        if has is not None or name in damaged:
            removed.append(name)
        if wanted is not None:
            added.append(_published(wanted, new_id(), since_txid))
    return FilterChange(
        removed=tuple(removed), added=tuple(added), updated=tuple(updated), modified=tuple(modified)
    )


def changed_positions(
    positions: Mapping[str, FilterPosition], change: FilterChange, *, txid: int
) -> dict[str, FilterPosition]:
    """Return the filters in force after a change, by name; everything up to `txid` was published before."""
    changed = {name: position for name, position in positions.items() if name not in change.removed}
    changed |= {filter_.name: FilterPosition(filter_, filter_.since_txid) for filter_ in change.added}
    changed |= {
        filter_.name: FilterPosition(filter_, positions[filter_.name].txid) for filter_ in change.updated
    }
    for filter_ in change.modified:
        before = positions[filter_.name]
        changed[filter_.name] = after_modification(filter_, before.txid, txid) or FilterPosition(
            filter_, before.txid
        )
    return changed


def after_modification(filter_: PublishedFilter, records_txid: int, txid: int) -> FilterPosition | None:
    """Return a modified filter with its modification announced, or None if no record can announce it now.

    That record is named by the last transaction published, `txid`. If the last record of the stream, `records_txid`,
    already has that name, the next record announces the modification.
    """
    if filter_.replaces is None or records_txid >= txid:
        return None
    return FilterPosition(replace(filter_, replaces=None), txid)


def _is_modified(has: PublishedFilter, wanted: Filter | PublishedFilter) -> bool:
    return has.file_id == wanted.file_id and has.terms != FilterTerms(wanted.path_glob, wanted.owner)


def _modified(
    has: PublishedFilter, wanted: Filter | PublishedFilter, new_id: Callable[[], str]
) -> PublishedFilter:
    known = has.replaces or has.terms
    return replace(
        has,
        id=has.id if wanted.path_glob == has.path_glob else new_id(),
        path_glob=wanted.path_glob,
        owner=wanted.owner,
        allowed_subscribers=wanted.allowed_subscribers,
        replaces=None if known == FilterTerms(wanted.path_glob, wanted.owner) else known,
    )


def _updated(has: PublishedFilter, wanted: Filter | PublishedFilter) -> PublishedFilter:
    return replace(has, allowed_subscribers=wanted.allowed_subscribers, file_id=wanted.file_id)


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
        file_id=wanted.file_id,
    )
