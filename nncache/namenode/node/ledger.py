"""What a DataNode writes of its own replicas: its buckets, each changed in one transaction with what it is about."""

from nncache.coordination.zookeeper import Create, Operation, SetData, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.inventory import Contents, bucket_of, encode_bucket, parse_bucket


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
        path, contents, version = await self._read(block.id)
        contents[block.id] = (block.stamp, block.length)
        return [change(path, contents, version)]

    async def removing(self, block: int) -> list[Operation]:
        """Return what takes a replica out; nothing if it is not in."""
        path, contents, version = await self._read(block)
        if contents.pop(block, None) is None:
            return []
        return [change(path, contents, version)]

    async def _read(self, block: int) -> tuple[str, Contents, int | None]:
        path = layout.bucket(self._datanode, bucket_of(block))
        (znode,) = await self._znodes.get_many([path])
        if znode is None:
            return path, {}, None
        return path, parse_bucket(znode.data), znode.version


def change(path: str, contents: Contents, version: int | None) -> Operation:
    """Return what gives a bucket of this version other contents; None: it is not there.

    An empty one stays: its version tells it from all that it was before.
    """
    data = encode_bucket(contents)
    return Create(path, data) if version is None else SetData(path, data, version)
