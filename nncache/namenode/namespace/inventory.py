"""Which replicas a DataNode has, in buckets; and what follows when its disk says something else.

Pure. A replica is in the bucket of its block and below the block's location, both by one transaction. A replica that is
to be deleted stays in its bucket until it is.
"""

from typing import Final, TypeAlias

import msgspec

from nncache.coordination.zookeeper import Create, Operation, SetData
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Replica, encode

BUCKETS: Final = 4096
"""Of a DataNode: with a million replicas each has 244, in 6 KB."""

ABSENT: Final = -1
"""The version of a bucket that is not there."""

Contents: TypeAlias = dict[int, tuple[int, int]]
"""Stamp and length of each replica, by block."""


def bucket_of(block: int) -> int:
    """Return the number of the bucket that a block is in."""
    return block % BUCKETS


def change_bucket(datanode: str, number: int, contents: Contents, version: int | None) -> Operation:
    """Return what gives a bucket of this version other contents; None: it is not there.

    An empty one stays: its version tells it from all that it was before.
    """
    path, data = layout.bucket(datanode, number), encode(contents)
    return Create(path, data) if version is None else SetData(path, data, version)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket as it is on the disk, where that is not what its znode said just before.

    What has come or gone since then has changed the bucket, too, so that its version tells.
    """

    version: int  # of the bucket before the disk was looked at; ABSENT: it was not there
    contents: Contents


def differences(known: Contents, report: Report) -> tuple[list[int], dict[int, Replica]]:
    """Compare a bucket, which is of the version that the report names, with the report.

    Returns the blocks that the DataNode has no more, and the replicas that it has, not known or as others.
    """
    missing = [block for block in known if block not in report.contents]
    return missing, {
        block: Replica(stamp=stamp, length=length)
        for block, (stamp, length) in report.contents.items()
        if known.get(block) != (stamp, length)
    }


parse_bucket: Final = msgspec.json.Decoder(Contents).decode
parse_report: Final = msgspec.json.Decoder(Report).decode
