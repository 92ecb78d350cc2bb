"""A DataNode's changes of its own inventory, each in one transaction with the change of the replica."""

from nncache.coordination.zookeeper import ZnodeOp, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.inventory import Contents, bucket_of, change_bucket, parse_bucket


class Ledger:
    """The buckets of a DataNode (`namespace/inventory.py`).

    Each change carries the version of the bucket that was read. NameNodes change buckets, too: a change that is refused
    for that is retried with the new contents.
    """

    def __init__(self, znodes: Znodes, datanode: str) -> None:
        self._znodes = znodes
        self._datanode = datanode

    async def adding(self, block: Block) -> list[ZnodeOp]:
        """Return the operations that add a replica to its bucket."""
        contents, version = await self._read(block.id)
        contents[block.id] = (block.stamp, block.length)
        return [change_bucket(self._datanode, bucket_of(block.id), contents, version)]

    async def removing(self, block: int) -> list[ZnodeOp]:
        """Return the operations that remove a replica from its bucket; none if it is not there."""
        contents, version = await self._read(block)
        if contents.pop(block, None) is None:
            return []
        return [change_bucket(self._datanode, bucket_of(block), contents, version)]

    async def _read(self, block: int) -> tuple[Contents, int | None]:
        path = layout.bucket(self._datanode, bucket_of(block))
        (znode,) = await self._znodes.get_many([path])
        return ({}, None) if znode is None else (parse_bucket(znode.data), znode.version)
