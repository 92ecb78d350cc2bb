"""What the store holds: files, directories, blocks, leases; as values and as JSON."""

from enum import Enum
from typing import Final

import msgspec

ROOT_ID: Final = 16385
"""As in HDFS (INodeId.ROOT_INODE_ID); ids of others follow, and none is used twice."""

LIMBO: Final = 0
"""The parent of what was deleted and is not reclaimed yet."""

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
    stamp: int  # generation stamp: counts up with each change of its replicas
    length: int = 0
    state: BlockState = BlockState.UNDER_CONSTRUCTION
    recovery_id: int = 0  # the stamp that the recovery under way will give it
    truncate_to: int = -1  # the length that this recovery has to give it; -1: what the replicas say

    def __str__(self) -> str:
        return f"blk_{self.id}_{self.stamp}"


class AclEntry(msgspec.Struct, frozen=True, array_like=True):
    """An entry of an ACL; `name` "" is the owner's, the owning group's."""

    is_default: bool
    type: str  # "user", "group", "mask", "other"
    name: str
    permission: int  # three bits


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory may hold, and holds: itself and all below."""

    names: int  # NO_QUOTA: any number
    space: int  # bytes, each replica counted
    used_names: int
    used_space: int


class Inode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file or directory. Of a directory, the time of the last change stands beside its entries."""

    id: int
    parent: int
    name: str
    is_directory: bool
    owner: str
    group: str
    mode: int
    acl: tuple[AclEntry, ...] = ()  # what `mode` cannot say, in AclStorage's order
    xattrs: dict[str, bytes] = {}  # by name with its namespace: "user.x"
    policy: int = 0  # a storage policy's number; 0: that of the directory above
    quota: Quota | None = None
    is_snapshottable: bool = False
    mtime: int = 0
    atime: int = 0
    replication: int = 0
    block_size: int = 0
    blocks: tuple[Block, ...] = ()
    holder: str = ""  # of the lease, while the file is open
    client: str = ""  # its host
    segment: int = 0  # of the root alone: to which segment of the feed its edits go

    @property
    def is_open(self) -> bool:
        """Whether the file is under construction."""
        return self.holder != ""

    @property
    def length(self) -> int:
        """Bytes, those of the last block included as far as the NameNode knows of them."""
        return sum(block.length for block in self.blocks)

    @property
    def known_length(self) -> int:
        """Bytes without a last block that is still being written."""
        if self.blocks and self.blocks[-1].state is not BlockState.COMPLETE:
            return sum(block.length for block in self.blocks[:-1])
        return self.length

    @property
    def space(self) -> int:
        """Bytes that count for quotas: a block that is being written counts as a full one."""
        full = sum(
            block.length if block.state in {BlockState.COMPLETE, BlockState.COMMITTED} else self.block_size
            for block in self.blocks
        )
        return full * self.replication


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """A block's file and the DataNodes that were asked to hold it; those that do are children of the znode."""

    file: int
    targets: tuple[str, ...]


class DataNodeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a DataNode says of itself; it is written when it has changed."""

    http: str  # host:port of its WebHDFS
    capacity: int = 0  # bytes
    free: int = 2**63 - 1  # bytes, in steps
    transfers: int = 0  # under way
    failures: int = 0  # of its disk, since it started


class Replica(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a DataNode says that it holds."""

    stamp: int
    length: int
    is_corrupt: bool = False  # it was found not to be what was written


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
    """A block whose replicas are to be looked at."""

    failed: tuple[str, ...] = ()  # DataNodes that could not copy it


def parse_waiting(data: bytes) -> Waiting:
    """Read what is known of a block whose replicas are to be looked at; at first nothing is."""
    return _parse_waiting(data) if data else Waiting()


encode: Final = msgspec.json.Encoder().encode
parse_inode: Final = msgspec.json.Decoder(Inode).decode
parse_location: Final = msgspec.json.Decoder(Location).decode
parse_replica: Final = msgspec.json.Decoder(Replica).decode
parse_recovery: Final = msgspec.json.Decoder(Recovery).decode
parse_copying: Final = msgspec.json.Decoder(Copying).decode
_parse_waiting: Final = msgspec.json.Decoder(Waiting).decode
