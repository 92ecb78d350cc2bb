"""Connections to the NameNodes: opened, lent, kept for reuse, closed. (proxy/connections.py)

Why not aiohttp's ClientSession (looked up in aiohttp 3.14.5):
- it repeats PUT and DELETE by itself when a kept connection turns out to be dead (client.py,
  IDEMPOTENT_METHODS); a write whose outcome is unknown must never be repeated;
- it sends `URL.raw_path_qs`, which drops an empty query and a fragment and can't carry bytes that are no
  UTF-8; the request target must arrive byte for byte;
- it takes header fields as str, adds its own, and swallows interim replies (100 Continue).
What it is built of serves well: `ResponseHandler` with the C parser reads replies with flow control and
knows when a connection may be used again. It is driven here by hand.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp.client_proto import ResponseHandler
from aiohttp.http import StreamWriter

from hadoop.addresses import split_address
from hadoop.election_view import NameNode
from proxy.errors import NotSentError, OverloadedError
from proxy.limits import LimitSettings

_MAX_REPLY_LINE_BYTES = 1024 * 1024  # a Location repeats a target of up to 64 KiB, percent-encoded


class Connection:
    """One connection to a NameNode, lent for one call at a time."""

    __slots__ = ("_loop", "idle_since", "namenode", "protocol", "was_used")

    def __init__(
        self, namenode: NameNode, protocol: ResponseHandler, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.namenode = namenode
        self.protocol = protocol
        self.was_used = False  # it has served a call, so the NameNode may have closed it by now
        self.idle_since = 0.0  # local time at which it was given back
        self._loop = loop

    @property
    def is_usable(self) -> bool:
        """Whether another call may be sent on it, as far as can be seen from here."""
        return self.protocol.is_connected() and not self.protocol.should_close

    def expect_reply(self, method: str) -> None:
        """Get ready to read the reply to a call of that method."""
        self.protocol.set_response_params(
            skip_payload=method == "HEAD",
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=_MAX_REPLY_LINE_BYTES,
            max_field_size=_MAX_REPLY_LINE_BYTES,
            max_headers=1024,
        )

    def send_head(self, head: bytes) -> None:
        """Write a request's head.

        Raises:
            ConnectionResetError: the connection is gone; nothing was sent.
        """
        transport = self.protocol.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the connection to the NameNode is gone")
        transport.write(head)

    def body_writer(self, *, chunked: bool) -> StreamWriter:
        """Return what writes the request's body, with back-pressure."""
        writer = StreamWriter(self.protocol, self._loop)
        if chunked:
            writer.enable_chunking()
        return writer

    def abort(self) -> None:
        """End the connection now."""
        self.protocol.abort()


@dataclass(slots=True)
class _Lane:
    """The connections to one NameNode."""

    free: asyncio.Semaphore  # permits for connections in use
    idle: list[Connection]  # the one that was given back last at the end
    in_use: int = 0


@dataclass(frozen=True, slots=True)
class ConnectionCounts:
    """How many connections to NameNodes are open."""

    in_use: int
    idle: int
    opened: int


class Connections:
    """Lends connections, at most `upstream_connections` for each NameNode.

    Invariants:
        I1  For each NameNode, in use + idle <= upstream_connections.
        I2  A connection is lent to one call at a time, and comes back only with nothing left unread.
    """

    def __init__(self, limits: LimitSettings, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._lanes: dict[NameNode, _Lane] = {}
        self._opened = 0

    async def acquire(self, namenode: NameNode, *, fresh: bool) -> Connection:
        """Lend a connection; every one lent comes back through `release`.

        Args:
            namenode: whom to connect to.
            fresh: open a new one. For writes: a kept connection may have been closed by the NameNode a moment
                ago, and whether the call was read before that could not be told.

        Raises:
            NotSentError: the NameNode can't be connected to.
            OverloadedError: none became free in time.
        """
        lane = self._lane(namenode)
        if lane.free.locked():
            await self._wait_for_permit(lane, namenode)
        else:
            await lane.free.acquire()
        lane.in_use += 1
        try:
            kept = None if fresh else self._pop_idle(lane)
            return kept if kept is not None else await self._open(namenode, lane)
        except BaseException:
            self._give_permit_back(lane)
            raise

    def release(self, connection: Connection, *, reusable: bool) -> None:
        """Take a lent connection back; keep it if it may serve another call."""
        lane = self._lane(connection.namenode)
        self._give_permit_back(lane)
        if reusable and connection.is_usable and self._limits.upstream_idle_s > 0:
            connection.was_used = True
            connection.idle_since = self._clock()
            lane.idle.append(connection)
            self._prune(lane)
        else:
            connection.abort()

    def close(self) -> None:
        """End the idle connections."""
        for lane in self._lanes.values():
            while lane.idle:
                lane.idle.pop().abort()

    def counts(self) -> ConnectionCounts:
        """Return how many are open."""
        lanes = self._lanes.values()
        return ConnectionCounts(
            in_use=sum(lane.in_use for lane in lanes),
            idle=sum(len(lane.idle) for lane in lanes),
            opened=self._opened,
        )

    def _lane(self, namenode: NameNode) -> _Lane:
        lane = self._lanes.get(namenode)
        if lane is None:
            lane = self._lanes[namenode] = _Lane(asyncio.Semaphore(self._limits.upstream_connections), [])
        return lane

    async def _wait_for_permit(self, lane: _Lane, namenode: NameNode) -> None:
        try:
            async with asyncio.timeout(self._limits.upstream_timeout_s):
                await lane.free.acquire()
        except TimeoutError:
            raise OverloadedError(f"no connection to {namenode.http} became free in time") from None

    def _give_permit_back(self, lane: _Lane) -> None:
        lane.in_use -= 1
        lane.free.release()

    def _pop_idle(self, lane: _Lane) -> Connection | None:
        self._prune(lane)
        while lane.idle:
            connection = lane.idle.pop()
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    def _prune(self, lane: _Lane) -> None:
        too_old = self._clock() - self._limits.upstream_idle_s
        keep = self._limits.upstream_connections - lane.in_use
        while lane.idle and (len(lane.idle) > keep or lane.idle[0].idle_since <= too_old):
            lane.idle.pop(0).abort()

    async def _open(self, namenode: NameNode, lane: _Lane) -> Connection:
        self._prune(lane)
        host, port = split_address(namenode.http)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._limits.upstream_connect_timeout_s):
                _, protocol = await loop.create_connection(lambda: ResponseHandler(loop), host, port)
        except (OSError, TimeoutError) as exc:
            raise NotSentError(
                f"NameNode {namenode.http} can't be connected to: {str(exc) or 'timed out'}"
            ) from exc
        self._opened += 1
        return Connection(namenode, protocol, loop)
