"""The JMX replies of a NameNode."""

import asyncio
import json
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from nncache.hadoop.election_view import HaState
from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.events import Create
from nncache.hadoop.jmx import (
    BLOCK_POOL_QUERY,
    CLUSTER_QUERY,
    JOURNAL_QUERY,
    STARTED_QUERY,
    STATUS_QUERY,
    parse_block_pool,
    parse_cluster_id,
    parse_last_txid,
    parse_rpc_address,
    parse_started_ms,
    parse_status,
)
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster
from tests.cluster import make_directory, webhdfs

PARSERS: tuple[Callable[[bytes], Any], ...] = (
    parse_status,
    parse_started_ms,
    parse_last_txid,
    parse_rpc_address,
    parse_block_pool,
    parse_cluster_id,
)


def reply(**attributes: object) -> bytes:
    """Return a reply with one bean."""
    return json.dumps(
        {"beans": [{"name": "Hadoop:service=NameNode", "modelerType": "x", **attributes}]}
    ).encode()


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("active", HaState.ACTIVE),
        ("standby", HaState.STANDBY),
        ("observer", HaState.OBSERVER),
        ("initializing", HaState.INITIALIZING),
    ],
)
def test_the_state_and_since_when(word: str, state: HaState) -> None:
    """The words are those of HAServiceProtocol.HAServiceState.toString."""
    body = reply(State=word, LastHATransitionTime=1795298171446, SecurityEnabled=False)
    assert parse_status(body) == (state, 1795298171446)


def test_the_other_attributes_are_read() -> None:
    """The transaction ids are strings in a JSON text within the JSON."""
    assert parse_started_ms(reply(NNStartedTimeInMillis=1795306212253)) == 1795306212253
    assert parse_block_pool(reply(BlockPoolId="BP-1-127.0.0.1-2")) == "BP-1-127.0.0.1-2"
    assert parse_cluster_id(reply(ClusterId="CID-1")) == "CID-1"
    assert parse_rpc_address(reply(HostAndPort="nn1:8020", State="active")) == "nn1:8020"
    inner = '{"MostRecentCheckpointTxId":"0","LastAppliedOrWrittenTxId":"12345"}'
    assert parse_last_txid(reply(JournalTransactionInfo=inner)) == 12345


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        b"{}",
        b'{"x":' + b"[" * 5000,
        b'{"beans":[{"x":' + b"[" * 5000,
        b'{"beans":[]}',
        b'{"beans":[1]}',
        b'{"beans":[{},{}]}',
        reply(result="ERROR", message="No attribute with name X was found."),
        reply(State="retired", LastHATransitionTime=0),
        reply(State=1, LastHATransitionTime=0),
        reply(NNStartedTimeInMillis="now"),
        reply(BlockPoolId=""),
        reply(BlockPoolId=None),
        reply(ClusterId=""),
        reply(HostAndPort=""),
        reply(JournalTransactionInfo="{"),
        reply(JournalTransactionInfo="{}"),
        reply(JournalTransactionInfo='{"LastAppliedOrWrittenTxId":"x"}'),
    ],
)
@pytest.mark.parametrize("parse", PARSERS)
def test_anything_else_is_an_error(parse: Callable[[bytes], Any], body: bytes) -> None:
    """An unreadable reply proves nothing; a NameNode that is starting has no beans yet."""
    with pytest.raises(MalformedReplyError):
        parse(body)


def ask(cluster: Cluster, query: str) -> bytes:
    """Query the real NameNode without a user name."""
    with urllib.request.urlopen(f"http://{cluster.namenodes[0].http}{query}", timeout=10) as response:
        body: bytes = response.read()
    return body


def test_a_real_namenode_says_the_same_to_anybody(cluster: Cluster) -> None:
    """No user name is required; without HA it has always been active."""
    assert parse_status(ask(cluster, STATUS_QUERY)) == (HaState.ACTIVE, 0)
    started_ms = parse_started_ms(ask(cluster, STARTED_QUERY))
    assert parse_started_ms(ask(cluster, STARTED_QUERY + "&user.name=alice")) == started_ms


def test_a_real_namenode_says_which_namespace_it_serves(cluster: Cluster) -> None:
    """The values are those of FSNamesystem.getBlockPoolId and getClusterId."""
    assert parse_block_pool(ask(cluster, BLOCK_POOL_QUERY)).startswith("BP-")
    assert parse_cluster_id(ask(cluster, CLUSTER_QUERY)).startswith("CID-")


def test_a_real_namenode_says_so_in_order(cluster: Cluster, hdfs_directory: str) -> None:
    """Every change increases the last transaction immediately: it proves the freshness of answers."""
    seen = [parse_last_txid(ask(cluster, JOURNAL_QUERY))]
    for number in range(5):
        make_directory(cluster, f"{hdfs_directory}/{number}")
        seen.append(parse_last_txid(ask(cluster, JOURNAL_QUERY)))
    assert all(later > earlier for earlier, later in pairwise(seen))


WRITERS = 4
CHANGES = 60  # of each


def test_acknowledged_changes_are_within_the_last_txid(cluster: Cluster, hdfs_directory: str) -> None:
    """Bounded: queried after the acknowledgement, the last transaction id covers the change.

    Each writer queries after each of its changes, while the others continue; the edits show afterwards which
    transaction the change was. The number is read without a lock (FSEditLog.getLastWrittenTxIdWithoutLock), but the
    id is assigned before the change is acknowledged, and it never decreases.
    """
    before = parse_last_txid(ask(cluster, JOURNAL_QUERY))

    def write(writer: int) -> dict[str, int]:
        """Make directories; return the last transaction reported right after each one."""
        last_txids = {}
        for number in range(CHANGES):
            path = f"{hdfs_directory}/{writer}-{number}"
            status, _ = webhdfs(cluster, "PUT", path, "MKDIRS")
            assert status == 200
            last_txids[path] = parse_last_txid(ask(cluster, JOURNAL_QUERY))
        assert [*last_txids.values()] == sorted(last_txids.values())
        return last_txids

    with ThreadPoolExecutor(WRITERS) as pool:
        last_txids = {path: txid for part in pool.map(write, range(WRITERS)) for path, txid in part.items()}
    made = asyncio.run(_creations(cluster, before + 1))
    assert last_txids.keys() <= made.keys()
    assert all(made[path] <= txid for path, txid in last_txids.items())


async def _creations(cluster: Cluster, from_txid: int) -> dict[str, int]:
    """Return the transaction that created each path, from the edits."""
    rpc = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser)
    made: dict[str, int] = {}
    try:
        end = await rpc.get_current_edit_log_txid()
        while from_txid <= end:
            page = await rpc.get_edits(from_txid)
            for batch in page.batches:
                made |= {event.path: batch.txid for event in batch.events if isinstance(event, Create)}
            from_txid = page.last_txid + 1
    finally:
        await rpc.close()
    return made
