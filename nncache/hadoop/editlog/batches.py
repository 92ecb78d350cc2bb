"""Translates transactions of the edit log to inotify events.

Source: InotifyFSEditLogOpTranslator of Hadoop 2.10.2 to 3.5.0. The events are those that getEditsFromTxid of a NameNode
of Hadoop 3.3 or newer returns for the same transaction. Older NameNodes omit `erasure_coded`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from nncache.hadoop.change import EverythingUnknown
from nncache.hadoop.changes import BEYOND_EVENTS
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
    """Return the events and changes of a transaction; None if it changes nothing that a status shows."""
    if isinstance(op, UnknownOp):
        return EventBatch(op.txid, (), (EverythingUnknown(f"transaction {op.txid}: {op.reason}"),))
    translate = _EVENTS.get(op.code)
    if translate is not None:
        return EventBatch(op.txid, translate(op.fields))
    beyond = _BEYOND_EVENTS.get(op.code)
    return None if beyond is None else EventBatch(op.txid, (), beyond(op.fields["path"]))


def _add(fields: _Fields) -> tuple[Event, ...]:
    if fields["blocks"]:  # an append, in layouts before -62
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
    """Return a translator for an operation whose fields have the names of the event's fields."""

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
"""The translators to events, by operation; none of `BEYOND_EVENTS` is among them."""

_BEYOND_EVENTS: Final = {OpCode[name]: changes for name, changes in BEYOND_EVENTS.items()}
