"""Say which inotify events a transaction of the edit log has.

Source: InotifyFSEditLogOpTranslator of Hadoop 2.10.2 to 3.5.0; the events are those that getEditsFromTxid of a NameNode
of Hadoop 3.3 or newer gives for the same transaction. Older ones leave `erasure_coded` out.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from nncache.hadoop.changes import changes_of_op
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
)
from nncache.hadoop.filestatus import FileType

_Fields: TypeAlias = Mapping[str, Any]

_REPLICATED: Final = 0
"""ErasureCodeConstants.REPLICATION_POLICY_ID."""


def batch_of(op: Op | UnknownOp) -> EventBatch | None:
    """Return what a transaction says; None if nothing changes by it that a status shows."""
    changes = changes_of_op(op)
    if isinstance(op, UnknownOp):
        return EventBatch(op.txid, (), changes)
    translate = _EVENTS.get(op.code)
    events = translate(op.fields) if translate is not None else ()
    return EventBatch(op.txid, events, changes) if events or changes else None


def _add(fields: _Fields) -> tuple[Event, ...]:
    if fields["blocks"]:  # an append, as layouts before -62 write it
        return (Append(fields["path"]),)
    created = Create(
        kind=FileType.FILE,
        path=fields["path"],
        ctime=fields["atime"],
        owner=fields["owner"],
        group=fields["group"],
        permission=f"{fields['mode']:o}",
        replication=fields["replication"],
        overwrite=fields["overwrite"],
        default_block_size=fields["block_size"],
        erasure_coded=fields.get("erasure_coding_policy_id", _REPLICATED) != _REPLICATED,
    )
    return (created,)


def _close(fields: _Fields) -> tuple[Event, ...]:
    return (Close(fields["path"], sum(length for _, length, _ in fields["blocks"]), fields["mtime"]),)


def _concat_delete(fields: _Fields) -> tuple[Event, ...]:
    target, timestamp = fields["trg"], fields["timestamp"]
    return Append(target), *(Unlink(each, timestamp) for each in fields["srcs"]), Close(target, -1, timestamp)


def _mkdir(fields: _Fields) -> tuple[Event, ...]:
    return (_created(fields, FileType.DIRECTORY, fields["timestamp"]),)


def _symlink(fields: _Fields) -> tuple[Event, ...]:
    return (_created(fields, FileType.SYMLINK, fields["atime"], fields["value"]),)


def _created(fields: _Fields, kind: FileType, ctime: int, target: str = "") -> Create:
    return Create(
        kind=kind,
        path=fields["path"],
        ctime=ctime,
        owner=fields["owner"],
        group=fields["group"],
        permission=f"{fields['mode']:o}",
        symlink_target=target,
    )


def _rename(fields: _Fields) -> tuple[Event, ...]:
    return (Rename(fields["src"], fields["dst"], fields["timestamp"]),)


def _xattrs(fields: _Fields, *, removed: bool) -> tuple[Event, ...]:
    update = MetadataUpdate(
        path=fields["path"], kind=MetadataKind.XATTRS, xattrs=fields["xattrs"], xattrs_removed=removed
    )
    return (update,)


def _metadata(kind: MetadataKind, *names: str) -> Callable[[_Fields], tuple[Event, ...]]:
    """Return what makes the event of an operation whose fields have the event's names."""

    def translate(fields: _Fields) -> tuple[Event, ...]:
        return (MetadataUpdate(path=fields["path"], kind=kind, **{name: fields[name] for name in names}),)

    return translate


_EVENTS: Final[Mapping[OpCode, Callable[[_Fields], tuple[Event, ...]]]] = {
    OpCode.ADD: _add,
    OpCode.CLOSE: _close,
    OpCode.APPEND: lambda fields: (Append(fields["path"], fields["new_block"]),),
    OpCode.SET_REPLICATION: _metadata(MetadataKind.REPLICATION, "replication"),
    OpCode.CONCAT_DELETE: _concat_delete,
    OpCode.RENAME_OLD: _rename,
    OpCode.RENAME: _rename,
    OpCode.DELETE: lambda fields: (Unlink(fields["path"], fields["timestamp"]),),
    OpCode.MKDIR: _mkdir,
    OpCode.SET_PERMISSIONS: lambda fields: (
        MetadataUpdate(path=fields["path"], kind=MetadataKind.PERMS, permission=f"{fields['mode']:o}"),
    ),
    OpCode.SET_OWNER: _metadata(MetadataKind.OWNER, "owner", "group"),
    OpCode.TIMES: _metadata(MetadataKind.TIMES, "mtime", "atime"),
    OpCode.SYMLINK: _symlink,
    OpCode.SET_XATTR: lambda fields: _xattrs(fields, removed=False),
    OpCode.REMOVE_XATTR: lambda fields: _xattrs(fields, removed=True),
    OpCode.SET_ACL: lambda fields: (
        MetadataUpdate(path=fields["path"], kind=MetadataKind.ACLS, acls=fields["acl"]),
    ),
    OpCode.TRUNCATE: lambda fields: (Truncate(fields["path"], fields["new_length"], fields["timestamp"]),),
}
"""What an operation says by events; all others say nothing."""
