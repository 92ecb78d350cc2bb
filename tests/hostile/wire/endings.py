"""Whether the proxy announced the end of each connection that it closes.

A request sent on a connection that was closed without notice is lost, and a write must not be sent twice (RFC 9112,
sections 9.3 and 9.6). `python -m tests.hostile.wire.endings NAME` checks with one of `SILENT` installed, in a process
of its own.
"""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from tests.model.variants import patching
from tests.model.variants.variant import read_variants

if TYPE_CHECKING:  # imports the product, which a variant may have to break first
    from tests.alike.line import Line
    from tests.alike.side import Side

_SETTLED_S: Final = 2.0  # in which each complete request is answered, but no connection is idle for too long
_GIVEN_UP_S: Final = 25.0  # in which an incomplete request times out
_POLL: Final = b"GET /webhdfs/v1/w/d?op=GETFILESTATUS&user.name=alice HTTP/1.1\r\nHost: nn\r\n\r\n"

METHODS: Final = (b"GET", b"GET", b"GET", b"HEAD", b"PUT", b"POST", b"DELETE", b"OPTIONS")
TARGETS: Final = {
    "from memory": b"/webhdfs/v1/w/d?op=GETFILESTATUS&user.name=alice",
    "missing": b"/webhdfs/v1/w/none?op=GETFILESTATUS&user.name=alice",
    "asked": b"/webhdfs/v1/w/n%d?op=GETFILESTATUS&user.name=alice",
    "forbidden": b"/webhdfs/v1/w/f?op=GETFILESTATUS&user.name=locked",
    "redirected": b"/webhdfs/v1/x/new%d?op=CREATE&user.name=alice",
    "made": b"/webhdfs/v1/x/made%d?op=MKDIRS&user.name=alice",
    "passed on": b"/webhdfs/v1/w/f?op=GETACLSTATUS&user.name=alice&n=%d",
    "refused": b"/elsewhere",
    "too long": b"/webhdfs/v1/" + b"a" * 2_000,
}
"""The targets; the scripted NameNode answers some forwarded ones in odd manners, or not at all."""

FIELDS: Final = {
    "nothing": b"",
    "close": b"Connection: close\r\n",
    "close in a list": b"Connection: keep-alive, Close\r\n",
    "close in another field": b"Connection: keep-alive\r\nConnection: close\r\n",
    "keep-alive": b"Connection: keep-alive\r\n",
    "the JDK": b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAEAAEAA\r\nUpgrade: h2c\r\n",
    "Apache": b"Upgrade: TLS/1.2\r\nConnection: Upgrade\r\n",
    "a browser": b"UPGRADE: websocket\r\nconnection: upgrade\r\n",
    "upgrade and close": b"Upgrade: h2c\r\nConnection: Upgrade, close\r\n",
    "another host": b"Host: other\r\n",
    "a field without a colon": b"oops\r\n",
    "too many fields": b"X: y\r\n" * 30,
    "too long a field": b"X: %b\r\n" % (b"y" * 2_000),
    "a list of upgrades": b"Upgrade: h2c, TLS/1.2\r\nUpgrade: x\r\nConnection: Upgrade\r\n",
}

_REFUSED: Final = frozenset(
    {"another host", "a field without a colon", "too many fields", "too long a field"}
)
_CHUNKED: Final = b"Transfer-Encoding: chunked\r\n"
_LENGTH: Final = b"Content-Length: 5\r\n"
FRAMINGS: Final = {
    "none": (b"", (b"",)),
    "length of 0": (b"Content-Length: 0\r\n", (b"",)),
    "length": (_LENGTH, (b"12345",)),
    "length, later": (_LENGTH, (b"", b"12345")),
    "length, in two": (_LENGTH, (b"12", b"345")),
    "chunks": (_CHUNKED, (b"3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n",)),
    "chunks, later": (_CHUNKED, (b"", b"3\r\nabc\r\n0\r\n\r\n")),
    "chunks, in pieces": (_CHUNKED, (b"3\r\nab", b"c\r\n0\r", b"\n\r\n")),
    "chunks with trailers": (_CHUNKED, (b"3\r\nabc\r\n0\r\nCookie: a\r\nT: v\r\n\r\n",)),
    "no chunks": (_CHUNKED, (b"x\r\nabc\r\n0\r\n\r\n",)),
    "length, never": (_LENGTH, (b"12", None)),
    "chunks, never": (_CHUNKED, (b"3\r\nab", None)),
    "another coding": (b"Transfer-Encoding: gzip, chunked\r\n", (b"3\r\nabc\r\n0\r\n\r\n",)),
    "head, never": (b"", (b"", None)),
    "expectation": (_LENGTH + b"Expect: 100-continue\r\n", (b"", b"12345")),
    "expectation of chunks": (_CHUNKED + b"Expect: 100-continue\r\n", (b"", b"3\r\nabc\r\n0\r\n\r\n")),
    "expectation, never": (_LENGTH + b"Expect: 100-continue\r\n", (b"", None)),
}
"""The header fields, and the pieces of the body, with time between them; None: the rest never comes."""

SOUND: Final = frozenset({"none", "length of 0", "length", "chunks", "chunks with trailers"})
"""Bodies that are complete when the request is read."""


SILENT: Final = read_variants(Path(__file__).with_name("silent.txt"))
"""Variants that end a connection, or stop serving it, without an announcement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One request, and the bytes after it.

    Attributes:
        follows: another request arrives with its last piece.
        stops: the proxy starts to stop when the first piece has arrived.
    """

    method: bytes
    target: str
    version: bytes
    fields: str
    framing: str
    number: int = 0
    follows: bool = False
    stops: bool = False

    def pieces(self) -> Iterator[bytes | None]:
        """Yield the pieces to send, with time between them."""
        target = TARGETS[self.target]
        target = target % self.number if b"%d" in target else target
        framing, (first, *others) = FRAMINGS[self.framing]
        head = b"%b %b %b\r\nHost: nn\r\n%b%b\r\n" % (
            self.method,
            target,
            self.version,
            FIELDS[self.fields],
            framing,
        )
        if self.framing == "head, never":
            head = head.removesuffix(b"\r\n")
        behind = _POLL if self.follows else b""
        pieces = [head + (first or b""), *others]
        last = pieces.pop()
        yield from pieces
        yield last if last is None else last + behind

    @property
    def must_go_on(self) -> bool:
        """Whether the connection must stay open after a NameNode's reply."""
        return (
            self.version == b"HTTP/1.1"
            and "close" not in self.fields
            and self.fields not in _REFUSED
            and self.framing in SOUND
            and self.target != "too long"
            and not self.stops
        )


def draw(seed: int, count: int) -> Iterator[Shape]:
    """Draw this number of shapes."""
    rng = Random(seed)
    for number in range(count):
        target = rng.choice((*TARGETS, "from memory", "from memory"))
        yield Shape(
            method=b"GET" if target == "from memory" else rng.choice(METHODS),
            target=target,
            version=rng.choice((b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0")),
            fields=rng.choice(tuple(FIELDS)),
            framing=rng.choice((*FRAMINGS, "none", "none", "none", "none")),
            number=number,
            follows=rng.random() < 0.3,
            stops=rng.random() < 0.05,
        )


@dataclass(frozen=True, slots=True)
class Heard:
    """A final reply, as far as it arrived."""

    status: int
    says_close: bool
    is_whole: bool


def replies(data: bytes, *, is_head: bool) -> Iterator[Heard]:
    """Yield the replies in a client's input; the first one may be to HEAD.

    If the HEAD request was malformed, its refusal has a body nevertheless, and is the last reply.
    """
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        line, *fields = head.split(b"\r\n")
        status = int(line.split()[1])
        if status < 200:
            continue
        values = {name.lower(): value for name, _, value in (field.partition(b": ") for field in fields)}
        says_close = values.get(b"connection") == b"close"
        is_whole = bool(end)
        if status in {204, 304} or (is_head and (not data or data.startswith(b"HTTP/1."))):
            pass
        elif b"transfer-encoding" in values:
            _, end, data = data.partition(b"0\r\n\r\n")
            is_whole = bool(end)
        elif b"content-length" in values:
            length = int(values[b"content-length"])
            is_whole, data = len(data) >= length, data[length:]
        else:
            data = b""
        is_head = False
        yield Heard(status, says_close, is_whole)


async def _answers(line: "Line", shape: Shape, side: "Side") -> bytes:
    """Send a shape; return all input until no more can come."""
    read = b""
    for at, piece in enumerate(shape.pieces()):
        if piece is None:
            await asyncio.sleep(_GIVEN_UP_S)
            break
        if (
            at
            and shape.framing.startswith("expectation")
            and read.startswith(b"HTTP/1.1 ")
            and b" 100 " not in read
        ):
            break  # the server does not want the body
        line.send(piece)
        if shape.stops and not at:
            await asyncio.sleep(0)
            await side.server.stop()
        await asyncio.sleep(_SETTLED_S)
        read += line.take()
    return read + line.take()


async def wrong_of(shape: Shape, side: "Side") -> str:
    """Return the fault in how a connection continues or ends after this request; "" if there is none."""
    from tests.alike.line import End  # noqa: PLC0415 - imports the product

    side.cover()
    line = side.connect(65_536)
    read, is_head = await _answers(line, shape, side), shape.method == b"HEAD"
    heard = list(replies(read, is_head=is_head))
    if line.end is End.OPEN and (not heard or heard[-1].says_close):
        await asyncio.sleep(_GIVEN_UP_S)  # for the NameNode, or for the rest of the client's request
        heard = list(replies(read + line.take(), is_head=is_head))
    try:
        if line.end is End.OPEN:
            if any(each.says_close for each in heard):
                return f"it goes on: {heard}"
            if len(heard) != 1 + shape.follows:
                return f"it goes on, and there are {len(heard)} replies: {heard}"
            line.send(_POLL)
            await asyncio.sleep(_SETTLED_S)
            if not line.take().startswith(b"HTTP/1.1 200 OK\r\n"):
                return f"it is served no more: {heard}"
            return ""
        if not heard:
            return "it ends without a reply"
        if heard[-1].is_whole and not heard[-1].says_close:
            return f"it ends without a word: {heard}"
        if any(each.says_close for each in heard[:-1]):
            return f"something follows the last reply: {heard}"
        if shape.must_go_on and heard[0].is_whole:
            return f"it ends where a NameNode's goes on: {heard}"
        return ""
    finally:
        line.lose()
        await asyncio.sleep(_SETTLED_S)


async def _all_wrongs(seed: int, count: int, most: int) -> list[str]:
    from tests.alike.side import Side  # noqa: PLC0415 - imports the product

    wrongs = list[str]()
    shapes = sorted(draw(seed, count), key=lambda shape: not shape.stops)  # stopping shapes are popped last
    while shapes and len(wrongs) < most:
        async with Side(is_quick=True) as side:  # one proxy until it stops
            side.namenode.locked_out.add("locked")
            while shapes and len(wrongs) < most:
                shape = shapes.pop()
                for _ in range(
                    3 if shape.target == "from memory" and not shape.stops else 1
                ):  # a fetch, a hit, a known head
                    if wrong := await wrong_of(shape, side):
                        wrongs.append(f"{shape}: {wrong}")
                if shape.stops:
                    break
    return wrongs


def all_wrongs(seed: int, count: int, most: int = 10) -> list[str]:
    """Check this number of shapes; return the first faults, `most` at most."""
    from tests.invalidation.virtual_time import VirtualLoop  # noqa: PLC0415 - imports the product

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_all_wrongs(seed, count, most))


def main(name: str, count: int) -> int:
    """Return 0 if a fault shows with this variant installed."""
    patching.install(SILENT[name])
    wrongs = all_wrongs(seed=1, count=count, most=1)
    sys.stdout.write(f"{name}: {wrongs or 'nothing was seen'}\n")
    return not wrongs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else 2_000))
