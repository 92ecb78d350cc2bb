"""A NameNode's HTTP server with the calls that the pool and forwarding need, but without RPC and edits."""

import asyncio
import json
from typing import Self

from aiohttp import web

from nncache.hadoop.jmx import STARTED_QUERY


class FakeNameNode:
    """An active NameNode without HA. A call for a path that ends in `slow` waits for `may_answer`."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.traceparents: list[str | None] = []  # of the calls
        self.asked_slowly = asyncio.Event()
        self.may_answer = asyncio.Event()
        self._runner = web.ServerRunner(web.Server(self._answer))
        self.http = ""

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.http = "127.0.0.1:{1}".format(*self._runner.addresses[0])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/jmx":
            return web.json_response({"beans": [_bean(request.raw_path.partition("&user.name=")[0])]})
        self.calls.append(request.raw_path)
        self.traceparents.append(request.headers.get("traceparent"))
        if request.path.endswith("slow"):
            self.asked_slowly.set()
            await self.may_answer.wait()
        body = json.dumps({"Path": request.raw_path})
        return web.Response(text=body, content_type="application/json")


def _bean(query: str) -> dict[str, object]:
    if query == STARTED_QUERY:
        return {"NNStartedTimeInMillis": 1}
    return {"State": "active", "LastHATransitionTime": 0}
