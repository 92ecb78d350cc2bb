"""A read on a kept connection to a NameNode, without a task or a parser.

It takes the reply if that comes whole, soon and in the usual form. Whatever else happens, the connection goes over to
a `nncache.proxy.upstream.exchange.Exchange`, with all that has come: nothing is asked a second time for that.
"""

from dataclasses import dataclass
from typing import Final, Protocol

from nncache.hadoop.election_view import NameNode
from nncache.proxy.upstream.plain_reply import NotWhole, PlainReply
from nncache.proxy.upstream.pool import Connection, Connections

PATIENCE_S: Final = 1.0
"""A reply that takes longer is waited for by the way that knows what to do when none comes."""

_MAX_PARTS: Final = 24  # of a reply; each makes it be read again from its start


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call on its way.

    Attributes:
        term: of the NameNode when it was sent; NO_TERM if that was not the active one.
    """

    connection: Connection
    term: int


class Begun:
    """A call that was sent, for the one who waits for the reply."""

    def __init__(self, sent: SentCall, connections: Connections) -> None:
        self._sent: SentCall | None = sent
        self._connections = connections

    def take(self) -> SentCall | None:
        """Return the call, once."""
        sent, self._sent = self._sent, None
        return sent

    def abandon(self) -> None:
        """End the connection if the call was not taken."""
        if (sent := self.take()) is not None:
            self._connections.release(sent.connection, reusable=False)


class PlainReader(Protocol):
    """Gets the outcome, once."""

    def replied(self, reply: PlainReply) -> None:
        """Take the reply; the connection to the NameNode has been given back."""

    def unfinished(self) -> None:
        """Hand the exchange over."""


class PlainExchange:
    """One GET.

    Invariants:
        P1  `_reader` is told at most once, and not after `hand_over` or `abandon`.
        P2  The connection is given back, ended or handed over exactly once.
    """

    __slots__ = ("_connection", "_connections", "_parts", "_reader", "namenode", "term")

    def __init__(
        self, connection: Connection, connections: Connections, reader: PlainReader, term: int
    ) -> None:
        self.namenode: NameNode = connection.namenode  # who is asked
        self.term = term  # its term as of now
        self._connection: Connection | None = connection  # None: given back, ended or handed over
        self._connections = connections
        self._reader: PlainReader | None = reader
        self._parts: list[bytes] = []

    def send(self, request: bytes) -> None:
        """Send the request.

        Raises:
            ConnectionResetError: the connection is gone; nothing was sent.
        """
        connection = self._connection
        assert connection is not None
        connection.send_head(request)
        connection.protocol.taker = self
        self._connections.late.expect(self, connection.loop, PATIENCE_S)

    def data_received(self, data: bytes) -> None:
        """Take a part of the reply."""
        self._parts.append(data)
        reply = self._connections.replies.read(data if len(self._parts) == 1 else b"".join(self._parts))
        if isinstance(reply, PlainReply):
            connection = self._release()
            reader, self._reader = self._reader, None
            self._connections.release(connection, reusable=True)
            if reader is not None:
                reader.replied(reply)
        elif reply is NotWhole.ODD or len(self._parts) >= _MAX_PARTS:
            self._tell_unfinished()

    def connection_lost(self) -> None:
        """Leave it to the other way to say what that means; called before the connection's own protocol hears of it."""
        self._tell_unfinished()

    def is_late(self) -> None:
        """Leave it to the other way to wait on."""
        self._tell_unfinished()

    def hand_over(self) -> Begun:
        """Return the call as it stands; what has come of the reply is with the connection's parser."""
        connection = self._release()
        self._reader = None
        connection.expect_reply("GET")
        for part in self._parts:
            connection.protocol.data_received(part)
        self._parts.clear()
        return Begun(SentCall(connection, self.term), self._connections)

    def abandon(self) -> None:
        """End the connection: its reply is not waited for any more. Does nothing after the end."""
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
        connection.protocol.taker = None
        self._connections.late.forget(self)
        return connection
