"""Serve a DataNode's blocks to other DataNodes: reads, recovery, and the chain of an upload."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec
from aiohttp import WSMsgType, web

from nncache.coordination.errors import CoordinationError
from nncache.namenode.datanode.datanode import DataNode
from nncache.namenode.datanode.peers import CRC_BYTES, END, Link, LinkError, Peers
from nncache.namenode.datanode.replicas import CorruptReplicaError, ReplicaStoppedError, WritingReplica
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.webhdfs.parameters import parse_query

_ONE_MESSAGE: Final = 16 * 1024 * 1024
"""Maximum message of a chain, in bytes; the parts of an upload are smaller."""


class BlockHandler:
    """Answers other DataNodes, and reads blocks for clients from any DataNode."""

    def __init__(self, datanode: DataNode, peers: Peers) -> None:
        self._datanode = datanode
        self._peers = peers

    async def read(self, block: Block, begin: int, length: int) -> AsyncIterator[bytes]:
        """Yield a range of a block from the local replica; where that is corrupt or missing, from other DataNodes.

        Raises PeerError: no DataNode can serve it.
        """
        end = begin + length
        if self._datanode.holds(block):
            try:
                for part in self._datanode.read_block(block.id, begin, length):
                    yield part
                    begin += len(part)
                    await asyncio.sleep(0)  # a client as quick as the disk never makes a write wait
            except (CorruptReplicaError, OSError):
                await self._datanode.found_corrupt(block.id)
        if begin < end:
            async for part in self._peers.read(block, begin, end - begin):
                yield part

    async def answer(self, request: web.BaseRequest, spelled: str) -> web.StreamResponse:
        """Answer another DataNode."""
        if not spelled.isascii() or not spelled.isdecimal():
            return web.Response(status=404)
        number = int(spelled)
        query = {name: values[0] for name, values in parse_query(request.query_string).items()}
        try:
            if request.method == "POST":
                return await self._ordered(number, query)
            if "chain" in query:
                return await self._chain(request, number, query)
            return await self._sent(request, number, query)
        except (Refusal, CoordinationError, CorruptReplicaError, OSError) as error:
            return web.Response(status=500, text=str(error))

    async def _ordered(self, number: int, query: Mapping[str, str]) -> web.Response:
        answer: object = None
        match query["op"]:
            case "stop":
                answer = self._datanode.stop(number)
            case "recover":
                await self._datanode.recover(number, int(query["stamp"]), int(query["length"]))
            case "prepare":
                answer = self._datanode.prepare(number, int(query["stamp"]), int(query["since"]))
            case _:
                return web.Response(status=400)
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    async def _sent(
        self, request: web.BaseRequest, number: int, query: Mapping[str, str]
    ) -> web.StreamResponse:
        if not self._datanode.holds(Block(number, int(query["stamp"]))):
            return web.Response(status=404)
        if "crcs" in query:
            return web.Response(body=self._datanode.replicas.crcs(number))
        begin, length = (int(query[name]) for name in ("begin", "length"))
        response = web.StreamResponse(headers={"Content-Length": str(length)})
        await response.prepare(request)
        try:
            with self._datanode.transferring():
                for part in self._datanode.read_block(number, begin, length):
                    await response.write(part)
                    await asyncio.sleep(0)  # as in `read`
        except (CorruptReplicaError, OSError):
            await self._datanode.found_corrupt(number)
            if request.transport is not None:
                request.transport.abort()
        await response.write_eof()
        return response

    # ---- a member of a chain -------------------------------------------------------------------------------------

    async def _chain(
        self, request: web.BaseRequest, number: int, query: Mapping[str, str]
    ) -> web.StreamResponse:
        """Receive a block and forward it along the chain. Reply which DataNodes acknowledged it, or which failed."""
        socket = web.WebSocketResponse(max_msg_size=_ONE_MESSAGE, timeout=0.1)
        await socket.prepare(request)
        outcome: Mapping[str, object] = {"failed": self._datanode.name}
        link: Link | None = None
        replica: WritingReplica | None = None
        try:
            with self._datanode.transferring():
                replica = self._datanode.prepared(number, int(query["stamp"]))
                chain = [name for name in query["chain"].split(",") if name]
                if chain:
                    block = Block(number, replica.stamp)
                    link = await self._peers.link(chain, block, int(query["since"]))
                    for part in self._datanode.replicas.read_begun(number, link.has, replica.length):
                        await link.send(part)
                outcome = {"acknowledged": await self._taken(socket, replica, link)}
        except LinkError as failed:
            outcome = {"failed": failed.name}
        except (Refusal, CoordinationError, CorruptReplicaError, ReplicaStoppedError, OSError) as error:
            outcome = {"failed": self._datanode.name, "why": str(error)}
        finally:
            if replica is not None:
                self._datanode.left(replica)  # no effect once it is finished
            if link is not None:
                await link.close()
        if not socket.closed:
            await socket.send_str(json.dumps(outcome))
        await socket.close()
        return socket

    async def _taken(
        self, socket: web.WebSocketResponse, replica: WritingReplica, link: Link | None
    ) -> list[str]:
        """Write the received bytes. Return the DataNodes that acknowledged the block. Raises OSError: it broke off."""
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                data = message.data[CRC_BYTES:]
                if zlib.crc32(data).to_bytes(CRC_BYTES, "big") != message.data[:CRC_BYTES]:
                    raise OSError("what came is not what was sent")
                replica.write(data)
                if link is not None:
                    await link.send(data)
            elif message.data == END:
                behind = () if link is None else await link.finish()
                await self._datanode.finish(replica)
                return [self._datanode.name, *behind]
        raise OSError("the DataNode before it has broken off")
