"""One GET to a NameNode without a task: a callback takes the reply if that is whole, small and JSON.

Every other exchange continues as an ordinary call, with all bytes received so far: nothing is sent a second time.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, NamedTuple

from nncache.hadoop.election_view import NameNode
from nncache.net.http1.reply import ReplyError, ReplyHead
from nncache.proxy.clients.request import InFlight
from nncache.proxy.headers import passed_on
from nncache.proxy.messages import NO_TERM, RequestHead, UpstreamReply
from nncache.proxy.upstream.namenode_protocol import ReplyProgress
from nncache.proxy.upstream.pool import Connection, ConnectionPool

_log = logging.getLogger(__name__)

MAX_BYTES: Final = 32 * 1024
"""Longer bodies are left to the ordinary call, which waits for its client to read."""


class SentCall(NamedTuple):
    """A call that was sent and has no reply yet.

    Attributes:
        term: the NameNode's term when the call was sent; NO_TERM: it was not the active NameNode.
    """

    connection: Connection
    term: int


class StartedCall(InFlight):
    """A call that was sent, and whose reply an ordinary call must take."""

    def __init__(self, sent: SentCall, connections: ConnectionPool) -> None:
        self._sent: SentCall | None = sent
        self._connections = connections

    def take(self) -> SentCall | None:
        """Return the call; None after the first time."""
        sent, self._sent = self._sent, None
        return sent

    def abandon(self) -> None:
        """Close the connection if the call was not taken."""
        if (sent := self.take()) is not None:
            self._connections.release(sent.connection, reusable=False)


class ReplyReader(ABC):
    """Receives the reply of a `DirectExchange`."""

    __slots__ = ()

    @abstractmethod
    def replied(self, reply: UpstreamReply) -> None:
        """Take the NameNode's reply."""

    @abstractmethod
    def unfinished(self) -> None:
        """Continue the exchange as an ordinary call."""


class DirectExchange:
    """One GET.

    Invariants:
        D1  `_reader` is called at most once, and not after `hand_over` or `abandon`.
        D2  The connection is given back, closed or handed over exactly once.
    """

    __slots__ = ("_clock", "_connection", "_connections", "_head", "_reader", "_request", "_term", "_term_of")

    def __init__(
        self,
        connection: Connection,
        connections: ConnectionPool,
        head: RequestHead,
        request: bytes,
        reader: ReplyReader,
        term_of: Callable[[NameNode], int],
        clock: Callable[[], float],
    ) -> None:
        self._connection: Connection | None = connection  # None: given back, closed or handed over
        self._connections = connections
        self._head = head
        self._request = request  # the head in wire form
        self._reader: ReplyReader | None = reader
        self._term_of = term_of
        self._term = term_of(connection.namenode)  # when it is sent
        self._clock = clock

    def send(self) -> bool:
        """Send the request; False: the connection was lost."""
        connection = self._connection
        assert connection is not None
        protocol = connection.protocol
        protocol.expect_reply("GET")
        try:
            connection.send_head(self._request)
        except ConnectionResetError:
            self.abandon()
            return False
        self._connections.sent(connection, self._head)
        protocol.on_whole, protocol.on_progress = self._take, self._look
        self._connections.late.begin(self.is_late, connection.loop)
        return True

    def _take(self, data: bytes) -> bool:
        """Take the reply if it arrives in one piece, as it nearly always does."""
        connection = self._connection
        assert connection is not None
        protocol = connection.protocol
        try:
            whole = protocol.whole_reply(data)
        except ReplyError:
            return False  # the ordinary reader reports the error
        if whole is None or len(whole[1]) > MAX_BYTES or not _may_answer_directly(whole[0]):
            return False
        protocol.took(whole[0])
        self._end(connection, *whole)
        return True

    def _look(self) -> None:
        """Take the reply once it is whole, or leave it to the ordinary call."""
        connection = self._connection
        assert connection is not None
        protocol = connection.protocol
        progress, head = protocol.progress(MAX_BYTES), protocol.next_head
        if progress is ReplyProgress.OTHER or (head is not None and not _may_answer_directly(head)):
            self._tell_unfinished()
        elif progress is ReplyProgress.WHOLE:
            self._end(connection, *protocol.take_whole())

    def _end(self, connection: Connection, head: ReplyHead, body: bytes) -> None:
        """Give the connection back, and pass the reply on; after an internal error the call is repeated."""
        try:
            reply = self._reply(connection.namenode, head, body)
        except Exception:  # noqa: BLE001 - FailToNameNode
            _log.exception("internal error while a reply was read; its call goes on with a task")
            connection.abort()
            self._tell_unfinished()
            return
        self._release()
        reader, self._reader = self._reader, None
        self._connections.release(connection, reusable=True, status=head.status)
        if reader is not None:
            reader.replied(reply)

    def _reply(self, namenode: NameNode, head: ReplyHead, body: bytes) -> UpstreamReply:
        headers, wire = passed_on(head)
        return UpstreamReply(
            status=head.status,
            reason=head.reason,
            headers=headers,
            body=body,
            namenode=namenode,
            term=self._term if self._term == self._term_of(namenode) else NO_TERM,
            replied_at=self._clock(),
            wire=wire,
        )

    def is_late(self) -> None:
        """Leave a late reply to the ordinary call."""
        self._tell_unfinished()

    def hand_over(self) -> StartedCall:
        """Return the call for another reader; the bytes received so far stay with the connection."""
        self._reader = None
        return StartedCall(SentCall(self._release(), self._term), self._connections)

    def give_back(self) -> None:
        """Give the connection back without sending the request."""
        self._connections.release(self._release(), reusable=True)

    def abandon(self) -> None:
        """Close the connection without waiting for the reply. Has no effect after the exchange has ended."""
        if self._connection is not None:
            self._reader = None
            self._connections.release(self._release(), reusable=False)

    def _tell_unfinished(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.unfinished()

    def _release(self) -> Connection:
        connection, self._connection = self._connection, None
        assert connection is not None
        connection.protocol.on_whole = connection.protocol.on_progress = None
        self._connections.late.end(self.is_late)
        return connection


def _may_answer_directly(head: ReplyHead) -> bool:
    """Whether a reply may be forwarded by a callback: it is JSON, and no 403, which a standby may have sent."""
    return head.status != HTTPStatus.FORBIDDEN and head.is_json
