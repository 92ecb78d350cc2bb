"""A client of Server-Sent Events that uses only http.client, as an application might."""

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
    """A message, with the client's last event id at that point."""

    event: str
    data: Any
    last_id: str


class EventClient(Iterator[Message]):
    """A stream: the reply to a request, and its messages one by one.

    Attributes:
        status: the reply's status.
        fields: the reply's header fields.
        last_id: the id of the last message that had one.
        comments: number of comment lines so far, which clients ignore.
        is_whole: whether the body was received to its end.
    """

    def __init__(self, address: str, target: str, headers: Mapping[str, str] = NO_HEADERS) -> None:
        """Send the request; the reply's head has been read on return.

        Raises:
            http.client.HTTPException, OSError: there is no reply.
        """
        self._connection = http.client.HTTPConnection(address, timeout=HANG_S)
        try:
            self._connection.request("GET", target, headers=dict(headers))
            self._socket = self._connection.sock  # a reply that ends the connection takes it over
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
        """Break the connection, from any thread: its reader sees the end of the stream."""
        with contextlib.suppress(OSError):  # already broken
            self._socket.shutdown(socket.SHUT_RDWR)

    def body(self) -> bytes:
        """Return the whole body of a refusal."""
        return self._reply.read()

    def __next__(self) -> Message:
        """Return the next message; stop at the end of the stream.

        Raises:
            http.client.HTTPException, OSError: the connection was broken.
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
