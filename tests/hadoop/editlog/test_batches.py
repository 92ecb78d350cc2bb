"""nncache/hadoop/editlog/batches.py; test_real_edits.py compares it with a NameNode."""

from typing import Any

import pytest

from nncache.hadoop.change import EverythingUnknown
from nncache.hadoop.changes import BEYOND_EVENTS
from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.ops import UNREAD, Op, OpCode, UnknownOp
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

XATTRS = (XAttr(XAttrNamespace.USER, "k", b"v"),)
STATUS: dict[str, Any] = {"path": "/p", "owner": "o", "group": "g", "mode": 0o1750}
FILE: dict[str, Any] = STATUS | {
    "replication": 3,
    "mtime": 7,
    "atime": 8,
    "block_size": 512,
    "overwrite": True,
}
CREATED = Create(
    kind=FileType.FILE,
    path="/p",
    ctime=8,
    owner="o",
    group="g",
    permission="1750",
    replication=3,
    overwrite=True,
    default_block_size=512,
)
BLOCKS = ((1, 512, 9), (2, 88, 9))

# InotifyFSEditLogOpTranslator, case by case.
EVENTS: list[tuple[OpCode, dict[str, Any], tuple[Event, ...]]] = [
    (OpCode.ADD, FILE | {"blocks": (), "erasure_coding_policy_id": 0}, (CREATED,)),
    (OpCode.ADD, FILE | {"blocks": ()}, (CREATED,)),
    (OpCode.ADD, FILE | {"blocks": BLOCKS}, (Append("/p"),)),
    (OpCode.CLOSE, FILE | {"blocks": BLOCKS}, (Close("/p", 600, 7),)),
    (OpCode.CLOSE, FILE | {"blocks": ()}, (Close("/p", 0, 7),)),
    (OpCode.APPEND, {"path": "/p", "new_block": True}, (Append("/p", new_block=True),)),
    (
        OpCode.SET_REPLICATION,
        {"path": "/p", "replication": 2},
        (MetadataUpdate(path="/p", kind=MetadataKind.REPLICATION, replication=2),),
    ),
    (
        OpCode.CONCAT_DELETE,
        {"trg": "/p", "srcs": ("/a", "/b"), "timestamp": 5},
        (Append("/p"), Unlink("/a", 5), Unlink("/b", 5), Close("/p", -1, 5)),
    ),
    (OpCode.RENAME_OLD, {"src": "/a", "dst": "/b", "timestamp": 5}, (Rename("/a", "/b", 5),)),
    (OpCode.RENAME, {"src": "/a", "dst": "/b", "timestamp": 5}, (Rename("/a", "/b", 5),)),
    (OpCode.DELETE, {"path": "/p", "timestamp": 5}, (Unlink("/p", 5),)),
    (
        OpCode.MKDIR,
        STATUS | {"timestamp": 5},
        (Create(kind=FileType.DIRECTORY, path="/p", ctime=5, owner="o", group="g", permission="1750"),),
    ),
    (
        OpCode.SET_PERMISSIONS,
        {"path": "/p", "mode": 0o640},
        (MetadataUpdate(path="/p", kind=MetadataKind.PERMS, permission="640"),),
    ),
    (
        OpCode.SET_OWNER,
        {"path": "/p", "owner": "", "group": "g"},
        (MetadataUpdate(path="/p", kind=MetadataKind.OWNER, group="g"),),
    ),
    (
        OpCode.TIMES,
        {"path": "/p", "mtime": -1, "atime": 4},
        (MetadataUpdate(path="/p", kind=MetadataKind.TIMES, mtime=-1, atime=4),),
    ),
    (
        OpCode.SYMLINK,
        STATUS | {"value": "/t", "atime": 8},
        (
            Create(
                kind=FileType.SYMLINK,
                path="/p",
                ctime=8,
                owner="o",
                group="g",
                permission="1750",
                symlink_target="/t",
            ),
        ),
    ),
    (
        OpCode.SET_XATTR,
        {"path": "/p", "xattrs": XATTRS},
        (MetadataUpdate(path="/p", kind=MetadataKind.XATTRS, xattrs=XATTRS),),
    ),
    (
        OpCode.REMOVE_XATTR,
        {"path": "/p", "xattrs": XATTRS},
        (MetadataUpdate(path="/p", kind=MetadataKind.XATTRS, xattrs=XATTRS, xattrs_removed=True),),
    ),
    (OpCode.SET_ACL, {"path": "/p", "acl": ()}, (MetadataUpdate(path="/p", kind=MetadataKind.ACLS),)),
    (OpCode.TRUNCATE, {"path": "/p", "new_length": 3, "timestamp": 5}, (Truncate("/p", 3, 5),)),
]


@pytest.mark.parametrize(("code", "fields", "events"), EVENTS)
def test_an_operation_has_the_events_of_inotify(
    code: OpCode, fields: dict[str, Any], events: tuple[Event, ...]
) -> None:
    """It has no change in addition to them."""
    assert batch_of(Op(5, code, fields)) == EventBatch(5, events)


def test_an_erasure_coded_file_says_so() -> None:
    """Hadoop reports it in the CREATE event since 3.3."""
    batch = batch_of(Op(5, OpCode.ADD, FILE | {"blocks": (), "erasure_coding_policy_id": 1}))
    assert batch is not None
    (event,) = batch.events
    assert isinstance(event, Create)
    assert event.erasure_coded


def test_what_has_no_event_may_have_changes() -> None:
    """The consumer takes both; most operations have neither, and therefore no batch."""
    for name, changes in BEYOND_EVENTS.items():
        assert batch_of(Op(5, OpCode[name], {"path": "/p"})) == EventBatch(5, (), changes("/p"))
    assert all(batch_of(Op(5, code, {})) is None for code in UNREAD)


def test_all_that_changes_a_status_is_read() -> None:
    """No other operation is read, least of all one that holds tokens or keys."""
    assert set(OpCode) - UNREAD == {row[0] for row in EVENTS} | {OpCode[name] for name in BEYOND_EVENTS}
    assert {
        OpCode.GET_DELEGATION_TOKEN,
        OpCode.RENEW_DELEGATION_TOKEN,
        OpCode.CANCEL_DELEGATION_TOKEN,
        OpCode.UPDATE_MASTER_KEY,
    } <= UNREAD


def test_an_unknown_operation_says_that_nothing_is_known() -> None:
    """GapFlush: an unknown operation makes everything unknown."""
    assert batch_of(UnknownOp(5, "why")) == EventBatch(5, (), (EverythingUnknown("transaction 5: why"),))
