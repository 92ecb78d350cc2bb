"""A NameNode by a script: what it answers, and when, follows from the target alone. (tests/alike/namenode.py)"""

import asyncio
import zlib
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from nncache.hadoop.calls import parse_call
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.clients.body import ClientBody
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import NoActiveNameNodeError, UpstreamCutError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Decorate, Headers, RequestHead, Settle, SettledReply, UpstreamReply
from nncache.proxy.ports import Right
from tests.proxy.doubles import DENIED, DIRECTORY, FILE, settled
from tests.proxy.front_scene import DictNameNode

_DELAYS_S: Final = (0.0, 0.0, 0.00137, 0.0053)
_REDIRECT: Final[Headers] = (
    (b"Location", b"http://dn:9864/webhdfs/v1/f?op=CREATE"),
    (b"Content-Type", b"application/octet-stream"),
)
_BROKEN: Final = 29  # one target in so many is answered with an error
_PARTS: Final = (b"first part, ", b"x" * 700, b", last part")


@dataclass
class ScriptedNameNode(DictNameNode):
    """Takes its time, reads bodies, answers in parts, and remembers all that it was asked."""

    limits: LimitSettings = field(default_factory=LimitSettings)
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    version: int = 1  # of the last change

    def change(self, path: str, *, is_gone: bool = False) -> None:
        """Make another status of a path, or none."""
        self.version += 1
        old = self.statuses.pop(path, FILE)
        if not is_gone:
            made = DIRECTORY if b"DIRECTORY" in old else FILE
            self.statuses[path] = made.replace(b'"accessTime":1', b'"accessTime":%d' % self.version)

    async def fetch(self, head: RequestHead) -> UpstreamReply:
        """Answer a read."""
        await self._asked("fetch", head, of=head.target)
        if _number(head.target) % _BROKEN == 0:
            raise NoActiveNameNodeError("none is active")
        return await super().fetch(head)

    async def stream(
        self, request: web.BaseRequest, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> web.StreamResponse:
        """Answer anything else: what it changes has changed before its reply."""
        await self._asked("stream", head, of=head.target)
        number = _number(head.target)
        if request.body_exists and number % 5:  # else the reply does not wait for the body
            await self._read_body(request)
        if number % _BROKEN == 1:
            await settle(None)
            raise UpstreamCutError("the connection broke off")
        call = parse_call(head.method, head.target)
        if not call.is_read and call.path is not None:
            self.change(call.path, is_gone=call.method == "DELETE")
        reply = self._reply_to(head)
        await settle(reply)
        fields = (*reply.headers, *decorate(reply))
        if reply.status == 200 and number % 3 == 0:
            return await self._in_parts(request, fields, is_long=number % 2 == 0)
        return RawResponse(reply.status, "", fields, body=reply.body or b"", limits=self.limits)

    def _reply_to(self, head: RequestHead) -> SettledReply:
        user = head.target.partition("user.name=")[2].partition("&")[0]
        if head.method == "GET" and user in self.locked_out:
            return settled(403, DENIED)
        if "op=CREATE" in head.target or "op=APPEND" in head.target:
            at = settled(307, None)
            return SettledReply(
                status=at.status,
                reason=at.reason,
                headers=_REDIRECT,
                body=None,
                namenode=at.namenode,
                term=at.term,
                replied_at=self.clock(),
            )
        return settled(200, b'{"version":%d}' % self.version)

    async def _read_body(self, request: web.BaseRequest) -> None:
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body, parts = ClientBody(request, self.limits), list[bytes]()
        while part := await body.read_part():
            parts.append(part)
        self.asked.append(("body", b"".join(parts)))

    async def _in_parts(
        self, request: web.BaseRequest, fields: Headers, *, is_long: bool
    ) -> web.StreamResponse:
        length = sum(map(len, _PARTS)) if is_long else None
        response = RawResponse(200, "OK", fields, length=length, limits=self.limits)
        await response.prepare(request)
        try:
            for part in _PARTS:
                await response.write(part)
                await asyncio.sleep(0.00031)
            await response.write_eof()
        except ConnectionError:
            response.cut()
        return response

    async def _asked(self, *question: Any, of: str) -> None:
        self.asked.append(question)
        delay_s = _DELAYS_S[_number(of) % len(_DELAYS_S)]
        if delay_s:
            await asyncio.sleep(delay_s)

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Say so of all."""
        await self._asked("closed", path, caller, of=path)
        return True

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Say whether it is among the known."""
        await self._asked("exists", path, caller, of=path)
        return path in self.statuses

    async def may_write(self, path: str, caller: RpcUser | None) -> Right:
        """Say so of all."""
        await self._asked("may write", path, caller, of=path)
        return Right.GRANTED if path in self.statuses else Right.MISSING


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
