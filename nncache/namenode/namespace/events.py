"""The events of each change for the feed of edits, as a NameNode's log has them.

Source: InotifyFSEditLogOpTranslator and FSEditLog of Hadoop 3.5.0. As there, changes of quotas, storage policies,
blocks and leases have no event.
"""

from collections.abc import Iterable
from typing import Final

from nncache.hadoop.events import (
    AclKind,
    AclScope,
    Action,
    Append,
    Close,
    Create,
    Event,
    FileAclEntry,
    MetadataKind,
    MetadataUpdate,
    Unlink,
    XAttr,
    XAttrNamespace,
)
from nncache.hadoop.filestatus import FileType
from nncache.namenode.namespace.inode import AclEntry, Inode

_ACTIONS: Final[tuple[Action, ...]] = ("---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx")


def made(path: str, inode: Inode, *, overwrite: bool = False) -> Create:
    """Return the event of a new file, opened for writing, or of a new directory."""
    return Create(
        kind=FileType.DIRECTORY if inode.is_directory else FileType.FILE,
        path=path,
        ctime=inode.mtime,
        owner=inode.owner,
        group=inode.group,
        permission=f"{inode.mode:o}",
        replication=inode.replication,
        default_block_size=inode.block_size,
        overwrite=overwrite,
    )


def joined(target: str, sources: Iterable[str], at_ms: int) -> tuple[Event, ...]:
    """Return the events of a CONCAT."""
    return (Append(target), *(Unlink(source, at_ms) for source in sources), Close(target, -1, at_ms))


def acl_set(path: str, entries: Iterable[AclEntry]) -> MetadataUpdate:
    """Return the event of a new ACL with all its entries; without entries, the ACL was removed."""
    acls = tuple(
        FileAclEntry(
            scope=AclScope.DEFAULT if entry.is_default else AclScope.ACCESS,
            kind=AclKind(entry.type.upper()),
            name=entry.name,
            permissions=_ACTIONS[entry.permission],
        )
        for entry in entries
    )
    return MetadataUpdate(path=path, kind=MetadataKind.ACLS, acls=acls)


def xattr_changed(path: str, space: str, name: str, value: bytes | None) -> MetadataUpdate:
    """Return the event of a new or changed extended attribute; None: removed."""
    attribute = XAttr(XAttrNamespace(space.upper()), name, value or b"")
    return MetadataUpdate(
        path=path, kind=MetadataKind.XATTRS, xattrs=(attribute,), xattrs_removed=value is None
    )
