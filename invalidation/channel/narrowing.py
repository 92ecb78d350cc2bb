"""Say which changes concern a cache, and which events a subscriber. (invalidation/channel/narrowing.py)

A cache needs more than the changes of matching paths: a change may be one of what lies below its path, and a child's
is the only sign that the directory's own status changed. It needs nothing else: it keeps outcomes of matching paths
alone, and rights of the directories on the way to them. Footprints: `hadoop/change.py` and `cache/forgetting.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from hadoop.events import Event, EventBatch, Rename
from hadoop.globs import GlobSet
from hadoop.paths import InvalidPathError, canonical, parent


def narrow(changes: Iterable[tuple[int, Change]], globs: GlobSet) -> Iterator[tuple[int, Change]]:
    """Give, in order, the changes that concern a cache of what these globs match."""
    for txid, change in changes:
        if concerns(change, globs):
            yield txid, change


def concerns(change: Change, globs: GlobSet) -> bool:
    """Tell whether a cache of what these globs match must hear of a change."""
    match change:
        case Touched(path):
            return globs.matches(path)
        case AccessChanged(path) | SubtreeUnknown(path):
            return _is_at_or_below(path, globs)
        # Opened and Closed say more than Touched: they end the window of a two-step write, which covers a place.
        case Appeared(path) | Vanished(path) | Opened(path) | Closed(path):
            return _is_about_place(path, globs)
        case Moved(source, destination):
            return _is_about_place(source, globs) or _is_about_place(destination, globs)
        case EverythingUnknown():
            return True
        case _:
            assert_never(change)


def _is_at_or_below(path: str, globs: GlobSet) -> bool:
    return globs.matches(path) or globs.may_match_below(path)


def _is_about_place(path: str, globs: GlobSet) -> bool:
    above = parent(path)
    return _is_at_or_below(path, globs) or (above is not None and globs.matches(above))


def matched(batch: EventBatch, globs: GlobSet) -> Mapping[str, EventBatch]:
    """Give to each filter, by name, the events whose path matches its glob; of a rename either path will do.

    An event whose path is none that HDFS has matches nothing.
    """
    found: dict[str, list[Event]] = {}
    for event in batch.events:
        names = (
            _names_matching(event.source, globs) | _names_matching(event.destination, globs)
            if isinstance(event, Rename)
            else _names_matching(event.path, globs)
        )
        for name in names:
            found.setdefault(name, []).append(event)
    return {name: EventBatch(batch.txid, tuple(events)) for name, events in found.items()}


def _names_matching(path: str, globs: GlobSet) -> frozenset[str]:
    try:
        return globs.names_matching(canonical(path))
    except InvalidPathError:
        return frozenset()
