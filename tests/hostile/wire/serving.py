"""Send rows through the proxy to a NameNode that records what it receives."""

import asyncio
from dataclasses import dataclass

from tests.hostile.wire.smuggling import MARK, Row
from tests.proxy.wire import RawClient, RawNameNode, limits_of_tests, proxy_to, says

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class ServedReply:
    """The outcome of a row.

    Attributes:
        statuses: of the final replies, in order.
        heads: the heads that the NameNode received.
    """

    statuses: tuple[int, ...]
    heads: tuple[bytes, ...]

    def wrongs(self, row: Row) -> list[str]:
        """Return the faults."""
        wrong = [f"{head!r} was caused by what is smuggled" for head in self.heads if MARK in head]
        if row.heard >= 0 and len(self.heads) != row.heard:
            wrong.append(f"{len(self.heads)} requests were heard instead of {row.heard}")
        if row.heard < 0 and len(self.heads) > 1 and b"/next" not in self.heads[1]:
            wrong.append(f"more than one request was heard: {self.heads[1]!r}")
        # A client that keeps sending may not receive a refusal.
        if row.statuses and self.statuses not in {row.statuses, ()}:
            wrong.append(f"replies {self.statuses} instead of {row.statuses}")
        if any(status >= 500 and status != 505 for status in self.statuses):
            wrong.append(f"an error of ours: {self.statuses}")
        return wrong


async def send(row: Row, piece: int = 0) -> ServedReply:
    """Send a row, whole or in pieces of this size; return the outcome."""
    async with RawNameNode(says(_OK)) as namenode:
        # Each row ends with the connection: a complete request leaves it idle, an incomplete one times out.
        limits = limits_of_tests(head_timeout_s=1.0, body_timeout_s=1.0, idle_timeout_s=0.5)
        async with (
            proxy_to(namenode.namenode, limits=limits) as proxy,
            RawClient.connected(proxy.port) as client,
        ):
            statuses = statuses_of(await _answers(client, row.raw, piece))
        return ServedReply(statuses, tuple(namenode.heads))


async def _answers(client: RawClient, raw: bytes, piece: int) -> bytes:
    async with asyncio.timeout(_PATIENCE_S):
        for at in range(0, len(raw), piece or len(raw)):
            client.send(raw[at : at + (piece or len(raw))])
            await asyncio.sleep(0)
        return await client.rest()


def statuses_of(answers: bytes) -> tuple[int, ...]:
    """Return the statuses of the final replies in these bytes; the bodies are short and contain no head."""
    lines = [part.split(b"\r\n", 1)[0] for part in answers.split(b"HTTP/1.")[1:]]
    statuses = (int(line[2:5]) for line in lines if line[2:5].isdigit())
    return tuple(status for status in statuses if status >= 200)
