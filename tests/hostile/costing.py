"""The cost of a request in lines executed and bytes allocated: independent of the machine's speed and load.

A loop of the product shows as lines. Work that one line does in C, such as a copy of a tuple or a slice of a string,
shows as the bytes that it allocates, summed over all lines, freed or not.
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
    """The cost of a request.

    Attributes:
        lines: executed.
        taken: bytes allocated, summed line by line.
        peak: bytes allocated at one time.
        fed: functions of the product with an argument of this length or more.
    """

    lines: int = 0
    taken: int = 0
    peak: int = 0
    fed: set[str] = field(default_factory=set)


@contextmanager
def counted(cost: Cost, *, long_text: int | None) -> Iterator[None]:
    """Count the work in the block; without `long_text` only the peak of allocations."""
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
    """Answers immediately, after encoding the request as if it were sent."""

    async def fetch(self, head: Any, _: Any = None) -> Any:
        encode_request(head, host="nn", chunked=False)
        return await super().fetch(head)

    def prepare(self, head: Any, holder: str, reader: Any) -> None:
        """Encode the request; there is no connection for a direct call."""
        encode_request(head, host="nn", chunked=False)

    async def stream(self, request: Any, head: Any, settle: Any, decorate: Any) -> Any:
        encode_request(head, host="nn", chunked=False)
        return await super().stream(request, head, settle, decorate)


async def serve(raw: bytes, cost: Cost, *, long_text: int | None, settings: dict[str, Any]) -> bytes:
    """Serve one request from its bytes to its reply's, and count the cost."""
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
