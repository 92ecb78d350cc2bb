"""Events as values."""

import pytest

from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Close,
    Create,
    EventBatch,
    MetadataKind,
    Unlink,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType


@pytest.mark.parametrize(
    ("numbers", "names"),
    [
        (MetadataKind, "TIMES REPLICATION OWNER PERMS ACLS XATTRS"),
        (AclScope, "ACCESS DEFAULT"),
        (AclKind, "USER GROUP MASK OTHER"),
        (XAttrNamespace, "USER TRUSTED SECURITY SYSTEM RAW"),
    ],
)
def test_the_numbers_are_those_of_the_wire(
    numbers: type[MetadataKind | AclScope | AclKind | XAttrNamespace], names: str
) -> None:
    """inotify.proto, acl.proto and xattr.proto count from 0 in this order."""
    assert [each.name for each in numbers] == names.split()
    assert [each.value for each in numbers] == list(range(len(names.split())))


def test_events_are_values() -> None:
    """Two that say the same are equal and count once; what the wire leaves out says nothing."""
    batch = EventBatch(7, (Create(kind=FileType.FILE, path="/f"), Close("/f", 3)))
    assert batch == EventBatch(7, (Create(kind=FileType.FILE, path="/f", owner=""), Close("/f", 3, 0)))
    assert len({Unlink("/f"), Unlink("/f", 0)}) == 1
    assert Close("/f").file_size == -1
