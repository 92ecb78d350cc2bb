"""What a DataNode writes of its own replicas: its buckets, each changed in one transaction with what it is about."""

from nncache.coordination.zookeeper import Operation, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.inventory import Contents, bucket_of, change_bucket, parse_bucket


class Ledger:
    """The buckets of a DataNode (`namespace/inventory.py`).

    Each change carries the version that was read for it, so that what is refused for that is tried again with what is
    there then: a NameNode changes them, too.
    """

    def __init__(self, znodes: Znodes, datanode: str) -> None:
        self._znodes = znodes
        self._datanode = datanode

    async def adding(self, block: Block) -> list[Operation]:
        """Return what puts a replica in."""
        contents, version = await self._read(block.id)
        contents[block.id] = (block.stamp, block.length)
        return [change_bucket(self._datanode, bucket_of(block.id), contents, version)]

    async def removing(self, block: int) -> list[Operation]:
        """Return what takes a replica out; nothing if it is not in."""
        contents, version = await self._read(block)
        if contents.pop(block, None) is None:
            return []
        return [change_bucket(self._datanode, bucket_of(block), contents, version)]

    async def _read(self, block: int) -> tuple[Contents, int | None]:
        path = layout.bucket(self._datanode, bucket_of(block))
        (znode,) = await self._znodes.get_many([path])
        return ({}, None) if znode is None else (parse_bucket(znode.data), znode.version)
