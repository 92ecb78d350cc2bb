"""A DataNode's changes of its own inventory, each in one transaction with the change of the replica.

Each change carries the version of the bucket that was read (`namespace/inventory.py`). NameNodes change buckets, too: a
change that is refused for that is retried with the new contents.
"""

from nncache.coordination.zookeeper import ZnodeOp, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.inventory import Contents, bucket_of, change_bucket, parse_bucket


async def adding(znodes: Znodes, datanode: str, block: Block) -> list[ZnodeOp]:
    """Return the operations that add a replica to its bucket."""
    contents, version = await _read(znodes, datanode, block.id)
    contents[block.id] = (block.stamp, block.length)
    return [change_bucket(datanode, bucket_of(block.id), contents, version)]


async def removing(znodes: Znodes, datanode: str, block: int) -> list[ZnodeOp]:
    """Return the operations that remove a replica from its bucket; none if it is not there."""
    contents, version = await _read(znodes, datanode, block)
    if contents.pop(block, None) is None:
        return []
    return [change_bucket(datanode, bucket_of(block), contents, version)]


async def _read(znodes: Znodes, datanode: str, block: int) -> tuple[Contents, int | None]:
    (znode,) = await znodes.get_many([layout.bucket(datanode, bucket_of(block))])
    return ({}, None) if znode is None else (parse_bucket(znode.data), znode.version)
