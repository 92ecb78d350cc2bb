"""What was made, by the NameNode's own edits."""

import asyncio
import time
from typing import Final

from nncache.hadoop.events import Create
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster
from nncache.testbed.daemon import Publisher
from nncache.testbed.errors import TestbedError

TXID: Final = "nncache_publisher_published_txid"
_TIMEOUT_S: Final = 30.0
_PATIENCE_S: Final = 180.0
_LOOK_S: Final = 0.05


def created_in(cluster: Cluster) -> dict[str, int]:
    """Return the transaction of each path that was ever created."""

    async def read() -> dict[str, int]:
        namenode = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser, timeout_s=_TIMEOUT_S)
        try:
            found, txid, end = dict[str, int](), 1, await namenode.get_current_edit_log_txid()
            while txid <= end:
                page = await namenode.get_edits(txid)
                for batch in page.batches:
                    found |= {each.path: batch.txid for each in batch.events if isinstance(each, Create)}
                txid = page.last_txid + 1
            return found
        finally:
            await namenode.close()

    return asyncio.run(read())


def await_published(publisher: Publisher, txid: float) -> dict[str, float]:
    """Wait until the publisher has come to this transaction; return its metrics then.

    Raises:
        TestbedError: it does not.
    """
    began = time.monotonic()
    while (seen := publisher.metrics())[TXID] < txid:
        if time.monotonic() - began > _PATIENCE_S:
            raise TestbedError(f"transaction {txid:.0f} was not published in {_PATIENCE_S:g} s")
        time.sleep(_LOOK_S)
    return seen
