"""Report the differences of a DataNode's disk from its inventory.

The buckets of the inventory are read before the disk. The NameNode that takes the report ignores a bucket that has
changed since then, so a replica that was added in between does not count as missing.
"""

from typing import Final

from nncache.coordination.zookeeper import CreateOp, ZnodeOp, Znodes
from nncache.namenode.datanode.datanode import DataNode
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import encode
from nncache.namenode.namespace.inventory import (
    ABSENT,
    Contents,
    Report,
    bucket_of,
    parse_bucket,
)

REPORT_EVERY_S: Final = 21_600.0
"""As in HDFS (dfs.blockreport.intervalMsec)."""

_BYTES_AT_ONCE: Final = 256 * 1024


class Reporting:
    """Reports at start, after each absence, and every six hours; repeats until there is no difference."""

    def __init__(self, znodes: Znodes, datanode: DataNode) -> None:
        self._znodes = znodes
        self._datanode = datanode
        self._next_at: float | None = None  # None: at the next tick

    def at_once(self) -> None:
        """Report at the next tick."""
        self._next_at = None

    async def tick(self, now: float) -> None:
        """Report if a report is due and the NameNode has taken the last one."""
        if self._next_at is not None and now < self._next_at:
            return
        sent = await self._znodes.get(layout.report(self._datanode.name))
        if not sent.children and not await self.report():
            self._next_at = now + REPORT_EVERY_S

    async def report(self) -> int:
        """Report the buckets that differ. Return their number."""
        name = self._datanode.name
        numbers = {int(each) for each in await self._znodes.children(layout.inventory(name))}
        numbers |= {bucket_of(block) for block in self._datanode.replicas.blocks()}
        ordered = sorted(numbers)
        known = await self._znodes.get_many([layout.bucket(name, number) for number in ordered])
        found = self._on_disk()
        operations: list[ZnodeOp] = []
        reported = size = 0
        for number, znode in zip(ordered, known, strict=True):
            contents = found.get(number, {})
            if contents == ({} if znode is None else parse_bucket(znode.data)):
                continue
            report = Report(version=ABSENT if znode is None else znode.version, contents=contents)
            data = encode(report)
            operations.append(CreateOp(f"{layout.report(name)}/{number}", data))
            reported, size = reported + 1, size + len(data)
            if size > _BYTES_AT_ONCE:
                await self._znodes.commit(operations)
                operations, size = [], 0
        await self._znodes.commit(operations)
        return reported

    def _on_disk(self) -> dict[int, Contents]:
        """Return the finalized replicas, by bucket."""
        replicas = self._datanode.replicas
        replicas.look()
        found: dict[int, Contents] = {}
        for block, replica in replicas.blocks().items():
            if replica.is_finalized:
                found.setdefault(bucket_of(block), {})[block] = (replica.stamp, replica.length)
        return found
