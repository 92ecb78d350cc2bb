"""The changes by a command of an audit log, from the project's one table. (nncache/advisor/footprints.py)

Pure. `nncache.hadoop.changes` maps the events of a command to changes, with placeholders for its paths. A change makes
a cache forget the same entries as in `nncache.cache.forgetting`, for one directory at a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, assert_never

from nncache.hadoop.change import (
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
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.events import (
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
from nncache.hadoop.filestatus import FileType

SOURCE: Final = "/src"
DESTINATION: Final = "/dst"


class RowKind(IntEnum):
    """The kind of a row of the replay; rows of the same time are in this order."""

    TOUCHED = 1  # the path's own status is stale
    CREATED = 2  # as TOUCHED, and it is a file that is open for writing
    MADE = 3  # as TOUCHED, and it is a directory; no change if it existed
    VANISHED = 4  # as TOUCHED, and it does not exist any more
    ARRIVED = 5  # as TOUCHED, and it was moved here
    BELOW_CHANGED = 6  # everything in the directory is stale, rights too
    BELOW_MADE = 7  # as BELOW_CHANGED; no change if the directory existed
    BELOW_GONE = 8  # as BELOW_CHANGED, and nothing exists in it any more
    BELOW_ACCESS = 9  # as BELOW_CHANGED, but the kinds of its paths are the same
    READ = 10
    DENIED = 11  # a read that was refused
    OPENED = 12  # an OPEN over WebHDFS: the read before it was the NameNode's own


@dataclass(frozen=True, slots=True)
class Mark:
    """One part of the footprint of a command.

    Attributes:
        kind: the kind of change.
        argument: the field of the line that names the path.
        is_parent: whether the path is the parent of the field's path.
        is_below: whether everything below the path is stale.
    """

    kind: RowKind
    argument: str
    is_parent: bool = False
    is_below: bool = False


def _metadata(kind: MetadataKind, *xattrs: XAttr) -> tuple[Event, ...]:
    return (MetadataUpdate(path=SOURCE, kind=kind, xattrs=xattrs),)


_ACLS: Final = _metadata(MetadataKind.ACLS)
_XATTR: Final = _metadata(MetadataKind.XATTRS, XAttr(XAttrNamespace.USER, ""))
_EC: Final = _metadata(MetadataKind.XATTRS, XAttr(XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy"))

EVENTS: Final[dict[str, tuple[Event, ...]]] = {
    "create": (Create(kind=FileType.FILE, path=SOURCE),),
    "append": (Append(SOURCE),),
    "truncate": (Truncate(SOURCE),),
    "mkdirs": (Create(kind=FileType.DIRECTORY, path=SOURCE),),
    "createSymlink": (Create(kind=FileType.SYMLINK, path=SOURCE),),
    "rename": (Rename(SOURCE, DESTINATION),),
    "delete": (Unlink(SOURCE),),
    "concat": (Append(DESTINATION), Unlink(SOURCE), Close(DESTINATION)),
    "setPermission": _metadata(MetadataKind.PERMS),
    "setOwner": _metadata(MetadataKind.OWNER),
    "setTimes": _metadata(MetadataKind.TIMES),
    "setReplication": _metadata(MetadataKind.REPLICATION),
    "setAcl": _ACLS,
    "modifyAclEntries": _ACLS,
    "removeAclEntries": _ACLS,
    "removeDefaultAcl": _ACLS,
    "removeAcl": _ACLS,
    "setXAttr": _XATTR,
    "removeXAttr": _XATTR,
    "setErasureCodingPolicy": _EC,
    "unsetErasureCodingPolicy": _EC,
}
"""The events of each command that has any. Source: `FSEditLog` and `InotifyFSEditLogOpTranslator`, Hadoop 3.5.0.

`rename` stands for `rename (options=[…])` too. An audit log has no line for the CLOSE of a created file.
"""


def marks_of(command: str) -> tuple[Mark, ...]:
    """Return the marks of a successful command, each once; empty if it makes nothing stale."""
    found = [
        mark
        for event in EVENTS.get(command, ())
        for change in changes_of_event(event)
        for mark in _marks(change, event)
    ]
    return tuple(dict.fromkeys(found))


def _marks(change: Change, event: Event) -> Iterator[Mark]:
    assert not isinstance(change, EverythingUnknown), "no placeholder is an unreadable path"
    match change:
        case Appeared(path):
            is_directory = isinstance(event, Create) and event.kind is FileType.DIRECTORY
            if is_directory:
                yield from _place(path, RowKind.MADE, RowKind.BELOW_MADE)
            else:
                yield from _place(path, RowKind.CREATED, RowKind.BELOW_CHANGED)
        case Vanished(path):
            yield from _place(path, RowKind.VANISHED, RowKind.BELOW_GONE)
        case Moved(source, destination):
            yield from _place(source, RowKind.VANISHED, RowKind.BELOW_GONE)
            yield from _place(destination, RowKind.ARRIVED, RowKind.BELOW_CHANGED)
        case Touched(path) | Closed(path):
            yield Mark(RowKind.TOUCHED, _argument(path))
        case Opened(path):
            yield Mark(RowKind.CREATED, _argument(path))
        case AccessChanged(path) | SubtreeUnknown(path):
            yield Mark(RowKind.TOUCHED, _argument(path))
            yield Mark(RowKind.BELOW_ACCESS, _argument(path), is_below=True)
        case _:
            assert_never(change)


def _place(path: str, own: RowKind, below: RowKind) -> Iterator[Mark]:
    yield Mark(own, _argument(path))
    yield Mark(below, _argument(path), is_below=True)
    yield Mark(RowKind.TOUCHED, _argument(path), is_parent=True)


def _argument(path: str) -> str:
    return path.removeprefix("/")
