"""Select the changes that concern a cache, and the events that concern a subscriber.

A cache needs more than the changes of matching paths. A change may affect everything below its path, and a change of a
child is the only sign that the directory's own status changed. A cache needs no other changes: it keeps outcomes of
matching paths, rights to the directories above them, and two-step writes whose place may hold a matching path.
Footprints: `hadoop/change.py`, `cache/forgetting.py` and `cache/windows.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from nncache.hadoop.change import (
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
from nncache.hadoop.events import Event, EventBatch, Rename
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import InvalidPathError, canonical


def narrow(changes: Iterable[tuple[int, Change]], globs: GlobSet) -> Iterator[tuple[int, Change]]:
    """Yield, in order, the changes that concern a cache of the paths that these globs match."""
    for txid, change in changes:
        if concerns(change, globs):
            yield txid, change


def concerns(change: Change, globs: GlobSet) -> bool:
    """Return whether a change concerns a cache of the paths that these globs match."""
    match change:
        case Touched(path):
            return globs.matches(path)
        case AccessChanged(path) | SubtreeUnknown(path):
            return globs.matches(path) or globs.may_match_below(path)
        # The window of a two-step write covers the place that appears, so it needs each Opened and Closed there.
        case Appeared(path) | Vanished(path) | Opened(path) | Closed(path):
            return globs.may_concern(path)
        case Moved(source, destination):
            return globs.may_concern(source) or globs.may_concern(destination)
        case EverythingUnknown():
            return True
        case _:
            assert_never(change)


def matched(batch: EventBatch, globs: GlobSet) -> Mapping[str, EventBatch]:
    """Return the events whose path matches a filter's glob, by the filter's name; of a rename, either path may match.

    An event with a path that is invalid in HDFS matches nothing.
    """
    found: dict[str, list[Event]] = {}
    for event in batch.events:
        paths = (event.source, event.destination) if isinstance(event, Rename) else (event.path,)
        for name in frozenset[str]().union(*(_names_matching(path, globs) for path in paths)):
            found.setdefault(name, []).append(event)
    return {name: EventBatch(batch.txid, tuple(events)) for name, events in found.items()}


def _names_matching(path: str, globs: GlobSet) -> frozenset[str]:
    try:
        return globs.names_matching(canonical(path))
    except InvalidPathError:
        return frozenset()
