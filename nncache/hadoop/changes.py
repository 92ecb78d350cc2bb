"""The one table of what an event, or a transaction of the edit log, makes stale.

`hadoop/effects.py` is its counterpart for calls. Source: the measured table "What each event can have changed" (Hadoop
3.4.1 and 3.5.0), and for transactions without an event FSEditLogLoader of Hadoop 2.10.2 to 3.5.0. In doubt the table
has the larger change: an unnecessary change costs a call to the NameNode, a missing one causes a stale answer.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, assert_never

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
from nncache.hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    EventBatch,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.paths import RESERVED, ROOT, SNAPSHOT, InvalidPathError, canonical, is_reserved

# hdfs.erasurecoding.policy (SYSTEM) and hdfs.crypto.encryption.zone (RAW) show in statuses. Other attributes in the
# NameNode's own two namespaces are rare, and are handled in the same way.
_OWN_NAMESPACES: Final = frozenset({XAttrNamespace.SYSTEM, XAttrNamespace.RAW})

_AtPath: TypeAlias = type[Vanished | Appeared | Touched | SubtreeUnknown]


def changes_of_batch(batch: EventBatch) -> Iterator[tuple[int, Change]]:
    """Yield the changes of a transaction, each with its id: those of its events, and those without an event."""
    for event in batch.events:
        for change in changes_of_event(event):
            yield batch.txid, change
    for change in batch.changes:
        yield batch.txid, change


def changes_of_event(event: Event) -> tuple[Change, ...]:
    """Return the changes of an event.

    CONCAT alone logs its paths as its caller spelled them: "//.reserved/.inodes/ID" may be any path.
    """
    try:
        if not isinstance(event, Rename) and RESERVED in event.path and is_reserved(canonical(event.path)):
            return (EverythingUnknown(f"event with an alias: {event.path!r}"),)
        return _changes_of_event(event)
    except InvalidPathError:
        return tuple(dict.fromkeys(_changes_at_odd_paths(event)))


def _changes_at_odd_paths(event: Event) -> Iterator[Change]:
    """Yield the changes of an event with a path that has no canonical form.

    Over RPC any user can create a name that contains a NUL. No cache keeps that name or anything below it, so only the
    directory that holds the first name with a NUL can be stale.
    """
    match event:
        case Rename(source=source, destination=destination):
            yield _change_at(source, Vanished)
            yield _change_at(destination, Appeared)
        case _:
            yield _change_at(event.path, Touched)


def _change_at(path: str, kind: _AtPath) -> Change:
    if not path.startswith(ROOT):
        return EverythingUnknown(f"event with an unreadable path: {path!r}")
    readable, nul, _ = path.partition("\0")
    return Touched(canonical(readable[: readable.rindex(ROOT) + 1])) if nul else kind(canonical(path))


def _touched(path: str) -> tuple[Change, ...]:
    return (_change_at(path, Touched),)


def _below_too(path: str) -> tuple[Change, ...]:
    return (_change_at(path, SubtreeUnknown),)


def _snapshots(path: str) -> tuple[Change, ...]:
    return _change_at(path, Touched), _change_at(f"{path.rstrip(ROOT)}/{SNAPSHOT}", SubtreeUnknown)


BEYOND_EVENTS: Final[Mapping[str, Callable[[str], tuple[Change, ...]]]] = {
    "SET_STORAGE_POLICY": _below_too,
    "ALLOW_SNAPSHOT": _snapshots,
    "DISALLOW_SNAPSHOT": _snapshots,
    "CREATE_SNAPSHOT": _snapshots,
    "DELETE_SNAPSHOT": _snapshots,
    "RENAME_SNAPSHOT": _snapshots,
    # The file is open before and after. It is not Opened: only a CREATE or APPEND begins another write.
    "ADD_BLOCK": _touched,
    "UPDATE_BLOCKS": _touched,
}
"""The changes of operations of the edit log (FSEditLogOpCodes) that have no event for them, by their path.

Erasure coding and encryption zones are extended attributes, which have events.
"""


def _changes_of_event(event: Event) -> tuple[Change, ...]:
    match event:
        case Create(path=path, kind=FileType.FILE):
            return Appeared(canonical(path)), Opened(canonical(path))
        case Create(path=path):
            return (Appeared(canonical(path)),)
        case Close(path=path):
            return (Closed(canonical(path)),)
        case Append(path=path):
            return (Opened(canonical(path)),)
        case Truncate(path=path):
            return (Touched(canonical(path)),)
        case Unlink(path=path):
            return (Vanished(canonical(path)),)
        case Rename(source=source, destination=destination):
            return moved(canonical(source), canonical(destination))
        case MetadataUpdate(path=path, kind=kind, xattrs=xattrs):
            return _changes_of_metadata(canonical(path), kind, xattrs)
        case _:
            assert_never(event)


def moved(source: str, destination: str) -> tuple[Change, ...]:
    """Return the changes of a rename; none if both paths are equal."""
    # The old rename API logs a rename of a path to itself.
    return () if source == destination else (Moved(source, destination),)


def _changes_of_metadata(path: str, kind: MetadataKind, xattrs: tuple[XAttr, ...]) -> tuple[Change, ...]:
    match kind:
        case MetadataKind.PERMS | MetadataKind.OWNER | MetadataKind.ACLS:
            return (AccessChanged(path),)
        case MetadataKind.TIMES | MetadataKind.REPLICATION:
            return (Touched(path),)
        case MetadataKind.XATTRS:
            own = any(xattr.namespace in _OWN_NAMESPACES for xattr in xattrs)
            return (SubtreeUnknown(path),) if own else ()
        case _:
            assert_never(kind)
