"""Scripted NameNodes: the target alone determines each reply and its delay.

They exchange bytes: requests are recorded verbatim, and the proxy's own client and parser read the replies.
"""

import asyncio
import zlib
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from urllib.parse import unquote

from nncache.hadoop.calls import PREFIX, parse_call
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.messages import WriteRight
from nncache.proxy.upstream.namenode_protocol import NameNodeProtocol
from tests.alike.replies import CUT_BEFORE, DELAYS_S, HttpReply, manner_of
from tests.alike.wire import Wire
from tests.proxy.doubles import DENIED, DIRECTORY, FILE, NAMENODE, OTHER_NAMENODE, TERM
from tests.proxy.wire import FakePool

_BETWEEN_S: Final = 0.00031  # between two pieces of a reply
_HEAD_END: Final = b"\r\n\r\n"


Asked: TypeAlias = tuple[Any, ...]
"""One call: its NameNode or its kind, then its content."""


@dataclass(kw_only=True)
class ScriptedNameNodes:
    """Two NameNodes with one state, as an async context: the active one has all manners, the other is plain.

    Attributes:
        asked: all calls in order: heads and bodies verbatim, and calls by other means.
        statuses: the known paths.
        locked_out: users who may read nothing.
        version: number of the last change.
        failures: errors of the script itself.
    """

    statuses: dict[str, bytes]
    asked: list[Asked] = field(default_factory=list)
    locked_out: set[str] = field(default_factory=set)
    version: int = 1
    failures: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tasks = asyncio.TaskGroup()  # one per connection
        self._wires = list[Wire]()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        for wire in self._wires:
            wire.close()
        await self._tasks.__aexit__(kind, exc, trace)

    def change(self, path: str, *, is_gone: bool = False) -> None:
        """Change the status of a path, or remove it."""
        self.version += 1
        old = self.statuses.pop(path, FILE)
        if not is_gone:
            made = DIRECTORY if b"DIRECTORY" in old else FILE
            self.statuses[path] = made.replace(b'"accessTime":1', b'"accessTime":%d' % self.version)

    # ---- calls over HTTP ----------------------------------------------------------------------------

    def connect(self, namenode: NameNode, protocol: NameNodeProtocol) -> None:
        """Open a connection of the proxy."""
        wire = Wire()
        wire.connect(protocol)
        self._tasks.create_task(self._serve(namenode, wire))
        self._wires.append(wire)

    async def _serve(self, namenode: NameNode, wire: Wire) -> None:
        try:
            while True:
                head = await wire.heard.readuntil(_HEAD_END)
                await self._answer(namenode, head, wire)
        except asyncio.IncompleteReadError:
            wire.end()
        except Exception as failure:  # noqa: BLE001 - any failure is reported at the end
            self.failures.append(failure)
            wire.close()

    async def _answer(self, namenode: NameNode, head: bytes, wire: Wire) -> None:
        self.asked.append((namenode.http, head))
        method, _, rest = head.decode("utf-8", "surrogateescape").partition(" ")
        target = rest.partition(" HTTP/1.1\r\n")[0]
        number = _number(target)
        if delay_s := DELAYS_S[(number >> 8) % len(DELAYS_S)]:
            await asyncio.sleep(delay_s)
        fields = head.lower()
        has_body = b"\r\ntransfer-encoding:" in fields or (
            b"\r\ncontent-length:" in fields and b"\r\ncontent-length: 0\r\n" not in fields
        )
        is_body_read = has_body and number % 5 != 0  # otherwise the reply does not wait for the body
        if is_body_read:
            self.asked.append(("body", await _read_body(fields, wire)))
        manner = manner_of(number, is_status=_is_status(method, target), is_active=namenode == NAMENODE)
        if manner is CUT_BEFORE:
            wire.end()
            return
        is_by_credential = b"&t=kerberos&" in head or b"delegation=" in head
        answer = replace(self._answer_to(method, target), is_by_credential=is_by_credential)
        for at, piece in enumerate(manner(answer)):
            if at:
                await asyncio.sleep(_BETWEEN_S)
            if piece is None:
                wire.end()
                return
            wire.say(piece)
        if has_body and not is_body_read:
            wire.end()

    def _answer_to(self, method: str, target: str) -> HttpReply:
        """Return the present reply; a write has already made its change."""
        call = parse_call(method, target)
        if not call.is_read and call.path is not None:
            self.change(call.path, is_gone=call.method == "DELETE")
        has_no_body = method == "HEAD"
        user = target.partition("user.name=")[2].partition("&")[0]
        if method == "GET" and user in self.locked_out:
            return HttpReply(403, b"Forbidden", DENIED, has_no_body=has_no_body)
        path = unquote(target.partition("?")[0].removeprefix(PREFIX))
        status = self.statuses.get(path)
        if method == "GET" and status is None and (_is_status(method, target) or "op=LISTSTATUS" in target):
            return HttpReply(404, b"Not Found", render_missing(path))
        if _is_status(method, target) and status is not None:
            return HttpReply(200, b"OK", status)
        if "op=CREATE" in target or "op=APPEND" in target or "op=OPEN" in target:
            return HttpReply(307, b"TEMPORARY_REDIRECT", b"", has_no_body=has_no_body)
        return HttpReply(200, b"OK", b'{"version":%d}' % self.version, has_no_body=has_no_body)

    # ---- calls over RPC -----------------------------------------------------------------------------

    async def _asked(self, *question: Any, of: str) -> None:
        self.asked.append(question)
        if delay_s := DELAYS_S[_number(of) % len(DELAYS_S)]:
            await asyncio.sleep(delay_s)

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Return True for every path."""
        await self._asked("closed", path, caller, of=path)
        return True

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path is known."""
        await self._asked("exists", path, caller, of=path)
        return path in self.statuses

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return False for every path."""
        return False

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Return that every known path is writable."""
        await self._asked("may write", path, caller, of=path)
        return WriteRight.GRANTED if path in self.statuses else WriteRight.MISSING

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a constant."""
        return 500


class ScriptedPool(FakePool):
    """Reports the active NameNode, and records each NameNode that the proxy suspects."""

    def __init__(self, asked: ScriptedNameNodes) -> None:
        """Create a pool of both NameNodes."""
        super().__init__((NAMENODE, OTHER_NAMENODE))
        self.make_active(NAMENODE, TERM)
        self._asked = asked

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Record the suspicion."""
        self._asked.asked.append(("suspect", namenode.http, why))


async def _read_body(fields: bytes, wire: Wire) -> bytes:
    """Read a request's body by its framing; `fields` is its head in lower case."""
    if b"\r\nexpect: 100-continue\r\n" in fields:
        wire.say(b"HTTP/1.1 100 Continue\r\n\r\n")
    if b"\r\ntransfer-encoding:" not in fields:
        length = fields.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0]
        return await wire.heard.readexactly(int(length))
    parts = list[bytes]()
    while True:
        size = await wire.heard.readuntil(b"\r\n")
        parts.append(await wire.heard.readexactly(int(size, 16) + 2))
        if not int(size, 16):
            return b"".join(part[:-2] for part in parts)


def _is_status(method: str, target: str) -> bool:
    return method == "GET" and "op=getfilestatus" in target.lower()


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
