"""Listen for clients: WebHDFS over HTTP, and Hadoop RPC."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from aiohttp import web

from nncache.hadoop.namespace import Namespace
from nncache.namenode.node.namenode import NameNodeService

_MAX_LINE: Final = 64 * 1024
_SHUTDOWN_S: Final = 0.1
_ACCEPT_ITERATIONS: Final = 3
"""Iterations of the event loop until the server owns an accepted connection."""


@contextlib.asynccontextmanager
async def listening(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], host: str, port: int
) -> AsyncIterator[str]:
    """Listen for HTTP while the block runs; yield host:port."""

    async def ask(request: web.BaseRequest) -> web.StreamResponse:
        return await answer(request)

    server = web.Server(
        ask,
        access_log=None,
        auto_decompress=False,  # a file has the bytes that were sent, whatever Content-Encoding says
        max_line_size=_MAX_LINE,
        max_field_size=_MAX_LINE,
    )
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(server, host, port)
    try:
        yield f"{host}:{listener.sockets[0].getsockname()[1]}"
    finally:
        # A listener that is closed while it accepts leaves that connection open (CPython issue 109564).
        for each in listener.sockets:
            loop.remove_reader(each.fileno())
        for _ in range(_ACCEPT_ITERATIONS):
            await asyncio.sleep(0)
        listener.close()
        server.pre_shutdown()
        await server.shutdown(_SHUTDOWN_S)


@contextlib.asynccontextmanager
async def listening_for_calls(
    namenode: NameNodeService, namespace: Namespace, host: str, port: int
) -> AsyncIterator[str]:
    """Listen for Hadoop RPC while the block runs; yield host:port."""
    writers: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The first client imports protobuf: a cluster for WebHDFS alone starts without it.
        from nncache.namenode.rpc.server import serve_connection  # noqa: PLC0415 - as above

        writers.add(writer)
        try:
            await serve_connection(reader, writer, namenode, namespace)
        finally:
            writers.discard(writer)

    server = await asyncio.start_server(serve, host, port)
    try:
        yield f"{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()
