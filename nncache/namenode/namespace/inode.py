"""Stored values and their JSON: files, directories, blocks, replicas, and orders to DataNodes."""

from enum import Enum
from typing import Final

import msgspec

ROOT_ID: Final = 16385
"""As in HDFS (INodeId.ROOT_INODE_ID). Other ids follow; no id is used twice."""

LIMBO: Final = 0
"""The parent id of an inode that was deleted and is not reclaimed yet."""

NO_QUOTA: Final = -1
UNLIMITED: Final = 2**63 - 1


class BlockState(Enum):
    """HdfsServerConstants.BlockUCState."""

    UNDER_CONSTRUCTION = "UNDER_CONSTRUCTION"
    UNDER_RECOVERY = "UNDER_RECOVERY"
    COMMITTED = "COMMITTED"
    COMPLETE = "COMPLETE"


class Block(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A block of a file."""

    id: int
    stamp: int  # generation stamp: increases with each change of the replicas
    length: int = 0
    state: BlockState = BlockState.UNDER_CONSTRUCTION
    recovery_id: int = 0  # the stamp that the recovery under way assigns
    truncate_to: int = -1  # target length of that recovery; -1: as the replicas have it

    def __str__(self) -> str:
        return f"blk_{self.id}_{self.stamp}"


class AclEntry(msgspec.Struct, frozen=True, array_like=True):
    """An entry of an ACL; `name` "" is the owner or the owning group."""

    is_default: bool
    type: str  # "user", "group", "mask", "other"
    name: str
    permission: int  # three bits


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """The quotas of a directory, and its usage: itself and everything below."""

    names: int  # NO_QUOTA: any number
    space: int  # bytes, each replica counted
    used_names: int
    used_space: int


class Inode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file or directory. A directory's modification time is stored with its entries instead."""

    id: int
    parent: int
    name: str
    is_directory: bool
    owner: str
    group: str
    mode: int
    acl: tuple[AclEntry, ...] = ()  # entries that `mode` cannot encode, in AclStorage's order
    xattrs: dict[str, bytes] = {}  # by name with its namespace: "user.x"
    policy: int = 0  # a storage policy's number; 0: the parent's
    quota: Quota | None = None
    is_snapshottable: bool = False
    mtime: int = 0
    atime: int = 0
    replication: int = 0
    block_size: int = 0
    blocks: tuple[Block, ...] = ()
    holder: str = ""  # lease holder, while the file is open
    client: str = ""  # host of the holder
    segment: int = 0  # root only: the segment of the feed that gets new edits

    @property
    def is_open(self) -> bool:
        """Whether the file is under construction."""
        return self.holder != ""

    @property
    def length(self) -> int:
        """Length in bytes, including the last block as far as the NameNode knows it."""
        return sum(block.length for block in self.blocks)

    @property
    def known_length(self) -> int:
        """Length in bytes without a last block that is not complete."""
        if self.blocks and self.blocks[-1].state is not BlockState.COMPLETE:
            return sum(block.length for block in self.blocks[:-1])
        return self.length

    @property
    def space(self) -> int:
        """Bytes charged to quotas, each replica counted; a block under construction counts as a full one."""
        full = sum(
            block.length if block.state in {BlockState.COMPLETE, BlockState.COMMITTED} else self.block_size
            for block in self.blocks
        )
        return full * self.replication


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """A block's file and target DataNodes. The DataNodes that hold the block are children of the znode."""

    file: int
    targets: tuple[str, ...]


class DataNodeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A DataNode's record of itself; it writes the record when it changes."""

    http: str  # host:port of its WebHDFS
    capacity: int = 0  # bytes
    free: int = 2**63 - 1  # bytes, in steps
    transfers: int = 0  # in flight
    failures: int = 0  # disk failures since start


class Replica(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A replica as its DataNode reports it."""

    stamp: int
    length: int
    is_corrupt: bool = False  # found to differ from what was written


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """An order to a DataNode: bring the replicas of a block to one length and stamp."""

    file: int
    block: int
    recovery_id: int
    truncate_to: int = -1


class Copying(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order to a DataNode: copy a block from another one."""

    failures: int = 0


class Waiting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a queued replica check."""

    failed: tuple[str, ...] = ()  # DataNodes that could not copy it


def parse_waiting(data: bytes) -> Waiting:
    """Parse the state of a queued replica check; a new one has no data."""
    return _parse_waiting(data) if data else Waiting()


encode: Final = msgspec.json.Encoder().encode
parse_inode: Final = msgspec.json.Decoder(Inode).decode
parse_location: Final = msgspec.json.Decoder(Location).decode
parse_replica: Final = msgspec.json.Decoder(Replica).decode
parse_recovery: Final = msgspec.json.Decoder(Recovery).decode
parse_copying: Final = msgspec.json.Decoder(Copying).decode
_parse_waiting: Final = msgspec.json.Decoder(Waiting).decode
