"""JournalNodes with real HTTP and fake RPC."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from aiohttp import web
from aiohttp.test_utils import TestServer

from nncache.hadoop.configured_namenodes import QuorumJournal
from nncache.hadoop.editlog.frames import Frame, Segment, read_segment
from nncache.hadoop.editlog.journalnode import (
    CacheMissError,
    EditLogManifest,
    JournaledEdits,
    JournalNodeRpc,
    JournalState,
)
from nncache.hadoop.remote_exception import RemoteException
from nncache.invalidation.journal.access import JournalAccess
from tests.hadoop.editlog.segments import LAYOUT, PADDING, frame, header

NO_SEGMENT = "No edit log found starting at txid"
MISS = RemoteException("JournaledEditsCache$CacheMissException", "", "")


def segment_file(first_txid: int, last_txid: int, body: bytes = b"") -> bytes:
    """Return a finalized segment with padding, as a writer that died leaves it."""
    frames = (frame(txid, 3, body) for txid in range(first_txid, last_txid + 1))
    return header() + b"".join(frames) + PADDING * 100


@dataclass
class FakeJournalNode:
    """A JournalNode: its segments by first transaction, its cache, and errors to answer instead."""

    files: dict[int, bytes]
    segments: tuple[Segment, ...]
    cache: dict[int, Frame] = field(default_factory=dict)
    last_txid: int = 0  # on its disk
    epoch: int = 1
    refusal: Exception | None = None  # of getEditLogManifest
    status: int = 200
    text: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)  # queries of /getJournal
    url: str = ""
    connection_id: int = 1

    async def state(self) -> JournalState:
        """Answer getJournalState."""
        return JournalState(self.epoch, self.url)

    async def manifest(self, since_txid: int) -> EditLogManifest:
        """Answer getEditLogManifest."""
        if self.refusal is not None:
            raise self.refusal
        found = tuple(each for each in self.segments if each.last_txid >= since_txid)
        return EditLogManifest(found, self.url)

    async def edits(self, since_txid: int, max_transactions: int) -> JournaledEdits:
        """Answer getJournaledEdits."""
        if since_txid > self.last_txid:
            return JournaledEdits(0, ())
        if since_txid not in self.cache:
            raise CacheMissError(MISS, address="jn", method="getJournaledEdits", user="joe")
        last_txid = min(self.last_txid, since_txid + max_transactions - 1)
        return JournaledEdits(LAYOUT, tuple(self.cache[txid] for txid in range(since_txid, last_txid + 1)))

    async def close(self) -> None:
        """Close the connection."""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer /getJournal."""
        self.asked.append(dict(request.query))
        if self.status != 200:
            return web.Response(status=self.status, text=self.text)
        file = self.files.get(int(request.query["segmentTxId"]))
        return web.Response(status=404, text=NO_SEGMENT) if file is None else web.Response(body=file)


def journalnode(*bounds: tuple[int, int], body: bytes = b"") -> FakeJournalNode:
    """Return a JournalNode with these segments, and an empty cache."""
    files = {first: segment_file(first, last, body) for first, last in bounds}
    return FakeJournalNode(files, tuple(Segment(*each) for each in bounds))


class FakeJournal:
    """A journal of three equal JournalNodes."""

    def __init__(self) -> None:
        self.nodes = tuple(journalnode() for _ in range(3))
        self._log: dict[int, bytes] = {}  # by transaction id
        self._first_txid = 1  # of the open segment
        self.end = 0

    def write(self, count: int, body: bytes = b"") -> None:
        """Write transactions."""
        for _ in range(count):
            self.end += 1
            self._log[self.end] = frame(self.end, 3, body)
            _, read = read_segment(header() + self._log[self.end])
            for node in self.nodes:
                node.cache[self.end], node.last_txid = read.frames[0], self.end

    def roll(self) -> None:
        """Finalize the open segment."""
        frames = (self._log[txid] for txid in range(self._first_txid, self.end + 1))
        file = header() + b"".join(frames)
        for node in self.nodes:
            node.files[self._first_txid] = file
            node.segments = (*node.segments, Segment(self._first_txid, self.end))
        self._first_txid = self.end + 1

    def empty_caches(self) -> None:
        """Restart the JournalNodes."""
        for node in self.nodes:
            node.cache.clear()

    def purge(self) -> None:
        """Purge all finalized segments but the last."""
        for node in self.nodes:
            node.segments = node.segments[-1:]

    def fail_over(self, *, lost: int = 0) -> None:
        """Fail over to another NameNode, which lacks the last `lost` transactions of the open segment."""
        self.end -= lost
        self.roll()
        for node in self.nodes:
            node.epoch += 1
            node.last_txid = self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class _Access(JournalAccess):
    """Connects to the fakes."""

    nodes: dict[str, JournalNodeRpc]

    def rpc(self, address: str) -> JournalNodeRpc:
        return self.nodes[address]


@asynccontextmanager
async def serving(nodes: Sequence[FakeJournalNode]) -> AsyncIterator[_Access]:
    """Serve the journal of these JournalNodes."""
    async with AsyncExitStack() as close:
        for node in nodes:
            app = web.Application()
            app.router.add_get("/getJournal", node.serve)
            server = await close.enter_async_context(TestServer(app, host="127.0.0.1"))
            node.url = f"http://127.0.0.1:{server.port}"
        names = tuple(f"jn{number}:8485" for number in range(len(nodes)))
        yield _Access(
            journal=QuorumJournal(names, "ns1"),
            nameservice="ns1",
            user="joe",
            nodes=dict(zip(names, cast("Sequence[JournalNodeRpc]", nodes), strict=True)),
        )
