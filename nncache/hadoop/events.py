"""HDFS inotify events, as values.

Names follow `org.apache.hadoop.hdfs.inotify.Event` (Hadoop 3.5.0) and inotify.proto; `_KEYS` and the names of
fields are those of the JSON (`event_json.py`). Enumerations are in the order of their numbers in inotify.proto.
A null of the Java API is "", 0 or () here, as on the wire. Times are in ms since the epoch, sizes in bytes.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from nncache.hadoop.change import Change
from nncache.hadoop.filestatus import FileType

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]

Mode: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A[0-7]{1,11}\Z")]
"""Octal, as in WebHDFS: "644"; 32 bits at most."""

Action: TypeAlias = Literal["---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx"]
"""FsAction, in the order of its numbers."""


class MetadataKind(Enum):
    """The part of the metadata that a `MetadataUpdate` sets; the event's other fields are meaningless."""

    TIMES = "TIMES"
    REPLICATION = "REPLICATION"
    OWNER = "OWNER"
    PERMS = "PERMS"
    ACLS = "ACLS"
    XATTRS = "XATTRS"


class AclScope(Enum):
    """Whether an ACL entry applies to the path itself or is inherited by new children."""

    ACCESS = "ACCESS"
    DEFAULT = "DEFAULT"


class AclKind(Enum):
    """The kind of user or group that an ACL entry applies to."""

    USER = "USER"
    GROUP = "GROUP"
    MASK = "MASK"
    OTHER = "OTHER"


class XAttrNamespace(Enum):
    """The namespace of an extended attribute."""

    USER = "USER"
    TRUSTED = "TRUSTED"
    SECURITY = "SECURITY"
    SYSTEM = "SYSTEM"
    RAW = "RAW"


class FileAclEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of an ACL."""

    scope: AclScope
    kind: AclKind = msgspec.field(name="type")
    name: str  # "" for the owning user or group, mask and other
    permissions: Action = msgspec.field(name="permission")


class XAttr(msgspec.Struct, frozen=True, omit_defaults=True):
    """One extended attribute; its name is without the namespace."""

    namespace: XAttrNamespace = msgspec.field(name="nameSpace")
    name: str
    value: bytes = b""


_KEYS: Final = {
    "owner": "ownerName",
    "group": "groupName",
    "permission": "perms",
    "file_size": "fileSize",
    "new_block": "newBlock",
    "source": "srcPath",
    "destination": "dstPath",
    "symlink_target": "symlinkTarget",
    "default_block_size": "defaultBlockSize",
    "erasure_coded": "erasureCoded",
    "xattrs": "xAttrs",
    "xattrs_removed": "xAttrsRemoved",
}


class _Event(msgspec.Struct, frozen=True, omit_defaults=True, rename=_KEYS):
    """The JSON form of all events."""


class Create(_Event, frozen=True, kw_only=True, tag="CREATE"):
    """A file, directory or symlink was created, or a file was replaced; a FILE is open until its `Close`.

    The event has no file id and no ACL. `overwrite` is the flag of the call, also set if nothing was replaced.
    """

    kind: FileType = msgspec.field(name="iNodeType")
    path: str
    ctime: Number = 0
    owner: str = ""
    group: str = ""
    permission: Mode = "0"
    replication: Number = 0
    symlink_target: str = ""
    overwrite: bool = False
    default_block_size: Number = 0
    erasure_coded: bool = False


class Close(_Event, frozen=True, tag="CLOSE"):
    """A file is complete; `file_size` is -1 for the target of a concat."""

    path: str
    file_size: Number = -1
    timestamp: Number = 0


class Append(_Event, frozen=True, tag="APPEND"):
    """A file was reopened for writing; its length changes without further events until its `Close`."""

    path: str
    new_block: bool = False


class Rename(_Event, frozen=True, tag="RENAME"):
    """A path moved with all below it. `destination` is the final path, also for a move into a directory."""

    source: str
    destination: str
    timestamp: Number = 0


class MetadataUpdate(_Event, frozen=True, kw_only=True, tag="METADATA"):
    """Metadata of a path was set; only the fields of `kind` have a meaning."""

    path: str
    kind: MetadataKind = msgspec.field(name="metadataType")
    mtime: Number = 0  # TIMES; -1 = not changed
    atime: Number = 0  # TIMES; -1 = not changed
    replication: Number = 0  # REPLICATION
    owner: str = ""  # OWNER; "" = not changed
    group: str = ""  # OWNER; "" = not changed
    permission: Mode = "0"  # PERMS
    acls: tuple[FileAclEntry, ...] = ()  # ACLS: the full new list
    xattrs: tuple[XAttr, ...] = ()  # XATTRS
    xattrs_removed: bool = False  # XATTRS


class Unlink(_Event, frozen=True, tag="UNLINK"):
    """A path was deleted with all below it; an open file below gets no `Close`."""

    path: str
    timestamp: Number = 0


class Truncate(_Event, frozen=True, tag="TRUNCATE"):
    """A file was truncated to `file_size`; within a block its status changes only after recovery, with a `Close`."""

    path: str
    file_size: Number = 0
    timestamp: Number = 0


Event: TypeAlias = Create | Close | Append | Rename | MetadataUpdate | Unlink | Truncate


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The events of one transaction; most transactions have none, and then there is no batch.

    `changes` are those that have no event (`hadoop/changes.py`); they are empty without a decoded edit log.
    """

    txid: int
    events: tuple[Event, ...]
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class EditsPage:
    """One reply of getEditsFromTxid (source: `FSNamesystem`, `NameNodeRpcServer.getEditsFromTxid`).

    `first_txid` and `last_txid` bound the transactions that were scanned, with or without events; -1 if there are none.
    """

    first_txid: int
    last_txid: int
    sync_txid: int
    batches: tuple[EventBatch, ...]
