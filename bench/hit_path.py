"""How many hits a CPU-second of the serving process answers, beside a plain aiohttp handler. (bench/hit_path.py)

    python -m nncache.bench.hit_path [seconds of load for each server]

Each server runs in a process of its own on uvloop; `wrk` asks it over 64 keep-alive connections for one
path that does not exist, as a poller does. The CPU time is the server's own, from /proc. The proxy's parts are
the real ones but for the NameNode, whose one answer is made here, and for the stream of changes, which is
said to be up to date four times a second.
"""

import asyncio
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import uvloop
from aiohttp import web

from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.settings import CacheSettings
from nncache.clock import boottime
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.hit_memory import FastPathMemory
from nncache.proxy.clients.server import Server
from nncache.proxy.errors import NoActiveNameNodeError
from nncache.proxy.front_end import FrontEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Decorate, Headers, RequestHead, Settle, UpstreamReply
from nncache.proxy.ports import Right
from nncache.proxy.settings import ProxySettings

CONNECTIONS: Final = 64
WARM_UP_S: Final = 1
PATH: Final = "/user/joe/workflow/2026/11/21/_SUCCESS"
GLOB: Final = "/user/*/workflow/*/*/*/_SUCCESS"
TARGET: Final = f"/webhdfs/v1{PATH}?op=GETFILESTATUS&user.name=joe"
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

Serve = Callable[[Callable[[int], None]], Awaitable[None]]
"""Serves for ever, once it has printed its port."""


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


async def serve_proxy(tell: Callable[[int], None], *, remembers: bool) -> None:
    """Serve with the proxy's own parts."""
    cache, answer = MetadataCache(CacheSettings(glob=(GLOB,))), OneAnswer()
    fast_path = FastPath(cache.is_good, cache.store, boottime, LimitSettings())
    async with (
        asyncio.TaskGroup() as tasks,
        FrontEnd(cache, answer, answer, answer, ProxySettings(), boottime) as front_end,
    ):
        tasks.create_task(keep_covered(cache))
        front_end.hit_memory = FastPathMemory(fast_path) if remembers else None
        server = Server(front_end.handle, fast_path, LimitSettings())
        await server.start("127.0.0.1", 0)
        tell(server.port)
        await asyncio.Event().wait()


async def serve_plain(tell: Callable[[int], None]) -> None:
    """Serve with aiohttp alone: a handler that looks the target up in a dict."""
    known = {TARGET: BODY}

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=404, body=known[request.raw_path], content_type="application/json")

    loop = asyncio.get_running_loop()
    listener = await loop.create_server(web.Server(handle), "127.0.0.1", 0, backlog=1024)
    tell(listener.sockets[0].getsockname()[1])
    await listener.serve_forever()


SERVERS: Final[dict[str, Serve]] = {
    "plain aiohttp handler": serve_plain,
    "proxy, ordinary path": lambda tell: serve_proxy(tell, remembers=False),
    "proxy, fast path": lambda tell: serve_proxy(tell, remembers=True),
}


def run(name: str, pipe: Connection) -> None:
    """Serve in a process of its own."""

    async def main() -> None:
        await SERVERS[name](pipe.send)

    uvloop.run(main())


@dataclass(frozen=True, slots=True)
class Measured:
    """What one server did."""

    requests: int
    cpu_s: float
    wall_s: float


def cpu_s_of(pid: int) -> float:
    """Return the CPU seconds that a process has used: utime and stime of proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(port: int, seconds: int) -> str:
    """Ask for that long, and return what wrk says about it."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", f"http://127.0.0.1:{port}{TARGET}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(name: str, seconds: int) -> Measured:
    """Start a server, warm it up, load it, stop it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run, args=(name, theirs), daemon=True)
    process.start()
    assert process.pid is not None
    try:
        port = ours.recv()
        load(port, WARM_UP_S)
        before = cpu_s_of(process.pid)
        said = load(port, seconds)
        cpu_s = cpu_s_of(process.pid) - before
    finally:
        process.terminate()
        process.join()
    counted = re.search(r"(\d+) requests in ([\d.]+)s", said)
    assert counted is not None, said
    assert "Socket errors" not in said, said
    return Measured(int(counted[1]), cpu_s, float(counted[2]))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Measure all and print a table."""
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing: apt-get install wrk")
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    say(f"{CONNECTIONS} keep-alive connections, {seconds} s each, after {WARM_UP_S} s of warm-up")
    for name in SERVERS:
        done = measure(name, seconds)
        per_cpu_s, per_s = done.requests / done.cpu_s, done.requests / done.wall_s
        say(f"{name:24} {per_cpu_s:>9,.0f} requests per CPU-second {per_s:>9,.0f} requests per second")


if __name__ == "__main__":
    main()
