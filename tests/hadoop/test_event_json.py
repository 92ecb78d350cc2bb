"""Events as JSON."""

import json

import msgspec
import pytest
from hypothesis import given

from nncache.hadoop.event_json import EventJsonError, decode_event, encode_event
from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Append,
    Close,
    Create,
    Event,
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
from tests.hadoop.any_events import events

EXAMPLES: list[tuple[Event, str]] = [
    (
        Create(
            kind=FileType.FILE,
            path="/a/é",
            ctime=1700000000000,
            owner="joe",
            group="users",
            permission="644",
            replication=3,
            overwrite=True,
            default_block_size=134217728,
        ),
        (
            '{"type": "CREATE", "iNodeType": "FILE", "path": "/a/é", "ctime": 1700000000000, "ownerName": "joe",'
            ' "groupName": "users", "perms": "644", "replication": 3, "overwrite": true,'
            ' "defaultBlockSize": 134217728}'
        ),
    ),
    (
        Create(kind=FileType.SYMLINK, path="/l", symlink_target="/a", erasure_coded=True),
        '{"type": "CREATE", "iNodeType": "SYMLINK", "path": "/l", "symlinkTarget": "/a", "erasureCoded": true}',
    ),
    (Close("/a", 12, 7), '{"type": "CLOSE", "path": "/a", "fileSize": 12, "timestamp": 7}'),
    (Append("/a", new_block=True), '{"type": "APPEND", "path": "/a", "newBlock": true}'),
    (Rename("/a", "/b", 7), '{"type": "RENAME", "srcPath": "/a", "dstPath": "/b", "timestamp": 7}'),
    (Unlink("/a"), '{"type": "UNLINK", "path": "/a"}'),
    (Truncate("/a", 5, 7), '{"type": "TRUNCATE", "path": "/a", "fileSize": 5, "timestamp": 7}'),
    (
        MetadataUpdate(path="/a", kind=MetadataKind.TIMES, mtime=-1, atime=7),
        '{"type": "METADATA", "metadataType": "TIMES", "path": "/a", "mtime": -1, "atime": 7}',
    ),
    (
        MetadataUpdate(
            path="/a",
            kind=MetadataKind.ACLS,
            acls=(FileAclEntry(scope=AclScope.DEFAULT, kind=AclKind.USER, name="joe", permissions="r-x"),),
        ),
        (
            '{"type": "METADATA", "metadataType": "ACLS", "path": "/a",'
            ' "acls": [{"scope": "DEFAULT", "type": "USER", "name": "joe", "permission": "r-x"}]}'
        ),
    ),
    (
        MetadataUpdate(
            path="/a",
            kind=MetadataKind.XATTRS,
            xattrs=(XAttr(XAttrNamespace.RAW, "n", b"\xff"), XAttr(XAttrNamespace.USER, "m")),
            xattrs_removed=True,
        ),
        (
            '{"type": "METADATA", "metadataType": "XATTRS", "path": "/a", "xAttrs": [{"nameSpace": "RAW",'
            ' "name": "n", "value": "/w=="}, {"nameSpace": "USER", "name": "m"}], "xAttrsRemoved": true}'
        ),
    ),
]


@pytest.mark.parametrize(("event", "text"), EXAMPLES, ids=lambda value: str(value)[:40])
def test_an_event_is_written_in_the_words_of_hadoop(event: Event, text: str) -> None:
    """Applications in any language read them; a key that is absent has its default."""
    assert json.loads(json.dumps(encode_event(event))) == json.loads(text)
    assert decode_event(json.loads(text)) == event


@given(events)
def test_no_event_loses_anything_on_the_way_through_json(event: Event) -> None:
    """Any event of the wire format survives, with each JSON library."""
    encoded = encode_event(event)
    assert decode_event(json.loads(json.dumps(encoded))) == event
    assert decode_event(msgspec.json.decode(msgspec.json.encode(encoded))) == event


def test_unknown_keys_are_ignored() -> None:
    """A later release may add fields to an event."""
    assert decode_event({"type": "UNLINK", "path": "/a", "fileId": 7, "why": ["x"]}) == Unlink("/a")


_FILE = {"type": "CREATE", "path": "/a", "iNodeType": "FILE"}
_ACLS = {"type": "METADATA", "path": "/a", "metadataType": "ACLS"}
_XATTRS = {"type": "METADATA", "path": "/a", "metadataType": "XATTRS"}


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([], "array"),
        ({}, "`type`"),
        ({"type": "unlink", "path": "/a"}, "'unlink'"),
        ({"type": ["UNLINK"], "path": "/a"}, r"\$\.type"),
        ({"type": "UNLINK"}, "`path`"),
        ({"type": "UNLINK", "path": "/a", "\ud800": 1}, "surrogates"),
        ({"type": "UNLINK", "path": None}, r"\$\.path"),
        ({"type": "UNLINK", "path": "/a", "timestamp": "7"}, r"\$\.timestamp"),
        ({"type": "UNLINK", "path": "/a", "timestamp": 1 << 63}, r"\$\.timestamp"),
        ({"type": "CREATE", "path": "/a"}, "`iNodeType`"),
        (_FILE | {"iNodeType": "file"}, r"\$\.iNodeType"),
        (_FILE | {"perms": "8"}, r"\$\.perms"),
        (_FILE | {"perms": "1\n"}, r"\$\.perms"),
        (_FILE | {"perms": 420}, r"\$\.perms"),
        (_ACLS | {"acls": {}}, r"\$\.acls"),
        (
            _ACLS | {"acls": [{"scope": "ACCESS", "type": "USER", "name": "", "permission": "rw"}]},
            r"\$\.acls\[0\]\.permission",
        ),
        (_XATTRS | {"xAttrs": [{"nameSpace": "RAW", "name": "n", "value": "é"}]}, r"\$\.xAttrs\[0\]\.value"),
    ],
)
def test_what_is_no_event_is_refused_whole(value: dict[str, object], where: str) -> None:
    """GapFlush: an event that is partly read could leave stale answers; the error names the place."""
    with pytest.raises(EventJsonError, match=where):
        decode_event(value)
