"""Events of the edit log, from the wire."""

import pytest
from google.protobuf.message import Message

from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.events import (
    AclKind,
    AclScope,
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
from nncache.hadoop.rpc.edits import decode_edits, encode_edits
from nncache.hadoop.rpc.proto import inotify_pb2 as pb

PATH = b"/w/\xc3\xa4"


def page_of(event_type: int, contents: bytes) -> pb.EventsList:
    """Return a page with one event."""
    event = pb.RawEvent(type=event_type, contents=contents)
    return pb.EventsList(
        first_txid=5, last_txid=9, sync_txid=12, batch=[pb.EventBatch(txid=7, events=[event])]
    )


def metadata(kind: int, **fields: object) -> pb.MetadataUpdateEvent:
    """Return a metadata event."""
    return pb.MetadataUpdateEvent(path=PATH, type=kind, **fields)  # type: ignore[arg-type]  # checked by protobuf


PERM = pb.FsPermission(perm=0o750)


@pytest.mark.parametrize(
    ("event_type", "message", "event"),
    [
        (
            0,
            pb.CreateEvent(
                type=0, path=PATH, ctime=1, owner_name=b"o", group_name=b"g", perms=PERM, replication=3, overwrite=True,
                default_block_size=4, erasure_coded=True,
            ),
            Create(
                kind=FileType.FILE, path="/w/ä", ctime=1, owner="o", group="g", permission="750", replication=3,
                overwrite=True, default_block_size=4, erasure_coded=True,
            ),
        ),
        (
            0,
            pb.CreateEvent(type=1, path=PATH, ctime=1, owner_name=b"o", group_name=b"g", perms=PERM),
            Create(kind=FileType.DIRECTORY, path="/w/ä", ctime=1, owner="o", group="g", permission="750"),
        ),
        (
            0,
            pb.CreateEvent(
                type=2, path=PATH, ctime=1, owner_name=b"", group_name=b"", perms=PERM, symlink_target=b"/t"
            ),
            Create(kind=FileType.SYMLINK, path="/w/ä", ctime=1, permission="750", symlink_target="/t"),
        ),
        (1, pb.CloseEvent(path=PATH, file_size=-1, timestamp=2), Close("/w/ä", -1, 2)),
        (2, pb.AppendEvent(path=PATH, new_block=True), Append("/w/ä", new_block=True)),
        (3, pb.RenameEvent(src_path=PATH, dest_path=b"/b", timestamp=3), Rename("/w/ä", "/b", 3)),
        (
            4,
            metadata(0, mtime=-1, atime=8),
            MetadataUpdate(path="/w/ä", kind=MetadataKind.TIMES, mtime=-1, atime=8),
        ),
        (
            4,
            metadata(1, replication=2),
            MetadataUpdate(path="/w/ä", kind=MetadataKind.REPLICATION, replication=2),
        ),
        (
            4,
            metadata(2, owner_name=b"o", group_name=b""),
            MetadataUpdate(path="/w/ä", kind=MetadataKind.OWNER, owner="o"),
        ),
        (4, metadata(3, perms=PERM), MetadataUpdate(path="/w/ä", kind=MetadataKind.PERMS, permission="750")),
        (
            4,
            metadata(4, acls=[pb.AclEntry(type=0, scope=1, permissions=5, name=b"bob")]),
            MetadataUpdate(
                path="/w/ä",
                kind=MetadataKind.ACLS,
                acls=(FileAclEntry(scope=AclScope.DEFAULT, kind=AclKind.USER, name="bob", permissions="r-x"),),
            ),
        ),
        (
            4,
            metadata(5, x_attrs=[pb.XAttr(namespace=3, name=b"n", value=b"\xff")], x_attrs_removed=True),
            MetadataUpdate(
                path="/w/ä",
                kind=MetadataKind.XATTRS,
                xattrs=(XAttr(XAttrNamespace.SYSTEM, "n", b"\xff"),),
                xattrs_removed=True,
            ),
        ),
        (5, pb.UnlinkEvent(path=PATH, timestamp=4), Unlink("/w/ä", 4)),
        (6, pb.TruncateEvent(path=PATH, file_size=6, timestamp=5), Truncate("/w/ä", 6, 5)),
    ],
)  # fmt: skip
def test_each_event(event_type: int, message: Message, event: Event) -> None:
    """Every field, as the NameNode sends it."""
    page = decode_edits(page_of(event_type, message.SerializeToString()))
    assert page == EditsPage(5, 9, 12, (EventBatch(7, (event,)),))
    assert decode_edits(encode_edits(page)) == page


def test_an_encoded_page_leaves_out_what_a_namenode_leaves_out() -> None:
    """Whether a directory is erasure coded, an ACL entry's empty name, an attribute's empty value."""
    made = Create(kind=FileType.DIRECTORY, path="/d")
    entry = FileAclEntry(scope=AclScope.ACCESS, kind=AclKind.OTHER, name="", permissions="---")
    acls = MetadataUpdate(path="/d", kind=MetadataKind.ACLS, acls=(entry,))
    xattrs = MetadataUpdate(
        path="/d", kind=MetadataKind.XATTRS, xattrs=(XAttr(XAttrNamespace.USER, "x"),), xattrs_removed=True
    )
    (batch,) = encode_edits(EditsPage(1, 1, 1, (EventBatch(1, (made, acls, xattrs)),))).batch
    contents = [event.contents for event in batch.events]
    assert not pb.CreateEvent.FromString(contents[0]).HasField("erasure_coded")
    assert not pb.MetadataUpdateEvent.FromString(contents[1]).acls[0].HasField("name")
    assert not pb.MetadataUpdateEvent.FromString(contents[1]).HasField("perms")
    assert not pb.MetadataUpdateEvent.FromString(contents[2]).x_attrs[0].HasField("value")


def test_a_page_without_events() -> None:
    """Most transactions have none; an idle reply covers no transaction."""
    assert decode_edits(pb.EventsList(first_txid=-1, last_txid=-1, sync_txid=4)) == EditsPage(-1, -1, 4, ())


@pytest.mark.parametrize(
    ("event_type", "contents"),
    [
        (7, b""),
        (1, b""),
        (1, b"\xff\xff"),
        (5, pb.UnlinkEvent(path=b"/\xff", timestamp=1).SerializeToString()),
        (4, metadata(6).SerializeToString()),
        (4, metadata(4, acls=[pb.AclEntry(type=9, scope=0, permissions=0)]).SerializeToString()),
        (4, metadata(4, acls=[pb.AclEntry(type=0, scope=0, permissions=8)]).SerializeToString()),
        (4, metadata(5, x_attrs=[pb.XAttr(namespace=9, name=b"n")]).SerializeToString()),
        (
            0,
            pb.CreateEvent(
                type=3, path=PATH, ctime=1, owner_name=b"", group_name=b"", perms=PERM
            ).SerializeToString(),
        ),
    ],
)
def test_what_cannot_be_read_is_never_passed_over(event_type: int, contents: bytes) -> None:
    """An event of a later Hadoop release, or a malformed one, is an error: skipping it would leave stale answers."""
    with pytest.raises(MalformedReplyError):
        decode_edits(page_of(event_type, contents))
