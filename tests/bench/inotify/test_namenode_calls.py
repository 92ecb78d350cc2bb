"""Calls of a real NameNode are counted by it."""

import asyncio

from nncache.bench.inotify.namenode_calls import attribute_calls, file_calls
from nncache.hadoop.rpc.namespace_reads import NamespaceReads
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster
from tests.patience import HANG_S


async def test_listings_and_attributes_are_counted(cluster: Cluster) -> None:
    """Other tests may ask at the same time: at least these."""
    http = cluster.namenodes[0].http
    files, attributes = file_calls(http), attribute_calls(http)
    async with WebHdfs(f"http://{http}", cluster.superuser) as hdfs:
        await hdfs.list("/")
        address, check = await hdfs.rpc_side()
        reads = NamespaceReads(address, cluster.superuser, check, timeout_s=15.0)
        try:
            await reads.connect()
            await reads.list_many(["/", "/"])
            for _ in range(3):
                await reads.xattrs("/")
        finally:
            await reads.close()
    async with asyncio.timeout(HANG_S):  # what JMX says is a moment old
        while file_calls(http) - files < 2 or attribute_calls(http) - attributes < 3:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
