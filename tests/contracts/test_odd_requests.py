"""Odd requests to a real NameNode.

It parses them as `nncache.hadoop.calls` does, and changes no more than `nncache.hadoop.effects` says.
"""

import asyncio
import uuid

import pytest

from nncache.hadoop.calls import PREFIX, parse_call
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.effects import ExistingPath, effects_of_call, outcome_of
from nncache.hadoop.events import Event
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.hadoop.footprints import stale
from tests.hadoop.test_paths import SPELLINGS

DEADLINE_S = 30.0

# "@" is the service's prefix, "$" a directory of this test. Each request depends on the effects of those before it.
REQUESTS = """
PUT @$/d?op=MKDIRS
PUT @$/d/s?op=MKDIRS
put @$/odd?op=MKDIRS
PUT @$/e1?OP=mkdirs
PUT @$/e2?op=MKDIRS&op=DELETE
PUT @$/e3?op=DELETE&op=MKDIRS
PUT @$/e4?OP=MKDIRS&op=CREATE
PUT @$/e5?%6fp=%4dKDIRS
PUT @$/e6?op=MKD%C4%B1RS
PUT @$/e7?op=MKDIR%C5%BF
PUT @$/e8?op=+MKDIRS
PUT @$/e9?op=MKDIRS;x=y
PUT @$/f1?a=b;op=MKDIRS
PUT @$/f2?&&op=MKDIRS&&
PUT @$/f3?op=MKDIRS?x=1
PUT @$/f4?op==MKDIRS
PUT @$/f5?op=MKDIRS&bad=%zz
PUT @$/f6#frag?op=MKDIRS
PUT @$/f7?op=MKDIRS#frag
PUT http://other:1@$/g1?op=MKDIRS
PUT @$/g2;a=b?op=MKDIRS
PUT @$/g3/../g4?op=MKDIRS
PUT @$/g5/%2e%2e/g6?op=MKDIRS
PUT @$/g7/..;/g8?op=MKDIRS
PUT @$/%ff?op=MKDIRS
PUT @$/g9/?op=MKDIRS
PUT @$//h1?op=MKDIRS
PUT @$%2Fh2?op=MKDIRS
PUT @$/h3+y?op=MKDIRS
PUT @$/h4%25y?op=MKDIRS
PUT @$/h5[x]?op=MKDIRS
PUT @$/h6%2?op=MKDIRS
PUT @$/h7%u0041?op=MKDIRS
PUT @/.reserved/raw$/h8?op=MKDIRS
PUT @$/d/s?op=RENAME&destination=$/d/t
PUT @$/d/t?op=RENAME&destination=rel
PUT @$/d/t?op=RENAME&destination=/$/d/u
PUT @$/d/t?op=RENAME&destination=$//d/u/
PUT @$/d/u?op=RENAME&destination=$/d/../d/v
PUT @$/d/v?op=RENAME&destination=$/d/./w
PUT @$/d/w?op=RENAME&destination=$/d/x&destination=$/d/y
PUT @$/d/x?op=RENAME&destination=$/e2
PUT @$/e2/x?op=RENAME&DESTINATION=$/d/x
PUT @$/d/x?op=RENAME&destination=$/d/a+b%252F
PUT @$/d?op=RENAME&destination=$/d
PUT @$/d?op=RENAME&destination=/.reserved/raw$/dd
PUT @$/dd?op=RENAME&destination=$/d&renameoptions=OVERWRITE
PUT @$/none?op=RENAME&destination=$/none2
PUT @$/d?op=SETXATTR&xattr.name=user.a&xattr.value=0x01&flag=CREATE
PUT @$/d?op=SETXATTR&xattr.name=trusted.b&xattr.value=0x01&flag=CREATE
PUT @/.reserved/raw$/d?op=SETXATTR&xattr.name=raw.c&xattr.value=0x01&flag=CREATE
PUT @$/d?op=SETXATTR&xattr.name=user.d&xattr.name=raw.e&xattr.value=0x01&flag=CREATE
PUT @$/d?op=REMOVEXATTR&xattr.name=user.a
PUT @$/d?op=SETPERMISSION&permission=701
PUT @$/d?op=SETOWNER&owner=bob
PUT @$/d?op=SETACL&aclspec=user::rwx,group::r-x,other::---,user:bob:r-x
PUT @$/d?op=REMOVEACL
PUT @$/d?op=SETTIMES&modificationtime=5
PUT @$/d?op=SETECPOLICY&ecpolicy=RS-6-3-1024k
POST @$/d?op=UNSETECPOLICY
PUT @$/d?op=SETSTORAGEPOLICY&storagepolicy=COLD
PUT @$/d?op=SETQUOTA&namespacequota=2
PUT @$/d/q1/q2/q3?op=MKDIRS
PUT @$/c?op=CREATE
PUT @$/c?op=CREATE&noredirect=true
PUT @$/l?op=CREATESYMLINK&destination=$/d
POST @$/none?op=APPEND
POST @$/d?op=CONCAT&sources=$/d/a,$/d/b
POST @$/d?op=DELETE
DELETE @$/f2?op=DELETE
DELETE @$/none?op=DELETE&recursive=true
PATCH @$/e2?op=DELETE
PUT @$/e2
PUT @$/e2?op=
DELETE @$/d?op=DELETE&recursive=true
"""


class Asker:
    """Sends raw requests to the NameNode and reads the events that they cause."""

    def __init__(self, cluster: Cluster) -> None:
        self._http = cluster.namenodes[0].http
        self._user = cluster.superuser
        self._rpc = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser)

    def target(self, target: str) -> str:
        """Add the superuser as the caller, so that no request fails for lack of permission."""
        return f"{target}{'&' if '?' in target else '?'}user.name={self._user}"

    async def send(self, method: str, target: str) -> tuple[int, bytes]:
        """Send a request with its target byte for byte; return status and body."""
        host, _, port = self._http.rpartition(":")
        async with asyncio.timeout(DEADLINE_S):
            reader, writer = await asyncio.open_connection(host, int(port))
            head = f"{method} {target} HTTP/1.0\r\nContent-Length: 0\r\n\r\n"
            writer.write(head.encode())
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        head_bytes, _, body = answer.partition(b"\r\n\r\n")
        return int(head_bytes.split()[1]), body

    async def events_of(self, method: str, target: str) -> tuple[int, bytes, list[Event]]:
        """Send a request; return status, body and the events of all its transactions, synced or not at the reply."""
        first = await self._rpc.get_current_edit_log_txid() + 1
        status, body = await self.send(method, target)
        last = await self._rpc.get_current_edit_log_txid()
        events: list[Event] = []
        async with asyncio.timeout(DEADLINE_S):
            while first <= last:
                page = await self._rpc.get_edits(first)
                events += (event for batch in page.batches for event in batch.events)
                first = max(first, page.last_txid + 1)
        return status, body, events

    async def close(self) -> None:
        """Close the RPC connection."""
        await self._rpc.close()


async def test_no_request_changes_more_than_is_forgotten_for_it(cluster: Cluster) -> None:
    """OwnWrites against the real events: a misparsed call would fail here."""
    directory = f"/t{uuid.uuid4().hex[:12]}"
    asker = Asker(cluster)
    existing = ExistingPath(topmost_missing=directory + "/d/q1")
    seen = 0
    try:
        await asyncio.to_thread(make_directory, cluster, directory)
        for request in REQUESTS.split("\n")[1:-1]:
            method, _, target = request.partition(" ")
            spelled = asker.target(target.replace("@", PREFIX).replace("$", directory))
            status, body, events = await asker.events_of(method, spelled)
            call = parse_call(method, spelled)
            effects = effects_of_call(call, outcome_of(call, status, body), existing)
            forgotten = stale(effects.changes)
            for event in events:
                made = stale(changes_of_event(event))
                is_forgotten = not effects.is_complete or forgotten.covers(made)
                assert is_forgotten, (request, status, body, str(made), str(forgotten))
            seen += len(events)
    finally:
        await asker.send("DELETE", asker.target(f"{PREFIX}{directory}?op=DELETE&recursive=true"))
        await asker.close()
    assert seen > 30  # the NameNode executes many of the requests


@pytest.mark.parametrize(("raw", "as_requested"), SPELLINGS)
async def test_a_spelling_is_quoted_as_it_is_decoded_here(
    cluster: Cluster, raw: str, as_requested: str
) -> None:
    """Verbatim: a cached 404 equals the NameNode's bytes for every spelling (except paths that are never cached)."""
    asker = Asker(cluster)
    place = uuid.uuid4().hex
    try:
        status, body = await asker.send("GET", asker.target(f"{PREFIX}/{place}{raw}?op=GETFILESTATUS"))
    finally:
        await asker.close()
    assert status == 404
    assert body == render_missing(f"/{place}{as_requested if raw else ''}")
