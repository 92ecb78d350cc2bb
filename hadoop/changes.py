"""What makes which outcomes stale: the one table, for events and for calls alike. (hadoop/changes.py)

Source: the measured table "What each event can have changed" (Hadoop 3.4.1 and 3.5.0). Where something is not certain
the answer is the larger one: a change too many costs a call to the NameNode, one too few is a stale answer.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, assert_never

from hadoop.calls import Call
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
from hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from hadoop.filestatus import FileType
from hadoop.operations import Effect, operation
from hadoop.paths import (
    ROOT,
    InvalidPathError,
    ancestors,
    canonical,
    has_dot_segments,
    is_reserved,
    name,
    parent,
)

_RAW: Final = "/.reserved/raw"
# hdfs.erasurecoding.policy (SYSTEM) and hdfs.crypto.encryption.zone (RAW) show in statuses; what else the NameNode
# keeps in its own two namespaces is rare, and nothing is assumed of it.
_OWN_NAMESPACES: Final = frozenset({XAttrNamespace.SYSTEM, XAttrNamespace.RAW})
_HARMLESS_XATTR_PREFIXES: Final = frozenset({"user", "trusted", "security"})


class CallOutcome(Enum):
    """What is known of a forwarded call once its reply is known, or is known not to come."""

    DONE = auto()  # the NameNode accepted it; `{"boolean": false}` of DELETE and RENAME is here as well
    REFUSED = auto()  # the active NameNode answered with a RemoteException
    UNKNOWN = auto()  # no reply, another 5xx, or cut off


def changes_of_event(event: Event) -> tuple[Change, ...]:
    """Say what an event makes stale."""
    try:
        return _changes_of_event(event)
    except InvalidPathError as exc:
        return (EverythingUnknown(f"event with an unreadable path: {exc}"),)


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
            return _moved(canonical(source), canonical(destination))
        case MetadataUpdate(path=path, kind=kind, xattrs=xattrs):
            return _changes_of_metadata(canonical(path), kind, xattrs)
        case _:
            assert_never(event)


def _moved(source: str, destination: str) -> tuple[Change, ...]:
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


def opens_window(call: Call) -> bool:
    """Tell whether the call may be the first half of a write whose second half passes the proxy by.

    Also for `noredirect=true`, where the NameNode gives the DataNode's address in a 200 reply.
    """
    return any(
        op is not None and op.two_step
        for op in (operation(call.method, value) for value in call.arguments.get("op", ()))
    )


def written_path(call: Call) -> str | None:
    """Give the path whose status the call is about, as events name it; None when that is not certain."""
    return None if call.path is None else _real(call.path)


def changes_of_call(
    call: Call, outcome: CallOutcome, topmost_missing: str | None = None
) -> tuple[Change, ...]:
    """Say what a forwarded call makes stale.

    `topmost_missing` is the topmost ancestor that is not known to exist, for operations that make missing ancestors.
    """
    if call.is_read:
        return _changes_of_read(call)
    if call.op is not None and call.op.effect is Effect.NOTHING:
        return ()
    changes = tuple(dict.fromkeys(_changes_of_write(call, topmost_missing)))
    if outcome is CallOutcome.REFUSED:
        return tuple(dict.fromkeys(_own_statuses(changes)))
    unknown = [change for change in changes if isinstance(change, EverythingUnknown)]
    return tuple(unknown[:1]) or changes


def _changes_of_read(call: Call) -> tuple[Change, ...]:
    # A read of an alias such as /.reserved/.inodes/ID sets the access time of a path that nobody here knows. It is not
    # a write, and its TIMES event is on its way: flushing everything for it would be out of proportion.
    path = written_path(call)
    if path is None or (call.op is not None and call.op.effect is Effect.NOTHING):
        return ()
    return (Touched(path),)


def _changes_of_write(call: Call, topmost_missing: str | None) -> Iterator[Change]:
    path = written_path(call)
    if not call.is_certain:
        yield EverythingUnknown(f"{call.method} with an unreadable query")
    elif path is None:
        yield EverythingUnknown(f"{call.method} to a path that events name otherwise")
    elif call.op is None:
        yield from _changes_of_unknown_write(call, path)
    elif call.op.effect is Effect.MOVES:
        yield from _changes_of_rename(call, path)
    elif call.op.effect is Effect.CONCATENATES:
        yield from _changes_of_concat(call, path)
    elif call.op.effect is Effect.APPEARS and topmost_missing is not None:
        yield from _changes_of_making(path, topmost_missing)
    else:
        yield from _changes_at(path, call.op.effect, call)


def _changes_at(path: str, effect: Effect, call: Call) -> tuple[Change, ...]:
    """Say it of the operations that are about one path alone."""
    match effect:
        case Effect.TOUCHES:
            return (Touched(path),)
        case Effect.APPEARS:
            return (Appeared(path),)
        case Effect.VANISHES:
            return (Vanished(path),)
        case Effect.CHANGES_ACCESS:
            return (AccessChanged(path),)
        case Effect.SETS_XATTR if _is_harmless_xattr(call):
            return ()
        case _:
            return (SubtreeUnknown(path),)


def _changes_of_making(path: str, topmost_missing: str) -> Iterator[Change]:
    yield Appeared(topmost_missing)
    for above in ancestors(path):  # named one by one for a call that fails half-way: quota, a file among them
        if above.startswith(topmost_missing + "/"):
            yield Touched(above)
    yield Appeared(path)


def _changes_of_rename(call: Call, source: str) -> Iterator[Change]:
    values = call.arguments.get("destination", ())
    if not values:
        yield EverythingUnknown("RENAME without a destination")
    for value in values:
        destination = _argument_path(value)
        if destination is None:
            yield EverythingUnknown(f"RENAME to {value!r}")
        else:
            # An existing directory, such as the root, takes the source in, under its own name.
            inside = f"{destination.rstrip(ROOT)}/{name(source)}"
            yield from _moved(source, inside if destination == ROOT else destination)
            yield Appeared(inside)


def _changes_of_concat(call: Call, target: str) -> Iterator[Change]:
    yield Touched(target)
    sources = [part for value in call.arguments.get("sources", ()) for part in value.split(",") if part]
    if not sources:
        yield EverythingUnknown("CONCAT without sources")
    for value in sources:
        source = _argument_path(value)
        yield EverythingUnknown(f"CONCAT from {value!r}") if source is None else Vanished(source)


def _changes_of_unknown_write(call: Call, path: str) -> Iterator[Change]:
    named: list[str | None] = [path]
    for values in call.arguments.values():
        for value in values:
            parts = {value: None, **dict.fromkeys(value.split(","))}
            named += [_argument_path(part) for part in parts if part.startswith("/")]
    for each in named:
        if each is None:
            yield EverythingUnknown(f"unknown {call.method} with a path of another name")
            continue
        yield SubtreeUnknown(each)
        for above in ancestors(each):  # any of them may have been made on the way
            yield Touched(above)


def _own_statuses(changes: tuple[Change, ...]) -> Iterator[Change]:
    """Give what a refused write may have changed all the same: by rights nothing, at times an ancestor."""
    for change in changes:
        match change:
            case EverythingUnknown():
                paths: tuple[str, ...] = ()
            case Moved(source=source, destination=destination):
                paths = (source, destination)
            case _:
                paths = (change.path,)
        for path in paths:
            yield Touched(path)
            above = parent(path)
            if above is not None:
                yield Touched(above)


def _is_harmless_xattr(call: Call) -> bool:
    values = call.arguments.get("xattr.name", ())
    return bool(values) and all(
        value.partition(".")[0].lower() in _HARMLESS_XATTR_PREFIXES for value in values
    )


def _argument_path(value: str) -> str | None:
    """Read a parameter that names a path; None where the NameNode may read another path than the one spelled.

    `DestinationParam` takes it through `org.apache.hadoop.fs.Path`, which resolves dot segments and takes the first
    name after a leading "//" for a host.
    """
    if value.startswith("//") or has_dot_segments(value):
        return None
    try:
        return _real(canonical(value))
    except InvalidPathError:
        return None


def _real(path: str) -> str | None:
    """Give the path that events name; None for the aliases of which that is not known."""
    if path == _RAW:
        return ROOT
    if path.startswith(_RAW + "/"):
        path = path[len(_RAW) :]
    return None if is_reserved(path) else path
