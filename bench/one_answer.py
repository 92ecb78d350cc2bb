"""A NameNode of one answer, and a stream of changes on which nothing happens: for measurements of parts of a proxy.

The path is missing, whatever is asked. (bench/one_answer.py)
"""

import asyncio
from typing import Final

from aiohttp import web

from nncache.cache.metadata_cache import MetadataCache
from nncache.clock import boottime
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.errors import NoActiveNameNodeError
from nncache.proxy.messages import Decorate, Headers, RequestHead, Settle, UpstreamReply
from nncache.proxy.ports import Right

PATH: Final = "/user/joe/workflow/2026/11/21/_SUCCESS"
NAMENODE: Final = NameNode("namenode:9870", "namenode:8020")
BODY: Final = render_missing(PATH)
FIELDS: Final[Headers] = (
    (b"Date", b"Sat, 21 Nov 2026 00:00:00 GMT"),
    (b"Cache-Control", b"no-cache"),
    (b"Expires", b"Sat, 21 Nov 2026 00:00:00 GMT"),
    (b"Date", b"Sat, 21 Nov 2026 00:00:00 GMT"),
    (b"Pragma", b"no-cache"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-FRAME-OPTIONS", b"SAMEORIGIN"),
    (b"X-XSS-Protection", b"1; mode=block"),
    (b"Content-Type", b"application/json"),
)


class OneAnswer:
    """A NameNode, and the answers to our own questions: the path is missing."""

    async def fetch(self, head: RequestHead) -> UpstreamReply:  # noqa: ARG002 - there is one answer
        """Return it."""
        now = boottime()
        return UpstreamReply(
            status=404,
            reason="Not Found",
            headers=FIELDS,
            body=BODY,
            namenode=NAMENODE,
            term=1,
            replied_at=now,
        )

    async def stream(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - one answer
        head: RequestHead,  # noqa: ARG002 - one answer
        settle: Settle,  # noqa: ARG002 - one answer
        decorate: Decorate,  # noqa: ARG002 - one answer
    ) -> web.StreamResponse:
        """Refuse: a hit that is passed through would spoil the measurement."""
        raise NoActiveNameNodeError("nothing is to be passed through")

    async def is_file_closed(
        self,
        namenode: NameNode,  # noqa: ARG002 - no file is asked for
        path: str,  # noqa: ARG002 - no file is asked for
        caller: RpcUser | None,  # noqa: ARG002 - no file is asked for
    ) -> bool:
        """Say yes."""
        return True

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:  # noqa: ARG002 - one answer
        """Say no."""
        return False

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:  # noqa: ARG002 - one answer
        """Say no."""
        return False

    async def may_write(self, path: str, caller: RpcUser | None) -> Right:  # noqa: ARG002 - one answer
        """Let everybody."""
        return Right.UNKNOWN

    async def last_txid(self, namenode: NameNode) -> int:  # noqa: ARG002 - one answer
        """Say 1."""
        return 1

    def request_probe(self) -> None:
        """Do nothing: `keep_covered` comes round anyway."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait."""
        await asyncio.sleep(timeout_s)
        return False


async def keep_covered(cache: MetadataCache) -> None:
    """Stand in for the stream of changes, on which nothing happens."""
    cache.open_stream(1)
    while True:
        cache.cover(boottime(), 1)
        await asyncio.sleep(0.25)
