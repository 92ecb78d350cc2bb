"""The inventory of a DataNode: its replicas, in buckets, and their differences from a report of its disk.

Pure. One transaction writes a replica to its bucket and below its block's location. A replica queued for deletion stays
in its bucket until it is deleted.
"""

from typing import Final, TypeAlias

import msgspec

from nncache.coordination.zookeeper import CreateOp, SetDataOp, ZnodeOp
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Replica, encode

BUCKETS: Final = 4096
"""Per DataNode. With a million replicas, each bucket has 244 in 6 KB."""

ABSENT: Final = -1
"""The version of a bucket that does not exist."""

Contents: TypeAlias = dict[int, tuple[int, int]]
"""Stamp and length of each replica, by block."""


def bucket_of(block: int) -> int:
    """Return the number of a block's bucket."""
    return block % BUCKETS


def change_bucket(datanode: str, number: int, contents: Contents, version: int | None) -> ZnodeOp:
    """Return the operation that replaces the contents of a bucket at this version; None: it does not exist.

    An empty bucket is kept: its version tells it from all its earlier states.
    """
    path, data = layout.bucket(datanode, number), encode(contents)
    return CreateOp(path, data) if version is None else SetDataOp(path, data, version)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket's contents on disk, where they differ from its znode as read just before.

    A replica that was added or removed since then has changed the bucket too, and so its version.
    """

    version: int  # of the bucket before the disk was read; ABSENT: it did not exist
    contents: Contents


def differences(known: Contents, report: Report) -> tuple[list[int], dict[int, Replica]]:
    """Compare a bucket with a report of the same version.

    Returns the blocks that the DataNode no longer has, and the replicas that the bucket lacks or has with another stamp
    or length.
    """
    missing = [block for block in known if block not in report.contents]
    return missing, {
        block: Replica(stamp=stamp, length=length)
        for block, (stamp, length) in report.contents.items()
        if known.get(block) != (stamp, length)
    }


parse_bucket: Final = msgspec.json.Decoder(Contents).decode
parse_report: Final = msgspec.json.Decoder(Report).decode
