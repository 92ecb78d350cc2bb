"""A client of Server-Sent Events made of nothing but http.client, as an application's could be."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Any, Self

from tests.patience import HANG_S

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Message:
    """What a client is given: with the id that it has by then."""

    event: str
    data: Any
    last_id: str


class EventClient(Iterator[Message]):
    """One stream: the reply to a request, and its messages one by one.

    Attributes:
        status: of the reply.
        fields: of the reply.
        last_id: the id of the last message that had one.
        comments: lines that a client ignores, seen so far.
        is_whole: the body came to its end, and was not cut.
    """

    def __init__(self, address: str, target: str, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Ask; the reply has begun when this returns.

        Raises:
            http.client.HTTPException, OSError: there is none.
        """
        self._connection = http.client.HTTPConnection(address, timeout=HANG_S)
        try:
            self._connection.request("GET", target, headers=dict(headers))
            self._socket = self._connection.sock  # the reply takes it over, if it ends the connection
            self._reply = self._connection.getresponse()
        except BaseException:
            self._connection.close()
            raise
        self.status, self.fields = self._reply.status, self._reply.headers
        self.last_id = headers.get("Last-Event-ID", "")
        self.comments = 0
        self.is_whole = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reply.close()
        self._connection.close()

    def cut(self) -> None:
        """Break the connection, from any thread: who reads from it sees its end."""
        with contextlib.suppress(OSError):  # it is broken already
            self._socket.shutdown(socket.SHUT_RDWR)

    def body(self) -> bytes:
        """Return the whole body of a refusal."""
        return self._reply.read()

    def __next__(self) -> Message:
        """Return the next message; stop at the end of the stream.

        Raises:
            http.client.HTTPException, OSError: it was cut.
        """
        event, data = "message", list[str]()
        while line := self._reply.readline():
            assert line.endswith(b"\n"), f"a line that is not whole: {line!r}"
            name, _, value = line.decode().rstrip("\n").partition(":")
            value = value.removeprefix(" ")
            match name:
                case "event":
                    event = value
                case "data":
                    data.append(value)
                case "id":
                    self.last_id = value
                case "" if line == b"\n":
                    if data:
                        return Message(event, json.loads("\n".join(data)), self.last_id)
                    event = "message"
                case "":
                    self.comments += 1
                case _:
                    assert name == "retry"
        assert not data, "a message that is not whole"
        self.is_whole = True
        raise StopIteration
