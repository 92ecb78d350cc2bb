"""Calls between DataNodes, over HTTP: reads, recovery, and the chain of an upload."""

import asyncio
import contextlib
import json
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import aiohttp
import msgspec

from nncache.namenode.datanode.replicas import ReplicaInfo
from nncache.namenode.namespace.inode import Block
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.namenode import NameNodeService

PATH: Final = "/block/"
"""URL prefix of a block id."""

CRC_BYTES: Final = 4
END: Final = "end"
"""The message that ends a block in a chain; the messages before it carry a CRC and then bytes of the block."""

SILENT_S: Final = 30.0
"""Timeout after which a silent DataNode has failed."""

_AT_ONCE: Final = 256 * 1024


class PeerError(Exception):
    """No DataNode that holds the block has answered, or a DataNode has failed during its answer."""


class LinkError(Exception):
    """A DataNode of a chain has failed."""

    def __init__(self, name: str, why: object) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


class Peers:
    """Client of the other DataNodes.

    Attributes:
        silent_s: timeout for a silent DataNode.
    """

    def __init__(self, namenode: NameNodeService, datanodes: DataNodes, name: str = "") -> None:
        """Call the others on behalf of the DataNode `name`."""
        self.silent_s = SILENT_S
        self._namenode = namenode
        self._datanodes = datanodes
        self._name = name

    # ---- reads ---------------------------------------------------------------------------------------------------

    async def read(self, block: Block, begin: int, length: int) -> AsyncIterator[bytes]:
        """Yield a range of a block. If a DataNode fails, continue with the next one. Raises PeerError."""
        end = begin + length
        failed: list[str] = []
        for name in await self._holders(block):
            try:
                async for part in self._get(name, block, f"begin={begin}&length={end - begin}"):
                    yield part
                    begin += len(part)
                if begin == end:
                    return
            except PeerError as error:
                failed.append(str(error))
        raise PeerError(f"{block} is held by no DataNode that answers: {'; '.join(failed)}")

    async def crcs(self, block: Block) -> bytes:
        """Return all CRCs of a block. Raises PeerError."""
        failed: list[str] = []
        for name in await self._holders(block):
            try:
                return b"".join([part async for part in self._get(name, block, "crcs=true")])
            except PeerError as error:
                failed.append(str(error))
        raise PeerError(f"{block} is held by no DataNode that answers: {'; '.join(failed)}")

    async def _holders(self, block: Block) -> list[str]:
        """Return the other DataNodes that hold a block, those with the fewest transfers first."""
        names = [name for name in await self._namenode.holders(block) if name != self._name]
        if not all(name in self._datanodes.there for name in names):
            await self._datanodes.look()  # one may have registered since the last read
        return self._datanodes.by_transfers(names)

    async def _get(self, name: str, block: Block, query: str) -> AsyncIterator[bytes]:
        try:
            async with (
                self._session() as session,
                session.get(f"{self._url(name, block.id)}?stamp={block.stamp}&{query}") as reply,
            ):
                async for part in reply.content.iter_chunked(_AT_ONCE):
                    yield part
        except (aiohttp.ClientError, TimeoutError) as error:
            raise PeerError(f"{name}: {error!r}") from error

    # ---- recovery ------------------------------------------------------------------------------------------------

    async def stop(self, name: str, block: int) -> ReplicaInfo | None:
        """Make a DataNode stop writing a block. Return the state of its replica. Raises PeerError."""
        answer = await self._post(name, block, "op=stop")
        return None if answer is None else msgspec.convert(answer, ReplicaInfo)

    async def recover(self, name: str, block: int, stamp: int, length: int) -> None:
        """Make a DataNode truncate and finalize a replica. Return once it has acknowledged that. Raises PeerError."""
        await self._post(name, block, f"op=recover&stamp={stamp}&length={length}")

    async def _post(self, name: str, block: int, query: str) -> Any:  # noqa: ANN401 - JSON
        try:
            async with (
                self._session() as session,
                session.post(f"{self._url(name, block)}?{query}") as reply,
            ):
                return await reply.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise PeerError(f"{name}: {error!r}") from error

    # ---- chains --------------------------------------------------------------------------------------------------

    async def link(self, chain: Sequence[str], block: Block, since: int) -> "Link":
        """Open a link through a chain of DataNodes, the nearest first. Raises LinkError.

        A DataNode resumes its replica of the block if that has the stamp `since` or a later one.
        """
        name, *behind = chain
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self.silent_s):
                    has = await self._post(name, block.id, f"op=prepare&stamp={block.stamp}&since={since}")
                    session = await stack.enter_async_context(self._session())
                    url = f"{self._url(name, block.id)}?stamp={block.stamp}&since={since}&chain={','.join(behind)}"
                    socket = await session.ws_connect(url, max_msg_size=0)
            except (PeerError, aiohttp.ClientError, TimeoutError) as error:
                raise LinkError(name, repr(error)) from error
            # The next DataNode has the shorter timeout: it is the first to notice a failure after it in the chain.
            return Link(name, socket, stack.pop_all(), int(has), self.silent_s * (1.5 + len(behind)))
        raise AssertionError("the block above returns or raises")

    def _session(self) -> aiohttp.ClientSession:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=self.silent_s)
        return aiohttp.ClientSession(timeout=timeout, raise_for_status=True)

    def _url(self, name: str, block: int) -> str:
        found = self._datanodes.of([name])
        if not found:
            raise PeerError(f"{name}: it is not there")
        return f"http://{found[0]}{PATH}{block}"


class Link:
    """A connection to the next DataNode of a chain, which forwards the block's bytes to those after it.

    Attributes:
        has: number of bytes of the block that the next DataNode had when the link was opened.
    """

    def __init__(
        self,
        name: str,
        socket: aiohttp.ClientWebSocketResponse,
        stack: contextlib.AsyncExitStack,
        has: int,
        silent_s: float,
    ) -> None:
        self.has = has
        self._name = name
        self._socket = socket
        self._stack = stack
        self._silent_s = silent_s

    async def send(self, data: bytes) -> None:
        """Send the next bytes of the block. Raises LinkError, which names the failed DataNode."""
        try:
            async with asyncio.timeout(self._silent_s):
                await self._socket.send_bytes(zlib.crc32(data).to_bytes(CRC_BYTES, "big") + data)
        except (ConnectionError, TimeoutError) as error:
            raise await self._failure(error) from error

    async def finish(self) -> tuple[str, ...]:
        """End the block. Return the DataNodes that acknowledged it. Raises LinkError with the failed DataNode."""
        try:
            async with asyncio.timeout(self._silent_s):
                await self._socket.send_str(END)
                answer = await self._answer()
        except (ConnectionError, TimeoutError) as error:
            raise await self._failure(error) from error
        if "failed" in answer:
            await self.close()
            raise LinkError(answer["failed"], "it has failed")
        await self.close()
        return tuple(answer["acknowledged"])

    async def close(self) -> None:
        """Close the connection. May be called again."""
        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
            await self._stack.aclose()

    async def _failure(self, error: Exception) -> LinkError:
        """Return the error with the failed DataNode: the next one, or the one after it that it names."""
        with contextlib.suppress(ConnectionError, TimeoutError, ValueError):
            if not isinstance(error, TimeoutError):
                async with asyncio.timeout(self._silent_s):
                    answer = await self._answer()
                    await self.close()
                    return LinkError(answer.get("failed", self._name), "it has failed")
        await self.close()
        return LinkError(self._name, repr(error))

    async def _answer(self) -> dict[str, Any]:
        message = await self._socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionError("the connection has ended")
        answer: dict[str, Any] = json.loads(message.data)
        return answer
