"""Detached parts of the cache are freed in slices, without delaying other tasks."""

import asyncio
import gc
import socket
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvloop

from nncache.clock import boottime
from nncache.daemons.housekeeping import (
    SLICE_ITEMS,
    THRESHOLDS,
    calm_collector,
    reclaim_in_slices,
    tend_collector,
)
from nncache.hadoop.errors import (
    FramingError,
    HadoopError,
    KerberosError,
    RpcAuthenticationError,
    RpcLoginError,
    RpcUnavailableError,
)
from nncache.hadoop.kerberos.gss import KerberosTicket, Mechanism
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.threads import KdcThreads
from nncache.hadoop.kerberos.tickets import CachedTickets
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.rpc.connection import RpcConnection
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from nncache.hadoop.rpc.sasl import SaslHandshake
from nncache.hadoop.rpc.wire import Wire
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from tests.cache.cases import ALICE, fill, is_hit, make_cache
from tests.hadoop.rpc.fake_gss import FakeContext, FakeTokens
from tests.hadoop.rpc.fake_sasl_server import SaslServer, sasl_server
from tests.hadoop.rpc.fake_server import Answer, Cut, Failure, Never, Raw, fake_server, version
from tests.hadoop.rpc.test_compared_connections import check_of
from tests.hadoop.rpc.test_connection import YES, ask
from tests.patience import HANG_S
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import until


class Heap:
    """A cache with many detached items."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.slices: list[int] = []
        self.done = asyncio.Event()

    def reclaim(self, max_items: int) -> bool:
        """Free at most this many items; return whether some are left."""
        self.slices.append(min(max_items, self.items))
        self.items -= self.slices[-1]
        if not self.items:
            self.done.set()
        return self.items > 0


async def test_a_large_part_is_released_in_slices() -> None:
    """Other ready tasks run between two slices."""
    heap = Heap(items=10 * SLICE_ITEMS)
    iterations = 0

    async def others() -> None:
        nonlocal iterations
        while not heap.done.is_set():
            iterations += 1
            await asyncio.sleep(0)

    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        loop = group.create_task(reclaim_in_slices(heap.reclaim))
        group.create_task(others())
        await heap.done.wait()
        loop.cancel()
    assert max(heap.slices) == SLICE_ITEMS
    assert iterations >= len(heap.slices) - 1


@pytest.mark.usefixtures("collector")
def test_the_collector_leaves_alone_what_was_there_at_the_start() -> None:
    """Objects that live as long as the process are frozen, so the collector does not traverse them."""
    kept = [[n] for n in range(1_000)]
    frozen = gc.get_freeze_count()
    calm_collector()
    assert gc.get_freeze_count() >= frozen + len(kept)
    assert gc.get_threshold() == THRESHOLDS


@pytest.mark.usefixtures("collector")
async def test_what_has_grown_old_is_looked_at_once() -> None:
    """Then they are frozen, so that no later collection traverses the cache."""
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


@contextmanager
def collected(found: list[object]) -> Iterator[None]:
    """Add the garbage of the block that only the cyclic collector can free."""
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_what_the_cache_forgets_leaves_no_cycle() -> None:
    """Cyclic garbage would be freed late or never, because old objects are frozen."""
    cache = make_cache(max_cache_entries=300)

    garbage: list[object] = []
    with collected(garbage):
        for n in range(1_000):
            fill(cache, f"/a/{n % 7}/{n}", ALICE, 1.0)
            is_hit(cache, f"/a/{n % 7}/{n}", ALICE, 1.0)
        cache.store.forget_subtree("/a/3")
        cache.store.forget_all()
        while cache.reclaim(10):
            pass
    assert garbage == []


def test_a_connection_leaves_no_cycle_on_uvloop() -> None:
    """The daemons run on uvloop; asyncio's own loop leaves six objects per connection."""

    async def handle(_: Request) -> RawResponse:
        return RawResponse(200, "OK", (), body=b"ok")

    async def exchange(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /webhdfs/v1/ HTTP/1.1\r\nHost: nn\r\n\r\n")
        await reader.readuntil(b"ok")
        writer.close()
        await writer.wait_closed()

    async def serve() -> None:
        server = Server(handle, fast_path_alone(boottime), LimitSettings())
        await server.start("127.0.0.1", 0)
        await exchange(server.port)  # warm-up: objects that are made once
        try:
            with collected(garbage):
                for _ in range(20):
                    await exchange(server.port)
                await until(lambda: not server.stats().connections_open)
        finally:
            await server.stop()

    garbage: list[object] = []
    uvloop.run(serve())
    assert [each for each in garbage if type(each).__module__ != "builtins"] == []


async def used(connect: Callable[[], RpcConnection], kind: type) -> None:
    """Assert that concurrent calls all end in this type, and that nothing keeps the connection alive."""
    connection = connect()
    outcomes = await asyncio.gather(*(ask(connection) for _ in range(5)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {kind}
    del outcomes  # an error's traceback holds the connection
    await connection.close()
    is_there = weakref.ref(connection)
    del connection
    for _ in range(3):
        await asyncio.sleep(0)  # the event loop drops its last callback
    assert is_there() is None


NOT_OURS = Namespace("CID-2", "BP-2")


def kind_of_refusal() -> type:
    """Return the type of error for a connection to another namespace."""
    with pytest.raises(RpcUnavailableError) as caught:
        check_of("nn:8020").admit(NOT_OURS)
    return caught.type


SECURED = Failure("A.AccessControlException", "SIMPLE", is_fatal=True, detail=pb.FATAL_UNAUTHORIZED)


@pytest.mark.parametrize(
    ("answer", "is_compared", "kind"),
    [
        (YES, False, bool),
        (None, False, RpcUnavailableError),
        (Cut(), False, RpcUnavailableError),
        (Cut(), True, RpcUnavailableError),
        (Raw(b"HTTP/1.1 404 Not Found\r\n\r\n"), False, FramingError),
        (SECURED, False, RpcAuthenticationError),
        (version(NOT_OURS), True, kind_of_refusal()),
    ],
    ids=["answered", "refused", "cut", "cut-when-compared", "garbage", "secured", "another-namespace"],
)
def test_an_rpc_connection_leaves_no_cycle_on_uvloop(
    answer: Answer | None, *, is_compared: bool, kind: type
) -> None:
    """While RPC is refused, up to 64 would be frozen per pass of `tend_collector`: a kept error holds its traceback.

    All calls that share a connection attempt fail in the same way.
    """

    async def story() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound but not listening
            async with fake_server(lambda _: answer or Never()) as server:
                host, port = unused.getsockname()
                address = f"{host}:{port}" if answer is None else server.address
                with collected(garbage):
                    check = check_of(address) if is_compared else None
                    await used(lambda: RpcConnection(address, "alice", check=check), kind)

    garbage: list[object] = []
    uvloop.run(story())
    assert [each for each in garbage if isinstance(each, RpcConnection | Wire | HadoopError)] == []


class FakeIdentity(KerberosIdentity):
    """An identity with the tokens of a fake GSS-API context."""

    def __init__(self, failure: str) -> None:
        super().__init__("svc@R", CachedTickets(self._no_ticket, KdcThreads(), boottime))
        self._failure = failure

    @staticmethod
    def _no_ticket() -> KerberosTicket:
        raise AssertionError

    async def initiator(self, mechanism: Mechanism, timeout_s: float) -> Any:
        """Return the initiator of a fake context."""
        tokens = FakeTokens(FakeContext())
        if self._failure:
            tokens.failure = KerberosError(self._failure)
        return tokens


@pytest.mark.parametrize(
    ("failure", "mask", "kind"), [("", 4, bool), ("no", 4, RpcLoginError), ("", 8, FramingError)]
)
def test_a_login_over_rpc_leaves_no_cycle_on_uvloop(failure: str, mask: int, kind: type) -> None:
    """A publisher whose login fails may retry for weeks."""

    async def story() -> None:
        async with sasl_server(SaslServer(mask, body=YES.message.SerializeToString())) as server:
            with collected(garbage):
                await used(lambda: RpcConnection(server.address, "svc", identity=FakeIdentity(failure)), kind)

    garbage: list[object] = []
    uvloop.run(story())
    ours = RpcConnection | Wire | HadoopError | SaslHandshake
    assert [each for each in garbage if isinstance(each, ours)] == []


def test_a_call_to_the_kdc_that_fails_leaves_no_cycle_on_uvloop() -> None:
    """Its error comes from a thread whose frames refer to the future."""

    def fail() -> None:
        raise KerberosError("no ticket")

    async def asked(threads: KdcThreads) -> None:
        with pytest.raises(KerberosError):
            await threads.call(fail, timeout_s=HANG_S, what="x")

    async def story() -> None:
        threads = KdcThreads()
        await asked(threads)  # warm-up: objects that are made once
        with collected(garbage):
            for _ in range(3):
                await asked(threads)
            await until(lambda: not threads.running)

    garbage: list[object] = []
    uvloop.run(story())
    assert [each for each in garbage if isinstance(each, asyncio.Future | HadoopError)] == []
