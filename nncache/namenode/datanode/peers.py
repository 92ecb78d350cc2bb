"""Blocks that other DataNodes hold: asked over HTTP, since a file may lie at several (CONCAT, or an append)."""

from collections.abc import AsyncIterator
from typing import Final

import aiohttp

from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.namenode import NameNode

PATH: Final = "/block/"
"""Before the id of the block that is asked for; `begin` and `length`, or `crcs`, say what of it."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=30.0)
_AT_ONCE: Final = 256 * 1024


class PeerError(Exception):
    """No DataNode that holds the block has answered, or one has broken off."""


class Peers:
    """Asks the other DataNodes."""

    def __init__(self, namenode: NameNode, datanodes: DataNodes) -> None:
        self._namenode = namenode
        self._datanodes = datanodes

    async def read(self, block: int, begin: int, length: int) -> AsyncIterator[bytes]:
        """Yield a part of a block. Raises PeerError."""
        async for part in self._ask(block, f"begin={begin}&length={length}"):
            yield part

    async def crcs(self, block: int) -> bytes:
        """Return all CRCs of a block. Raises PeerError."""
        return b"".join([part async for part in self._ask(block, "crcs=true")])

    async def _ask(self, block: int, query: str) -> AsyncIterator[bytes]:
        try:
            address = await self._datanodes.for_reading(await self._namenode.holders(block))
            url = f"http://{address}{PATH}{block}?{query}"
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT, raise_for_status=True) as session,
                session.get(url) as reply,
            ):
                async for part in reply.content.iter_chunked(_AT_ONCE):
                    yield part
        except (aiohttp.ClientError, TimeoutError, Refusal) as error:
            raise PeerError(f"block {block} is held by no DataNode that answers: {error}") from error
