"""What a request costs: lines run, bytes taken. Counted, so that no machine is too slow or too busy for it.

A loop of ours shows as lines. What one line does in C, such as to copy a tuple or slice a string, shows as the bytes
that it takes, summed up over all lines, given back or not.
"""

import asyncio
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, cast

from nncache.proxy.clients.server import Server
from nncache.proxy.decide.direct_calls import DirectCalls
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.namenode_protocol import encode_request
from tests.hostile.fuzzing.transport import DeafTransport
from tests.house.tree import ROOT
from tests.proxy.doubles import FakeClock, make_cache
from tests.proxy.front_fixture import DictNameNode, NoSignal
from tests.proxy.kept_hits import fast_path_alone

_ITERATIONS: Final = 60  # of the event loop, until a request is answered


@dataclass
class Cost:
    """What was spent.

    Attributes:
        lines: run.
        taken: bytes, summed up line by line.
        peak: bytes at once.
        fed: functions of ours that were given a text of this length or more.
    """

    lines: int = 0
    taken: int = 0
    peak: int = 0
    fed: set[str] = field(default_factory=set)


@contextmanager
def counted(cost: Cost, *, long_text: int | None) -> Iterator[None]:
    """Count what runs inside; without a length of texts to look for only what is taken at once."""
    start = tracemalloc.get_traced_memory()[0]
    last = start

    def sample() -> None:
        nonlocal last
        current, peak = tracemalloc.get_traced_memory()
        cost.taken += max(0, peak - last)
        cost.peak = max(cost.peak, peak - start)
        tracemalloc.reset_peak()
        last = current

    def trace_lines(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            cost.lines += 1
        sample()
        return trace_lines

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        sample()
        code = frame.f_code
        if "/asyncio/" in code.co_filename:
            return None
        if code.co_filename.startswith(str(ROOT)):
            for name in code.co_varnames[: code.co_argcount]:
                value = frame.f_locals.get(name)
                if isinstance(value, str | bytes) and len(value) >= (long_text or 0):
                    cost.fed.add(f"{frame.f_globals['__name__']}.{code.co_qualname}")
        return trace_lines

    before = sys.gettrace()
    sys.settrace(before if long_text is None else trace)
    try:
        yield
    finally:
        sys.settrace(before)
        sample()


class _NameNode(DictNameNode):
    """Answers at once; what would go over the wire is written."""

    async def fetch(self, head: Any, _: Any = None) -> Any:
        encode_request(head, host="nn", chunked=False)
        return await super().fetch(head)

    def prepare(self, head: Any, holder: str, reader: Any) -> None:
        """No connection is open."""
        encode_request(head, host="nn", chunked=False)

    async def stream(self, request: Any, head: Any, settle: Any, decorate: Any) -> Any:
        encode_request(head, host="nn", chunked=False)
        return await super().stream(request, head, settle, decorate)


async def serve(raw: bytes, cost: Cost, *, long_text: int | None, settings: dict[str, Any]) -> bytes:
    """Serve one request from its bytes to its reply's, and count what that costs."""
    clock = FakeClock()
    cache = make_cache(clock, **settings)
    namenode = _NameNode(clock)
    limits = LimitSettings()
    async with FrontEnd(
        cache, namenode, namenode, NoSignal(), ProxySettings(join_wait_s=0.5), clock
    ) as front:
        calls = DirectCalls(front, cache, cast("Any", namenode), clock)
        server = Server(front.handle, fast_path_alone(clock), limits, calls)
        transport = DeafTransport()
        transport.connect(server.connection())
        await asyncio.sleep(0)
        cache.open_window("/w/x/y", 1, clock(), "/w/x")
        with counted(cost, long_text=long_text):
            transport.get_protocol().data_received(raw)
            for _ in range(_ITERATIONS):
                await asyncio.sleep(0)
        written = bytes(transport.written)
        transport.get_protocol().connection_lost(None)
        await asyncio.sleep(0)
    return written
