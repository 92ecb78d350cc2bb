"""Which statuses an event makes stale: the table of the facts, row by row."""

import pytest

from nncache.hadoop.change import Touched, Vanished
from nncache.hadoop.changes import BEYOND_EVENTS, changes_of_batch, changes_of_event
from nncache.hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    EventBatch,
    MetadataKind,
    Rename,
    Truncate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType
from tests.hadoop.footprints import EC, HARMLESS, ZONE, metadata, shown, stale

TRUSTED = XAttr(XAttrNamespace.TRUSTED, "a")
SECURITY = XAttr(XAttrNamespace.SECURITY, "a")

# The facts' table "What each event can have changed": event, changes, stale statuses | with all below.
EVENTS: list[tuple[Event, str, str]] = [
    (Create(kind=FileType.FILE, path="/d/p"), "appeared /d/p, opened /d/p", "/d /d/p | /d/p"),
    (Create(kind=FileType.FILE, path="/d/p", overwrite=True), "appeared /d/p, opened /d/p", "/d /d/p | /d/p"),
    (Create(kind=FileType.DIRECTORY, path="/d/p"), "appeared /d/p", "/d /d/p | /d/p"),
    (Create(kind=FileType.SYMLINK, path="/d/p"), "appeared /d/p", "/d /d/p | /d/p"),
    (Close("/d/p"), "closed /d/p", "/d/p | -"),
    (Append("/d/p"), "opened /d/p", "/d/p | -"),
    (Truncate("/d/p"), "touched /d/p", "/d/p | -"),
    (Unlink("/d/p"), "vanished /d/p", "/d /d/p | /d/p"),
    (Rename("/d/s", "/e/t"), "moved /d/s /e/t", "/d /d/s /e /e/t | /d/s /e/t"),
    (Rename("/d/s", "/d/t"), "moved /d/s /d/t", "/d /d/s /d/t | /d/s /d/t"),
    (Rename("/d/s", "/d/s"), "-", "- | -"),
    (metadata(MetadataKind.PERMS), "accesschanged /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.OWNER), "accesschanged /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.ACLS), "accesschanged /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.TIMES), "touched /d/p", "/d/p | -"),
    (metadata(MetadataKind.REPLICATION), "touched /d/p", "/d/p | -"),
    (metadata(MetadataKind.XATTRS), "-", "- | -"),
    (metadata(MetadataKind.XATTRS, HARMLESS, TRUSTED, SECURITY), "-", "- | -"),
    (metadata(MetadataKind.XATTRS, EC), "subtreeunknown /d/p", "/d/p | /d/p"),
    (metadata(MetadataKind.XATTRS, HARMLESS, ZONE), "subtreeunknown /d/p", "/d/p | /d/p"),
    # not in the table: unreadable paths, and non-canonical ones
    (Unlink("d/p"), "everything", "- | -"),
    (Rename("/d/s", ""), "vanished /d/s, everything", "/d /d/s | /d/s"),
    # aliases, which a NameNode logs for a CONCAT that names its files by them behind two slashes
    (Append("//.reserved/.inodes/16441"), "everything", "- | -"),
    (Unlink("//.reserved/raw/d/p"), "everything", "- | -"),
    (Close("//.reserved/.inodes/16441"), "everything", "- | -"),
    (Unlink("/.reserved2"), "vanished /.reserved2", "/ /.reserved2 | /.reserved2"),
    # a name with a NUL, which any user can create over RPC: no cached path has such an ancestor
    (Create(kind=FileType.DIRECTORY, path="/d/x\0y"), "touched /d", "/d | -"),
    (Create(kind=FileType.FILE, path="/d//e/\0/p"), "touched /d/e", "/d/e | -"),
    (Unlink("/\0"), "touched /", "/ | -"),
    (Rename("/d/x\0y", "/e/t"), "touched /d, appeared /e/t", "/d /e /e/t | /e/t"),
    (Rename("/d/s", "/e/x\0y"), "vanished /d/s, touched /e", "/d /d/s /e | /d/s"),
    (Rename("/d/x\0y", "/d/z\0"), "touched /d", "/d | -"),
    (Unlink("//d/p/"), "vanished /d/p", "/d /d/p | /d/p"),
    (Rename("/d/s/", "/d//s"), "-", "- | -"),
]


@pytest.mark.parametrize(("event", "changes", "footprint"), EVENTS)
def test_an_event_makes_stale_what_the_facts_say(event: Event, changes: str, footprint: str) -> None:
    """Nothing less (a stale answer) and, where the facts are exact, nothing more (a lost hit)."""
    found = changes_of_event(event)
    assert shown(found) == changes
    assert str(stale(found)) == footprint


# Transactions without an event that change a status or more: operation, path, changes.
OPS = [
    ("SET_STORAGE_POLICY", "/d/p", "subtreeunknown /d/p"),
    ("ALLOW_SNAPSHOT", "/d/p", "touched /d/p, subtreeunknown /d/p/.snapshot"),
    ("DISALLOW_SNAPSHOT", "/d/p", "touched /d/p, subtreeunknown /d/p/.snapshot"),
    ("CREATE_SNAPSHOT", "/", "touched /, subtreeunknown /.snapshot"),
    ("DELETE_SNAPSHOT", "/d/p", "touched /d/p, subtreeunknown /d/p/.snapshot"),
    ("RENAME_SNAPSHOT", "/d/p", "touched /d/p, subtreeunknown /d/p/.snapshot"),
    ("ADD_BLOCK", "/d/p", "touched /d/p"),
    ("UPDATE_BLOCKS", "/d/p", "touched /d/p"),
    # odd paths, as for events
    ("SET_STORAGE_POLICY", "d/p", "everything"),
    ("SET_STORAGE_POLICY", "/d/x\0y/z", "touched /d"),
]


@pytest.mark.parametrize(("operation", "path", "changes"), OPS)
def test_what_no_event_says(operation: str, path: str, changes: str) -> None:
    """FSEditLogLoader carries out these operations, and InotifyFSEditLogOpTranslator has no event for them."""
    assert shown(BEYOND_EVENTS[operation](path)) == changes


def test_a_batch_says_events_and_what_is_beyond_them() -> None:
    """Events come first, and each change has the id of the transaction."""
    batch = EventBatch(7, (Unlink("/a"),), (Touched("/b"),))
    assert list(changes_of_batch(batch)) == [(7, Vanished("/a")), (7, Touched("/b"))]
