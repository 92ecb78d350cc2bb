"""What an event, or a transaction of the edit log, makes stale: the one table.

`hadoop/effects.py` says the same of calls. Source: the measured table "What each event can have changed" (Hadoop 3.4.1
and 3.5.0), and for transactions without an event FSEditLogLoader of Hadoop 2.10.2 to 3.5.0. Where something is not
certain the answer is the larger one: a change too many costs a call to the NameNode, one too few is a stale answer.
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
from nncache.hadoop.editlog.ops import Op, OpCode, UnknownOp
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
from nncache.hadoop.paths import ROOT, SNAPSHOT, InvalidPathError, canonical

# hdfs.erasurecoding.policy (SYSTEM) and hdfs.crypto.encryption.zone (RAW) show in statuses; what else the NameNode
# keeps in its own two namespaces is rare, and nothing is assumed of it.
_OWN_NAMESPACES: Final = frozenset({XAttrNamespace.SYSTEM, XAttrNamespace.RAW})

_AtPath: TypeAlias = type[Vanished | Appeared | Touched | SubtreeUnknown]
_Places: TypeAlias = tuple[tuple[str, _AtPath], ...]


def changes_of_batch(batch: EventBatch) -> Iterator[tuple[int, Change]]:
    """Yield what a transaction makes stale, with its id: by its events, and beyond them."""
    for event in batch.events:
        for change in changes_of_event(event):
            yield batch.txid, change
    for change in batch.changes:
        yield batch.txid, change


def changes_of_op(op: Op | UnknownOp) -> tuple[Change, ...]:
    """Say what a transaction makes stale that none of its events says."""
    if isinstance(op, UnknownOp):
        return (EverythingUnknown(f"transaction {op.txid}: {op.reason}"),)
    kind = _BEYOND_EVENTS.get(op.code)
    if kind is None:
        return ()
    return tuple(_change_at(path, each) for path, each in kind(op.fields["path"]))


def changes_of_event(event: Event) -> tuple[Change, ...]:
    """Say what an event makes stale."""
    try:
        return _changes_of_event(event)
    except InvalidPathError:
        return tuple(dict.fromkeys(_changes_at_odd_paths(event)))


def _touched(path: str) -> _Places:
    return ((path, Touched),)


def _below_too(path: str) -> _Places:
    return ((path, SubtreeUnknown),)


def _snapshots(path: str) -> _Places:
    return (path, Touched), (f"{path.rstrip(ROOT)}/{SNAPSHOT}", SubtreeUnknown)


_BEYOND_EVENTS: Final[Mapping[OpCode, Callable[[str], _Places]]] = {
    OpCode.SET_STORAGE_POLICY: _below_too,
    OpCode.ALLOW_SNAPSHOT: _snapshots,
    OpCode.DISALLOW_SNAPSHOT: _snapshots,
    OpCode.CREATE_SNAPSHOT: _snapshots,
    OpCode.DELETE_SNAPSHOT: _snapshots,
    OpCode.RENAME_SNAPSHOT: _snapshots,
    # The file is open before and after. It is not Opened: only a CREATE or APPEND begins another write.
    OpCode.ADD_BLOCK: _touched,
    OpCode.UPDATE_BLOCKS: _touched,
}
"""What no event says; erasure coding and encryption are extended attributes, which have events."""


def _changes_at_odd_paths(event: Event) -> Iterator[Change]:
    """Say it of an event with a path that is not canonical, and cannot be made so.

    Over RPC any user can make a name that holds a NUL, and no cache keeps such a name or what is below it: of such a
    path only the directory that holds the first such name can be stale.
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
    """Say it of a rename, also of a path to itself."""
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
