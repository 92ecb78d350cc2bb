"""Detached parts go away in slices, and nobody waits for it."""

import asyncio
import gc
from collections.abc import Callable, Iterator

import pytest
import uvloop
from aiohttp import web

from nncache.clock import boottime
from nncache.housekeeping import (
    SLICE_ITEMS,
    THRESHOLDS,
    calm_collector,
    reclaim_in_slices,
    tend_collector,
)
from proxy.limits import LimitSettings
from proxy.response import RawResponse
from proxy.server import Server
from tests.cache.cases import ALICE, fill, is_hit, make_cache
from tests.patience import HANG_S
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import until


class Heap:
    """A cache with much to take apart."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.slices: list[int] = []
        self.done = asyncio.Event()

    def reclaim(self, max_items: int) -> bool:
        """Take apart at most so many items."""
        self.slices.append(min(max_items, self.items))
        self.items -= self.slices[-1]
        if not self.items:
            self.done.set()
        return self.items > 0


async def test_a_large_part_is_taken_apart_in_slices_with_others_in_between() -> None:
    """Between two slices the loop runs what else is ready."""
    heap = Heap(items=10 * SLICE_ITEMS)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while not heap.done.is_set():
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        loop = group.create_task(reclaim_in_slices(heap))
        group.create_task(others())
        await heap.done.wait()
        loop.cancel()
    assert max(heap.slices) == SLICE_ITEMS
    assert turns >= len(heap.slices) - 1


@pytest.fixture
def collector() -> Iterator[None]:
    """Put the collector back to what it was."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collector")
def test_the_collector_leaves_alone_what_was_there_at_the_start() -> None:
    """What lives as long as the process is not looked at again."""
    calm_collector()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == THRESHOLDS


@pytest.mark.usefixtures("collector")
async def test_what_has_grown_old_is_looked_at_once() -> None:
    """Then it is left alone, so that no look ever costs what is kept."""
    calm_collector()
    gc.collect(1)
    kept = [[n] for n in range(20_000)]
    gc.collect(1)
    assert gc.get_count()[2] > 0
    frozen = gc.get_freeze_count()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(tend_collector())
        await until(lambda: gc.get_freeze_count() >= frozen + len(kept))
        task.cancel()
    assert gc.get_count()[2] == 0


def garbage_of(make: Callable[[], object]) -> list[object]:
    """Return what only a collector can free after this was done, and what came of it let go of."""
    gc.collect()
    gc.disable()
    try:
        make()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return list(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_what_the_cache_forgets_leaves_no_cycle() -> None:
    """Or memory would come back late, or never: old objects are not looked at again."""
    cache = make_cache(max_cache_entries=300)

    def work() -> None:
        for n in range(1_000):
            fill(cache, f"/a/{n % 7}/{n}", ALICE, 1.0)
            is_hit(cache, f"/a/{n % 7}/{n}", ALICE, 1.0)
        cache.store.forget_subtree("/a/3")
        cache.store.forget_all()
        while cache.reclaim(10):
            pass

    assert garbage_of(work) == []


def test_a_connection_leaves_no_cycle_on_uvloop() -> None:
    """The loop that the daemons run on; asyncio's own leaves six objects for each."""

    async def handle(_: web.BaseRequest) -> web.StreamResponse:
        return RawResponse(200, "OK", (), body=b"ok")

    async def exchange(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /webhdfs/v1/ HTTP/1.1\r\nHost: nn\r\n\r\n")
        await reader.readuntil(b"ok")
        writer.close()
        await writer.wait_closed()

    async def serve() -> list[object]:
        server = Server(handle, fast_path_alone(boottime), LimitSettings())
        await server.start("127.0.0.1", 0)
        await exchange(server.port)  # what is made once
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                await exchange(server.port)
            await until(lambda: not server.stats().connections_open)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            return [each for each in gc.garbage if type(each).__module__ != "builtins"]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
            await server.stop()

    assert uvloop.run(serve()) == []
