"""HDFS inotify events, as values.

Names follow `org.apache.hadoop.hdfs.inotify.Event` (Hadoop 3.5.0) and inotify.proto; enum values are the wire's own.
What Java's API gives as null is "", 0 or () here, as on the wire. Times are ms since the epoch, sizes bytes.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from nncache.hadoop.filestatus import FileType


class MetadataKind(IntEnum):
    """Which part of the metadata a `MetadataUpdate` is about; the other fields of the event say nothing."""

    TIMES = 0
    REPLICATION = 1
    OWNER = 2
    PERMS = 3
    ACLS = 4
    XATTRS = 5


class AclScope(IntEnum):
    """Whether an ACL entry counts for the path itself or is handed down to new children."""

    ACCESS = 0
    DEFAULT = 1


class AclKind(IntEnum):
    """Whom an ACL entry is about."""

    USER = 0
    GROUP = 1
    MASK = 2
    OTHER = 3


class XAttrNamespace(IntEnum):
    """Who an extended attribute belongs to."""

    USER = 0
    TRUSTED = 1
    SECURITY = 2
    SYSTEM = 3
    RAW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAclEntry:
    """One entry of an ACL."""

    scope: AclScope
    kind: AclKind
    name: str  # "" for the owning user or group, mask and other
    permissions: int  # 0..7, as in a mode


@dataclass(frozen=True, slots=True)
class XAttr:
    """One extended attribute; its name comes without the namespace."""

    namespace: XAttrNamespace
    name: str
    value: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A file, directory or symlink appeared, or a file was replaced; a FILE is open until its `Close`.

    The event carries no file id and no ACL; `overwrite` is the flag of the call, set also when nothing was replaced.
    """

    kind: FileType
    path: str
    ctime: int = 0
    owner: str = ""
    group: str = ""
    permission: int = 0
    replication: int = 0
    symlink_target: str = ""
    overwrite: bool = False
    default_block_size: int = 0
    erasure_coded: bool = False


@dataclass(frozen=True, slots=True)
class Close:
    """A file is complete; `file_size` is -1 for the target of a concat."""

    path: str
    file_size: int = -1
    timestamp: int = 0


@dataclass(frozen=True, slots=True)
class Append:
    """A file was opened again for writing; its length moves without further events until its `Close`."""

    path: str
    new_block: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """A path moved with all below it. `destination` is the final path, also for "into a directory"."""

    source: str
    destination: str
    timestamp: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataUpdate:
    """Metadata of a path was set; only the fields of `kind` say anything."""

    path: str
    kind: MetadataKind
    mtime: int = 0  # TIMES; -1 = not changed
    atime: int = 0  # TIMES; -1 = not changed
    replication: int = 0  # REPLICATION
    owner: str = ""  # OWNER; "" = not changed
    group: str = ""  # OWNER; "" = not changed
    permission: int = 0  # PERMS
    acls: tuple[FileAclEntry, ...] = ()  # ACLS: the full new list
    xattrs: tuple[XAttr, ...] = ()  # XATTRS
    xattrs_removed: bool = False  # XATTRS


@dataclass(frozen=True, slots=True)
class Unlink:
    """A path is gone with all below it; an open file below gets no `Close`."""

    path: str
    timestamp: int = 0


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file was cut to `file_size`; inside a block its status follows only when recovery ends with a `Close`."""

    path: str
    file_size: int = 0
    timestamp: int = 0


Event: TypeAlias = Create | Close | Append | Rename | MetadataUpdate | Unlink | Truncate


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The events of one transaction; most transactions have none, and no batch then."""

    txid: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class EditsPage:
    """One reply of getEditsFromTxid (facts: `FSNamesystem`/`NameNodeRpcServer.getEditsFromTxid`).

    `first_txid` and `last_txid` bound the transactions that were scanned, with or without events; -1 when there were
    none.
    """

    first_txid: int
    last_txid: int
    sync_txid: int
    batches: tuple[EventBatch, ...]
