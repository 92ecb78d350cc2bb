"""The HTTP port of a NameNode, as far as the pool asks it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from hadoop.election_view import NameNode


@dataclass(slots=True)
class FakeJmx:
    """What this NameNode says of itself; change it at any time."""

    state: str = "active"
    started_ms: int = 1
    transition_ms: int = 0
    status: int = 200
    is_hung: bool = False
    namenode: NameNode = field(default=NameNode("", ""))
    asked: int = 0  # how often it was asked for its state
    runner: web.AppRunner | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)  # lets go those who hang
    asked_again: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until_asked(self, times: int = 1) -> None:
        """Return when it has been asked so many times more."""
        goal = self.asked + times
        async with asyncio.timeout(5), self.asked_again:
            await self.asked_again.wait_for(lambda: self.asked >= goal)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one of the two queries."""
        is_status = "NameNodeStatus" in request.query_string
        if is_status:
            bean: dict[str, object] = {"State": self.state, "LastHATransitionTime": self.transition_ms}
        else:
            bean = {"NNStartedTimeInMillis": self.started_ms}
        async with self.asked_again:
            self.asked += is_status or self.is_hung or self.status != 200
            self.asked_again.notify_all()
        if self.is_hung:
            await self.over.wait()
        return web.json_response({"beans": [bean]}, status=self.status)

    async def start(self) -> None:
        """Listen on a free port of loopback; after an end on the same one."""
        self.over.clear()
        app = web.Application()
        app.router.add_get("/jmx", self.answer)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self.runner.setup()
        port = int(self.namenode.http.rpartition(":")[2] or 0)
        await web.TCPSite(self.runner, "127.0.0.1", port).start()
        address = f"127.0.0.1:{self.runner.addresses[0][1]}"
        self.namenode = NameNode(address, address)

    async def end(self) -> None:
        """Listen no more, and cut all connections."""
        self.over.set()
        if self.runner is not None:
            await self.runner.cleanup()
            self.runner = None


@asynccontextmanager
async def fake_jmx(fake: FakeJmx | None = None) -> AsyncIterator[FakeJmx]:
    """Run it for a while."""
    fake = fake or FakeJmx()
    await fake.start()
    try:
        yield fake
    finally:
        await fake.end()
