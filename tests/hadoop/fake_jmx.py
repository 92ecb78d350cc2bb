"""The HTTP port of a NameNode, with the queries of the pool."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.jmx import BLOCK_POOL_QUERY, CLUSTER_QUERY, JOURNAL_QUERY, STARTED_QUERY, STATUS_QUERY
from nncache.hadoop.namespace import Namespace
from tests.patience import HANG_S

NAMESPACE = Namespace("CID-1", "BP-1-127.0.0.1-1")


@dataclass(slots=True)
class FakeJmx:
    """The state that this NameNode reports; change it at any time."""

    state: str = "active"
    started_ms: int = 1
    transition_ms: int = 0
    last_txid: int = 100
    namespace: Namespace = NAMESPACE
    allows_anonymous: bool = True  # hadoop.http.authentication.simple.anonymous.allowed
    status: int = 200
    leads_to: str = ""  # "host:port", the target of a redirect
    odd: set[str] = field(default_factory=set)  # queries answered with another release's bean
    hung: set[str] = field(default_factory=set)  # queries without an answer
    after: Callable[[str], None] | None = None  # called after each answer, with the query
    queries: list[str] = field(default_factory=list)
    is_hung: bool = False
    namenode: NameNode = field(default=NameNode("", ""))
    asked: int = 0  # how often it was asked for its state
    runner: web.AppRunner | None = None
    tls: ssl.SSLContext | None = None  # to serve HTTPS
    over: asyncio.Event = field(default_factory=asyncio.Event)  # releases the hung queries
    asked_again: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until_asked(self, times: int = 1) -> None:
        """Return after this number of further queries."""
        goal = self.asked + times
        async with asyncio.timeout(HANG_S), self.asked_again:
            await self.asked_again.wait_for(lambda: self.asked >= goal)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a query."""
        query, _, user = request.raw_path.partition("&user.name=")
        if not user and not self.allows_anonymous:
            return web.Response(status=401, headers={"WWW-Authenticate": "PseudoAuth"})
        self.queries.append(query)
        bean = {"Other": 1} if query in self.odd else self._bean(query)
        async with self.asked_again:
            self.asked += query == STATUS_QUERY or self.is_hung or self.status != 200
            self.asked_again.notify_all()
        if self.is_hung or query in self.hung:
            await self.over.wait()
        if self.after is not None:
            self.after(query)
        headers = {"Location": f"http://{self.leads_to}{request.raw_path}"} if self.leads_to else None
        return web.json_response({"beans": [bean]}, status=self.status, headers=headers)

    def _bean(self, query: str) -> dict[str, object]:
        journal = {"LastAppliedOrWrittenTxId": str(self.last_txid), "MostRecentCheckpointTxId": "0"}
        beans: dict[str, dict[str, object]] = {
            STATUS_QUERY: {"State": self.state, "LastHATransitionTime": self.transition_ms},
            STARTED_QUERY: {"NNStartedTimeInMillis": self.started_ms},
            JOURNAL_QUERY: {"JournalTransactionInfo": json.dumps(journal)},
            BLOCK_POOL_QUERY: {"BlockPoolId": self.namespace.block_pool},
            CLUSTER_QUERY: {"ClusterId": self.namespace.cluster_id},
        }
        return beans[query]

    async def start(self) -> None:
        """Listen on a free port of loopback; after `end`, on the same port."""
        self.over.clear()
        app = web.Application()
        app.router.add_get("/jmx", self.answer)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self.runner.setup()
        port = int(self.namenode.http.rpartition(":")[2] or 0)
        await web.TCPSite(self.runner, "127.0.0.1", port, ssl_context=self.tls).start()
        address = f"127.0.0.1:{self.runner.addresses[0][1]}"
        self.namenode = NameNode(address, address)

    async def end(self) -> None:
        """Stop listening, and cut all connections."""
        self.over.set()
        if self.runner is not None:
            await self.runner.cleanup()
            self.runner = None


@asynccontextmanager
async def fake_jmx(fake: FakeJmx | None = None) -> AsyncIterator[FakeJmx]:
    """Run the fake during the block."""
    fake = fake or FakeJmx()
    await fake.start()
    try:
        yield fake
    finally:
        await fake.end()
