"""Stopping a server closes all connections that it has accepted."""

import asyncio
import socket

import pytest
from aiohttp import web

from nncache.namenode.listening import listening
from tests.patience import HANG_S


@pytest.mark.parametrize("iterations", range(6))
async def test_no_connection_outlives_its_server(iterations: int) -> None:
    """Whatever step asyncio has reached, each connection is closed or was never accepted."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        raise AssertionError(request)

    with socket.socket() as client:
        async with listening(answer, "127.0.0.1", 0) as address:
            host, _, port = address.partition(":")
            client.connect((host, int(port)))
            client.setblocking(False)
            for _ in range(iterations):
                await asyncio.sleep(0)
        try:
            async with asyncio.timeout(HANG_S):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
        except ConnectionResetError:
            pass
