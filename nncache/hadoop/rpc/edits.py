"""Decode and encode the reply of getEditsFromTxid.

Source: inotify.proto and org.apache.hadoop.hdfs.protocolPB.PBHelperClient of Hadoop 3.4.1 and 3.5.0.
A reply with an unreadable event is refused as a whole: a skipped event would leave stale answers in the cache.
"""

from collections.abc import Iterable, Mapping
from typing import Final, assert_never, get_args

from google.protobuf.message import Message

from nncache.hadoop.errors import FramingError, MalformedReplyError
from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Action,
    Append,
    Close,
    Create,
    EditsPage,
    Event,
    EventBatch,
    FileAclEntry,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.rpc.messages import parse_message
from nncache.hadoop.rpc.proto import inotify_pb2 as pb

# By their numbers in inotify.proto, acl.proto and xattr.proto; an unknown number raises KeyError.
_FILE_TYPES: Final = dict(enumerate((FileType.FILE, FileType.DIRECTORY, FileType.SYMLINK)))
_METADATA: Final = dict(enumerate(MetadataKind))
_ACL_SCOPES: Final = dict(enumerate(AclScope))
_ACL_KINDS: Final = dict(enumerate(AclKind))
_ACTIONS: Final[dict[int, Action]] = dict(enumerate(get_args(Action)))
_XATTR_NAMESPACES: Final = dict(enumerate(XAttrNamespace))


def decode_edits(reply: pb.EventsList) -> EditsPage:
    """Return the events of a page.

    Raises MalformedReplyError: an event cannot be read, or is of an unknown kind.
    """
    try:
        batches = tuple(
            EventBatch(batch.txid, tuple(_decode_event(event) for event in batch.events))
            for batch in reply.batch
        )
    except (FramingError, ValueError, KeyError) as exc:  # UnicodeDecodeError is a ValueError
        raise MalformedReplyError(f"the edits hold what cannot be read: {exc}") from exc
    return EditsPage(reply.first_txid, reply.last_txid, reply.sync_txid, batches)


def encode_edits(page: EditsPage) -> pb.EventsList:
    """Return a page as a NameNode sends it (PBHelperClient.convertEditsResponse)."""
    reply = pb.EventsList(first_txid=page.first_txid, last_txid=page.last_txid, sync_txid=page.sync_txid)
    for batch in page.batches:
        events = reply.batch.add(txid=batch.txid).events
        for event in batch.events:
            kind, message = _encode_event(event)
            events.add(type=kind, contents=message.SerializeToString())
    return reply


def _encode_event(event: Event) -> tuple[int, Message]:
    match event:
        case Create():
            return pb.EVENT_CREATE, _encode_create(event)
        case Close(path, file_size, timestamp):
            return pb.EVENT_CLOSE, pb.CloseEvent(path=path.encode(), file_size=file_size, timestamp=timestamp)
        case Append(path, new_block):
            return pb.EVENT_APPEND, pb.AppendEvent(path=path.encode(), new_block=new_block)
        case Rename(source, destination, timestamp):
            return pb.EVENT_RENAME, pb.RenameEvent(
                src_path=source.encode(), dest_path=destination.encode(), timestamp=timestamp
            )
        case MetadataUpdate():
            return pb.EVENT_METADATA, _encode_metadata_update(event)
        case Unlink(path, timestamp):
            return pb.EVENT_UNLINK, pb.UnlinkEvent(path=path.encode(), timestamp=timestamp)
        case Truncate(path, file_size, timestamp):
            return pb.EVENT_TRUNCATE, pb.TruncateEvent(
                path=path.encode(), file_size=file_size, timestamp=timestamp
            )
        case _:
            assert_never(event)


def _encode_create(event: Create) -> pb.CreateEvent:
    message = pb.CreateEvent(
        type=_number(_FILE_TYPES, event.kind),
        path=event.path.encode(),
        ctime=event.ctime,
        owner_name=event.owner.encode(),
        group_name=event.group.encode(),
        perms=pb.FsPermission(perm=int(event.permission, 8)),
        replication=event.replication,
        symlink_target=event.symlink_target.encode(),
        overwrite=event.overwrite,
        default_block_size=event.default_block_size,
    )
    if event.erasure_coded or event.kind is FileType.FILE:  # the field is absent for a directory
        message.erasure_coded = event.erasure_coded
    return message


def _encode_metadata_update(event: MetadataUpdate) -> pb.MetadataUpdateEvent:
    return pb.MetadataUpdateEvent(
        path=event.path.encode(),
        type=_number(_METADATA, event.kind),
        mtime=event.mtime,
        atime=event.atime,
        replication=event.replication,
        owner_name=event.owner.encode(),
        group_name=event.group.encode(),
        perms=pb.FsPermission(perm=int(event.permission, 8)) if event.kind is MetadataKind.PERMS else None,
        acls=[
            pb.AclEntry(
                type=_number(_ACL_KINDS, entry.kind),
                scope=_number(_ACL_SCOPES, entry.scope),
                permissions=_number(_ACTIONS, entry.permissions),
                name=entry.name.encode() if entry.name else None,
            )
            for entry in event.acls
        ],
        x_attrs=[
            pb.XAttr(
                namespace=_number(_XATTR_NAMESPACES, attribute.namespace),
                name=attribute.name.encode(),
                value=attribute.value or None,
            )
            for attribute in event.xattrs
        ],
        x_attrs_removed=event.xattrs_removed,
    )


def _number(numbered: Mapping[int, object], value: object) -> int:
    return next(number for number, each in numbered.items() if each == value)


def _decode_event(raw: pb.RawEvent) -> Event:
    match raw.type:
        case pb.EVENT_CREATE:
            return _decode_create(parse_message(pb.CreateEvent, raw.contents))
        case pb.EVENT_CLOSE:
            close = parse_message(pb.CloseEvent, raw.contents)
            return Close(close.path.decode(), close.file_size, close.timestamp)
        case pb.EVENT_APPEND:
            append = parse_message(pb.AppendEvent, raw.contents)
            return Append(append.path.decode(), append.new_block)
        case pb.EVENT_RENAME:
            rename = parse_message(pb.RenameEvent, raw.contents)
            return Rename(rename.src_path.decode(), rename.dest_path.decode(), rename.timestamp)
        case pb.EVENT_METADATA:
            return _decode_metadata_update(parse_message(pb.MetadataUpdateEvent, raw.contents))
        case pb.EVENT_UNLINK:
            unlink = parse_message(pb.UnlinkEvent, raw.contents)
            return Unlink(unlink.path.decode(), unlink.timestamp)
        case pb.EVENT_TRUNCATE:
            truncate = parse_message(pb.TruncateEvent, raw.contents)
            return Truncate(truncate.path.decode(), truncate.file_size, truncate.timestamp)
        case unknown:
            raise ValueError(f"event type {unknown} is not known")


def _decode_create(event: pb.CreateEvent) -> Create:
    return Create(
        kind=_FILE_TYPES[event.type],
        path=event.path.decode(),
        ctime=event.ctime,
        owner=event.owner_name.decode(),
        group=event.group_name.decode(),
        permission=f"{event.perms.perm:o}",
        replication=event.replication,
        symlink_target=event.symlink_target.decode(),
        overwrite=event.overwrite,
        default_block_size=event.default_block_size,
        erasure_coded=event.erasure_coded,
    )


def _decode_metadata_update(event: pb.MetadataUpdateEvent) -> MetadataUpdate:
    return MetadataUpdate(
        path=event.path.decode(),
        kind=_METADATA[event.type],
        mtime=event.mtime,
        atime=event.atime,
        replication=event.replication,
        owner=event.owner_name.decode(),
        group=event.group_name.decode(),
        permission=f"{event.perms.perm:o}",
        acls=decode_acl(event.acls),
        xattrs=decode_xattrs(event.x_attrs),
        xattrs_removed=event.x_attrs_removed,
    )


def decode_acl(entries: Iterable[pb.AclEntry]) -> tuple[FileAclEntry, ...]:
    """Return the entries of an ACL. Raises KeyError or UnicodeDecodeError: an entry cannot be read."""
    return tuple(
        FileAclEntry(
            scope=_ACL_SCOPES[entry.scope],
            kind=_ACL_KINDS[entry.type],
            name=entry.name.decode(),
            permissions=_ACTIONS[entry.permissions],
        )
        for entry in entries
    )


def decode_xattrs(attributes: Iterable[pb.XAttr]) -> tuple[XAttr, ...]:
    """Return extended attributes. Raises KeyError or UnicodeDecodeError: one of them cannot be read."""
    return tuple(
        XAttr(_XATTR_NAMESPACES[each.namespace], each.name.decode(), each.value) for each in attributes
    )
