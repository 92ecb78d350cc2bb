"""What a change says in the feed of edits: the events that a NameNode's log has for it.

Source: InotifyFSEditLogOpTranslator of Hadoop 3.5.0, and what each operation logs (FSEditLog). What has no event there
has none here: quotas, storage policies, blocks, leases.
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
    """Return what says that a file was made and opened, or a directory made."""
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
    """Return what says that files were put behind another one."""
    return (Append(target), *(Unlink(source, at_ms) for source in sources), Close(target, -1, at_ms))


def acl_set(path: str, entries: Iterable[AclEntry]) -> MetadataUpdate:
    """Return what says that an ACL was set: all its entries, or none where it was removed."""
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
    """Return what says that an extended attribute was set; None: removed, whatever its value was."""
    attribute = XAttr(XAttrNamespace(space.upper()), name, value or b"")
    return MetadataUpdate(
        path=path, kind=MetadataKind.XATTRS, xattrs=(attribute,), xattrs_removed=value is None
    )
