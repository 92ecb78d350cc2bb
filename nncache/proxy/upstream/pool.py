"""The pool of connections to NameNodes. docs/decisions/0029 says why nncache has its own."""

import asyncio
import logging
import operator
import ssl
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.net.addresses import split_address
from nncache.net.common_timeout import CommonTimeout
from nncache.net.shares import Shares, holder_of
from nncache.net.tls_failure import why_no_tls
from nncache.proxy.errors import NotSentError, OverloadedError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import CallEnded, CallSent, RequestHead
from nncache.proxy.upstream.namenode_protocol import NameNodeProtocol

_log = logging.getLogger(__name__)

REPLY_PATIENCE_S: Final = 1.0
"""Timeout of a direct exchange in seconds; an ordinary call then waits for the reply, with failover."""

CLIENT_PATIENCE_S: Final = 1.0
"""How long a connection may wait for its client while other calls wait for a connection, in seconds."""


class Permits:
    """Lends permits. Waiting holders take turns; each holder's calls are served in order.

    Invariants:
        P1  At most `limit` permits are lent, to each holder at most its share (`nncache.net.shares`).
        P2  While a permit is free, every waiting holder has used up its share.
        P3  A holder is listed as waiting only while calls of it wait.
    """

    def __init__(self, limit: int) -> None:
        self._shares = Shares(limit)
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # by holder, next first

    @property
    def in_use(self) -> int:
        """Number of permits lent."""
        return self._shares.in_use

    @property
    def waiting(self) -> int:
        """Number of waiting calls."""
        return sum(map(len, self._waiting.values()))

    def held(self, holder: str) -> int:
        """Return the number of permits lent to the holder."""
        return self._shares.held(holder)

    def fewest_held(self) -> int | None:
        """Return the smallest number of permits that a waiting holder has; None: no holder waits."""
        return min(map(self._shares.held, self._waiting), default=None)

    def take(self, holder: str) -> bool:
        """Take a permit without waiting; False: the holder must wait."""
        return holder not in self._waiting and self._shares.take(holder)

    async def wait(self, holder: str) -> None:
        """Wait for a permit in turn."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(holder, deque()).append(future)
        try:
            await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.give_back(holder)  # it was lent in the same iteration of the loop
            else:
                self._leave(holder, future)
            raise

    def give_back(self, holder: str) -> None:
        """Return a permit, and lend free permits to waiting holders in turn.

        Costs at most one check of each waiting holder that has used up its share.
        """
        self._shares.give_back(holder)
        looks = len(self._waiting)
        while looks and not self._shares.is_exhausted:
            looks -= 1
            next_holder, calls = next(iter(self._waiting.items()))
            while calls and calls[0].done():  # cancelled in this iteration of the loop
                calls.popleft()
            if not calls:
                del self._waiting[next_holder]
                continue
            self._waiting.move_to_end(next_holder)
            if self._shares.take(next_holder):
                calls.popleft().set_result(None)
                if not calls:
                    del self._waiting[next_holder]

    def _leave(self, holder: str, future: asyncio.Future[None]) -> None:
        calls = self._waiting.get(holder)
        if calls is None or future not in calls:
            return  # skipped, since it was cancelled
        calls.remove(future)
        if not calls:
            del self._waiting[holder]


class Connection:
    """One connection to a NameNode, lent for one call at a time.

    Attributes:
        holder: the client whose share it uses (`nncache.net.shares.holder_of`); "" while it is idle.
        call_ended: called when it is given back; None: its call is not followed.
    """

    __slots__ = (
        "_clock",
        "_waits",
        "call_ended",
        "holder",
        "idle_since",
        "loop",
        "namenode",
        "protocol",
    )

    def __init__(
        self,
        namenode: NameNode,
        protocol: NameNodeProtocol,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float],
    ) -> None:
        self.namenode = namenode
        self.protocol = protocol
        self.idle_since = 0.0  # local time at which it was given back
        self.holder = ""
        self.call_ended: CallEnded | None = None
        self._clock = clock
        self._waits: dict[Callable[[], None], float] = {}  # start of each wait, by what cuts the client
        self.loop = loop

    def send_head(self, head: bytes) -> None:
        """Write a request's head.

        Raises:
            ConnectionResetError: the connection is lost; nothing was sent.
        """
        transport = self.protocol.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the connection to the NameNode is gone")
        transport.write(head)

    async def write_body(self, part: bytes, *, chunked: bool) -> None:
        """Write a part of a request's body, with back-pressure; a chunked body ends with the part b"".

        Raises:
            ConnectionResetError: the connection is lost.
        """
        await self.protocol.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)

    @contextmanager
    def waiting_for_client(self, cut: Callable[[], None], spent_s: float = 0.0) -> Iterator[None]:
        """Mark that the connection waits for its client to send or read.

        While other calls wait for a connection, `cut` is called after `CLIENT_PATIENCE_S`, at most once. `spent_s` of
        that time have passed already, so that an occasional byte does not restart the timeout.
        """
        self._waits[cut] = self._clock() - spent_s
        try:
            yield
        finally:
            self._waits.pop(cut, None)

    def has_waited_for_client(self, now: float) -> float:
        """Return for how many seconds the connection has waited for its client."""
        return now - min(self._waits.values(), default=now)

    def cut_client(self) -> None:
        """Cut the client that the connection waits for."""
        waits, self._waits = self._waits, {}
        if waits:
            min(waits, key=lambda cut: waits[cut])()

    def abort(self) -> None:
        """Abort the connection."""
        self.protocol.abort()


@dataclass(slots=True, eq=False)
class _Lane:
    """The connections to one NameNode."""

    namenode: NameNode
    address: tuple[str, int]  # of its web server
    permits: Permits  # for connections in use
    idle: list[Connection] = field(default_factory=list)  # the most recently used one last
    lent: set[Connection] = field(default_factory=set)
    relief: asyncio.TimerHandle | None = None  # set while calls wait
    distrusted: str = ""  # the logged message, if TLS to the NameNode fails

    def stop_relief(self) -> None:
        """Stop the relief timer."""
        if self.relief is not None:
            self.relief.cancel()
            self.relief = None


@dataclass(frozen=True, slots=True)
class ConnectionCounts:
    """Open connections to NameNodes, calls that wait for one, and clients that were cut since start."""

    in_use: int
    idle: int
    waiting: int
    clients_cut: int


class ConnectionPool:
    """Lends connections, at most `upstream_connections` for each NameNode, and a share for each client address.

    Attributes:
        late: the timeout of `REPLY_PATIENCE_S` of direct exchanges.
        call_sent: called with each call that is followed; None: none is.

    Invariants:
        I1  For each NameNode, in use + idle <= upstream_connections.
        I2  A connection is lent to one call at a time, and is reused only if no bytes are left unread.
        I3  While a call waits for a connection, no lent connection waits for its client much longer than
            `CLIENT_PATIENCE_S`, unless that client's address holds fewer connections than each waiting address.
    """

    def __init__(self, limits: LimitSettings, clock: Callable[[], float], web: NameNodeWeb = PLAIN) -> None:
        """Create an empty pool; `web` says how NameNodes are reached."""
        self._limits = limits
        self._web = web
        self._clock = clock
        self.late = CommonTimeout[Callable[[], None]](REPLY_PATIENCE_S, operator.call)
        self.call_sent: CallSent | None = None
        self._lanes: dict[NameNode, _Lane] = {}
        self._lane_asked_last: _Lane | None = None
        self._clients_cut = 0

    async def acquire(self, namenode: NameNode, *, fresh: bool, peer: str = "") -> Connection:
        """Lend a connection, which the caller returns with `release`.

        Args:
            namenode: the NameNode to connect to.
            fresh: open a new connection, for writes: the NameNode may have just closed an idle one, and then it
                is not known whether it has read the call.
            peer: the address of the client.

        Raises:
            NotSentError: no connection to the NameNode could be opened.
            OverloadedError: no connection became free in time.
        """
        lane, holder = self._lane(namenode), holder_of(peer)
        if not lane.permits.take(holder):
            await self._wait_for_permit(lane, namenode, holder)
        try:
            kept = None if fresh else self._pop_idle(lane)
            connection = kept if kept is not None else await self._open(namenode, lane)
        except BaseException:
            lane.permits.give_back(holder)
            raise
        return self._lend(lane, connection, holder)

    def acquire_kept(self, namenode: NameNode, holder: str) -> Connection | None:
        """Lend an idle connection; None: there is none, or the holder must wait for a permit."""
        lane = self._lane(namenode)
        if not lane.idle or not lane.permits.take(holder):
            return None
        connection = self._pop_idle(lane)
        if connection is None:
            lane.permits.give_back(holder)
            return None
        return self._lend(lane, connection, holder)

    def _lend(self, lane: _Lane, connection: Connection, holder: str) -> Connection:
        connection.holder = holder
        lane.lent.add(connection)
        return connection

    def sent(self, connection: Connection, head: RequestHead) -> None:
        """Report a client's call that was sent on a connection."""
        if self.call_sent is not None:
            connection.call_ended = self.call_sent(head, connection.namenode)

    def release(
        self, connection: Connection, *, reusable: bool, status: int = 0, error: BaseException | None = None
    ) -> None:
        """Take a lent connection back, for reuse if possible; `status` and `error` are passed to `CallEnded`."""
        if (call_ended := connection.call_ended) is not None:
            connection.call_ended = None
            call_ended(status, error)
        lane = self._lane(connection.namenode)
        lane.lent.remove(connection)
        lane.permits.give_back(connection.holder)
        connection.holder = ""
        if reusable and connection.protocol.is_reusable and self._limits.upstream_idle_s > 0:
            connection.idle_since = now = self._clock()
            lane.idle.append(connection)
            if lane.permits.in_use + len(lane.idle) > self._limits.upstream_connections:
                self._prune(lane, now)
        else:
            connection.abort()

    def relieve(self, namenode: NameNode) -> None:
        """Cut clients that connections wait for, while calls wait; addresses with the most connections first.

        Repeats itself while calls wait. Costs one check of each lent connection.
        """
        lane = self._lane(namenode)
        lane.stop_relief()
        fewest = lane.permits.fewest_held()
        if fewest is None:
            return
        now = self._clock()
        late = [
            connection
            for connection in lane.lent
            if connection.has_waited_for_client(now) >= CLIENT_PATIENCE_S
            and lane.permits.held(connection.holder) >= fewest
        ]
        late.sort(key=lambda each: (lane.permits.held(each.holder), each.has_waited_for_client(now)))
        for connection in late[-lane.permits.waiting :]:
            self._clients_cut += 1
            connection.cut_client()
        self._relieve_soon(lane)

    def close(self) -> None:
        """Close the idle connections."""
        self.late.close()
        for lane in self._lanes.values():
            while lane.idle:
                lane.idle.pop().abort()
            lane.stop_relief()

    def counts(self) -> ConnectionCounts:
        """Return the present counts."""
        lanes = self._lanes.values()
        return ConnectionCounts(
            in_use=sum(lane.permits.in_use for lane in lanes),
            idle=sum(len(lane.idle) for lane in lanes),
            waiting=sum(lane.permits.waiting for lane in lanes),
            clients_cut=self._clients_cut,
        )

    def _lane(self, namenode: NameNode) -> _Lane:
        lane = self._lane_asked_last  # nearly always the active NameNode's; a lookup hashes two strings
        if lane is None or lane.namenode is not namenode:
            lane = self._lanes.get(namenode)
            if lane is None:
                permits = Permits(self._limits.upstream_connections)
                lane = self._lanes[namenode] = _Lane(namenode, split_address(namenode.http), permits)
            self._lane_asked_last = lane
        return lane

    async def _wait_for_permit(self, lane: _Lane, namenode: NameNode, holder: str) -> None:
        self._relieve_soon(lane)
        try:
            async with asyncio.timeout(self._limits.upstream_timeout_s):
                await lane.permits.wait(holder)
        except TimeoutError:
            raise OverloadedError(f"no connection to {namenode.http} became free in time") from None

    def _relieve_soon(self, lane: _Lane) -> None:
        if lane.relief is None:
            loop = asyncio.get_running_loop()
            lane.relief = loop.call_later(CLIENT_PATIENCE_S, self.relieve, lane.namenode)

    def _pop_idle(self, lane: _Lane) -> Connection | None:
        now = self._clock()
        if lane.idle and lane.idle[0].idle_since <= now - self._limits.upstream_idle_s:
            self._prune(lane, now)
        while lane.idle:
            connection = lane.idle.pop()
            if connection.protocol.is_reusable:
                return connection
            connection.abort()
        return None

    def _prune(self, lane: _Lane, now: float) -> None:
        too_old = now - self._limits.upstream_idle_s
        keep = self._limits.upstream_connections - lane.permits.in_use
        while lane.idle and (len(lane.idle) > keep or lane.idle[0].idle_since <= too_old):
            lane.idle.pop(0).abort()

    async def _open(self, namenode: NameNode, lane: _Lane) -> Connection:
        self._prune(lane, self._clock())
        loop = asyncio.get_running_loop()
        context, host = self._web.context, lane.address[0]
        try:
            async with asyncio.timeout(self._limits.upstream_connect_timeout_s):  # the handshake included
                _, protocol = await loop.create_connection(
                    lambda: NameNodeProtocol(loop),
                    *lane.address,
                    ssl=context,
                    server_hostname=None if context is None else host,
                )
        except ssl.SSLError as exc:
            raise NotSentError(_distrust(lane, why_no_tls(exc))) from exc
        except (OSError, TimeoutError) as exc:
            why = str(exc) or ("timed out" if isinstance(exc, TimeoutError) else "it closed the connection")
            raise NotSentError(f"NameNode {namenode.http} can't be connected to: {why}") from exc
        lane.distrusted = ""
        return Connection(namenode, protocol, loop, self._clock)


def _distrust(lane: _Lane, why: str) -> str:
    """Return the message of a failed connection, and log it once."""
    message = f"NameNode {lane.namenode.http} can't be connected to: {why}"
    if lane.distrusted != message:
        lane.distrusted = message
        _log.warning("%s", message)
    return message
