"""The lines of `nncache watch`, for people and for programs."""

import json
from datetime import UTC, datetime

import pytest

from nncache.commands.event_lines import EventItem, GapItem, OutageItem, WatchItem, json_line, text_line
from nncache.hadoop.event_json import decode_event
from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Append,
    Close,
    Create,
    FileAclEntry,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Unlink,
)
from nncache.hadoop.filestatus import FileType
from nncache.invalidation.subscriber.events import SubscriptionStart

NOW = datetime(2026, 11, 21, 9, 8, 7, 6_999, tzinfo=UTC)
TIME = "2026-11-21T09:08:07.006Z "
ACL = '[{"scope": "ACCESS", "type": "USER", "name": "ann", "permission": "r--"}]'


@pytest.mark.parametrize(
    ("reported", "line"),
    [
        (SubscriptionStart(41), "-- following joe after transaction 41"),
        (GapItem("transactions 1 to 2 are missing", 1, 2), "-- gap: transactions 1 to 2 are missing"),
        (OutageItem("no publisher"), "-- outage: no publisher"),
        (
            EventItem(42, Create(kind=FileType.FILE, path="/joe/a", owner="joe", permission="644")),
            "        42 CREATE   /joe/a  iNodeType=FILE  ownerName=joe  perms=644",
        ),
        (EventItem(43, Close("/joe/a", 7)), "        43 CLOSE    /joe/a  fileSize=7"),
        (EventItem(44, Append("/joe/a", new_block=True)), "        44 APPEND   /joe/a  newBlock=true"),
        (EventItem(45, Rename("/joe/a", "/joe/b")), "        45 RENAME   /joe/a -> /joe/b"),
        (
            EventItem(
                12345678901,
                MetadataUpdate(
                    path="/joe/b",
                    kind=MetadataKind.ACLS,
                    acls=(
                        FileAclEntry(scope=AclScope.ACCESS, kind=AclKind.USER, name="ann", permissions="r--"),
                    ),
                ),
            ),
            "12345678901 METADATA /joe/b  metadataType=ACLS  acls=" + ACL,
        ),
        (EventItem(46, Unlink("/joe/\n\x1b[2Jb")), "        46 UNLINK   /joe/\\n\\x1b[2Jb"),
    ],
)
def test_people_get_aligned_lines(reported: WatchItem, line: str) -> None:
    """Each event is one line. Control characters of a path are escaped."""
    assert text_line("joe", reported, NOW) == TIME + line


@pytest.mark.parametrize(
    ("reported", "fields"),
    [
        (SubscriptionStart(41), {"after": 41}),
        (GapItem("gone"), {"gap": "gone"}),
        (GapItem("gone", 1, 2), {"gap": "gone", "firstTxid": 1, "lastTxid": 2}),
        (OutageItem("no publisher"), {"outage": "no publisher"}),
        (EventItem(46, Unlink("/joe/\nb")), {"txid": 46, "type": "UNLINK", "path": "/joe/\nb"}),
    ],
)
def test_programs_get_an_object_a_line(reported: WatchItem, fields: dict[str, object]) -> None:
    """Each object names its filter. An event has Hadoop's field names."""
    line = json_line("joe", reported)
    assert "\n" not in line
    assert json.loads(line) == {"filter": "joe", **fields}
    if isinstance(reported, EventItem):
        assert decode_event(json.loads(line)) == reported.event
