"""The namespace as an event feed describes it, for a feed followed from its first event."""

from collections.abc import Iterable

from nncache.hadoop.events import Append, Close, Create, Event, MetadataUpdate, Rename, Truncate, Unlink
from nncache.hadoop.filestatus import FileType

UNKNOWN = -1
"""A length that no event carries: of an open file, and of the target of a CONCAT."""

Paths = dict[str, int | None]
"""The length of each file by its path; None for a directory."""


def replayed(events: Iterable[Event]) -> Paths:
    """Apply the events to an empty namespace; return its paths."""
    paths: Paths = {}
    for event in events:
        match event:
            case Create(kind=kind, path=path):
                paths[path] = UNKNOWN if kind is FileType.FILE else None
            case Close(path, size) | Truncate(path, size):
                assert path in paths, event
                paths[path] = size
            case Append(path):
                assert path in paths, event
                paths[path] = UNKNOWN
            case Unlink(path):
                assert path in paths, event
                _take(paths, path)
            case Rename(source, destination) if source != destination:
                assert source in paths, event
                moved = _take(paths, source)
                _take(paths, destination)
                paths |= {destination + below.removeprefix(source): size for below, size in moved.items()}
            case MetadataUpdate(path=path):
                assert path == "/" or path in paths, event
    return paths


def disagreements(by_events: Paths, by_tree: Paths) -> list[str]:
    """Return each difference between the tree by the events and the tree in the store."""
    return [
        f"{path}: {by_events.get(path, 'nothing')} by the feed, {by_tree.get(path, 'nothing')} in the tree"
        for path in sorted(by_events.keys() | by_tree.keys())
        if by_events.get(path, "nothing") != by_tree.get(path, "nothing")
        and not (by_events.get(path, "nothing") == UNKNOWN and isinstance(by_tree.get(path), int))
    ]


def _take(paths: Paths, top: str) -> Paths:
    """Remove a path and all below it; return the removed paths."""
    return {path: paths.pop(path) for path in list(paths) if path == top or path.startswith(f"{top}/")}
