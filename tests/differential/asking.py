"""Request many statuses concurrently over persistent connections: a differential run reads far more than it writes."""

import asyncio
import socket
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from nncache.hadoop.errors import RemoteCallError
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster
from nncache.testbed.asker import RawReply
from tests.auth_methods import USER_NAME, AuthMethod
from tests.secured.service import own_identity

_TIMEOUT_S = 30.0
_IDLE_S = 20.0  # shorter than the idle timeout of either server
_AT_ONCE = 64
_HEAD_END = b"\r\n\r\n"


class Pair(NamedTuple):
    """A question: the status of a path for a user."""

    path: str
    user: str


class Line:
    """One connection to a server ("host:port"), opened on demand; replies arrive in the order of the questions."""

    def __init__(self, address: str, way: AuthMethod = USER_NAME) -> None:
        host, _, port = address.rpartition(":")
        self._address = (host, int(port))
        self._host = address.encode()
        self._way = way
        self._socket: socket.socket | None = None
        self._received = b""
        self._used_at = 0.0
        self._waiting: list[float] = []  # when each question in flight was sent
        self._requests: dict[Pair, bytes] = {}

    def send(self, pairs: Sequence[Pair]) -> None:
        """Send questions in one batch; the server answers them in order."""
        now = time.monotonic()
        if not self._waiting and now - self._used_at > _IDLE_S:
            self.close()
        if self._socket is None:
            self._socket = socket.create_connection(self._address, _TIMEOUT_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting += [now] * len(pairs)
        self._used_at = now
        self._socket.sendall(b"".join(map(self._request, pairs)))

    def _request(self, pair: Pair) -> bytes:
        request = self._requests.get(pair)
        if request is None:
            signature = self._way.of(pair.user)
            fields = "".join(f"\r\n{name}: {value}" for name, value in signature.headers)
            head = f"GET {signature.target(pair.path)} HTTP/1.1\r\nHost: "
            request = head.encode() + self._host + fields.encode() + _HEAD_END
            if self._way.is_kept:
                self._requests[pair] = request
        return request

    def receive(self) -> RawReply:
        """Return the reply to the oldest question in flight.

        Raises:
            ConnectionError: the server closed the connection instead.
        """
        while (end := self._received.find(_HEAD_END)) < 0:
            self._more()
        lines = self._received[:end].decode("latin-1").split("\r\n")
        self._received = self._received[end + len(_HEAD_END) :]
        headers = tuple(
            (name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])
        )
        framing = {name.lower(): value for name, value in headers}
        if framing.get("transfer-encoding") == "chunked":
            body = self._chunks()
        else:
            body = self._take(int(framing["content-length"]))
        self._used_at = time.monotonic()
        reply = RawReply(int(lines[0].split(" ", 2)[1]), headers, body, self._waiting.pop(0), self._used_at)
        if framing.get("connection") == "close":
            assert not self._waiting, "the server will not answer the rest"
            self.close()
        return reply

    def _chunks(self) -> bytes:
        body = b""
        while True:
            while (end := self._received.find(b"\r\n")) < 0:
                self._more()
            size = int(self._received[:end], 16)
            chunk = self._take(end + 2 + size + 2)
            body += chunk[end + 2 : -2]
            if size == 0:
                return body

    def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            self._more()
        taken, self._received = self._received[:size], self._received[size:]
        return taken

    def _more(self) -> None:
        assert self._socket is not None, "nothing was asked"
        data = self._socket.recv(262_144)
        if not data:
            raise ConnectionError(f"{self._host.decode()} closed the connection")
        self._received += data

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received, self._waiting = None, b"", []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lines:
    """Several connections to one server, each with at most one question in flight, like ordinary clients."""

    def __init__(self, address: str, way: AuthMethod = USER_NAME, number: int = _AT_ONCE) -> None:
        self._lines = [Line(address, way) for _ in range(number)]

    def ask(self, pairs: Sequence[Pair]) -> list[RawReply]:
        """Ask all questions, several at a time, and return the replies in the order of the pairs."""
        replies: list[RawReply] = []
        number = len(self._lines)
        for start in range(0, len(pairs), number):
            wave = list(zip(self._lines, pairs[start : start + number], strict=False))
            for line, pair in wave:
                line.send([pair])
            replies += [line.receive() for line, _ in wave]
        return replies

    def close(self) -> None:
        """Close the connections."""
        for line in self._lines:
            line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OpenFiles:
    """Finds the files that are open for writing.

    It calls the NameNode's isFileClosed as the superuser, which does not change access times.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._runner = asyncio.Runner()
        identity = own_identity(cluster)
        self._rpcs = [
            NameNodeRpc(each.rpc, cluster.superuser, identity=identity) for each in cluster.namenodes
        ]

    def among(self, paths: Iterable[str]) -> set[str]:
        """Return the paths that are open files, or no longer exist as files."""
        return self._runner.run(self._among(list(paths)))

    async def _among(self, paths: list[str]) -> set[str]:
        closed = await asyncio.gather(*map(self._is_closed, paths))
        return {path for path, is_closed in zip(paths, closed, strict=True) if not is_closed}

    async def _is_closed(self, path: str) -> bool:
        for rpc in self._rpcs:
            try:
                return await rpc.is_file_closed(path)
            except RemoteCallError as error:
                if error.verdict is not Verdict.STANDBY:
                    return False
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for rpc in self._rpcs:
            self._runner.run(rpc.close())
        self._runner.close()
