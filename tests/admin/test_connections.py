"""Limits of an admin port on the number, origin and lifetime of connections, on both event loops (conftest.py)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import aiohttp
import pytest

from nncache.admin.access import Access
from nncache.admin.connections import LIFETIME_S, MAX_CONNECTIONS, ConnectionLimiter, listening
from nncache.admin.server import Action, AdminServer, Page, PageContent, as_json, daemon_pages
from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress
from nncache.testbed.certificates import Authority
from nncache.tls_server import listener
from nncache.tls_server.certificate import CertificateFiles, ServerCertificate
from tests.admin.test_server import Awake
from tests.patience import HANG_S
from tests.proxy.wire import until

Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LONG = b"GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""Requests more than all buffers between server and client hold."""

LONG_BODY = bytes(32 << 20)


class Fixture:
    """A server, and the clients of a test."""

    def __init__(self, *, max_connections: int, lifetime_s: float) -> None:
        pages = (
            Page("/health", "the process lives", lambda _: as_json({"alive": True})),
            Page("/long", "more than anybody reads", lambda _: PageContent(LONG_BODY, "text/plain")),
        )
        self.server = AdminServer(
            ListenAddress("127.0.0.1", 0),
            pages,
            lambda: "",
            max_connections=max_connections,
            lifetime_s=lifetime_s,
        )
        self.clients = contextlib.ExitStack()

    async def connect(self, sent: bytes = b"") -> Client:
        """Connect and send these bytes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.address.port)
        self.clients.callback(writer.close)
        writer.write(sent)
        return reader, writer

    @property
    def open(self) -> int:
        """Number of the server's open connections."""
        return self.server.stats().connections_open

    @property
    def refused(self) -> int:
        """Number of connections that were closed on arrival."""
        return self.server.stats().connections_refused


@asynccontextmanager
async def fixture(
    *, max_connections: int = MAX_CONNECTIONS, lifetime_s: float = HANG_S
) -> AsyncIterator[Fixture]:
    """Start a server on a free port; connections do not expire during a test unless a lifetime is given."""
    made = Fixture(max_connections=max_connections, lifetime_s=lifetime_s)
    async with asyncio.timeout(HANG_S), made.server:
        with made.clients:
            yield made


async def read_until_eof(client: Client) -> bytes:
    """Return all bytes that the server sends until it closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        return await client[0].read()
    return b""


async def test_a_connection_beyond_the_bound_is_closed_at_once() -> None:
    """It is counted, not logged (conftest.py). A freed place can be taken again."""
    async with fixture(max_connections=8) as s:
        silent = [await s.connect() for _ in range(4)]
        await until(lambda: s.open == 4)
        assert await read_until_eof(await s.connect()) == b""
        assert (s.open, s.refused) == (4, 1)
        silent[0][1].close()
        await until(lambda: s.open == 3)
        assert b'"alive": true' in await read_until_eof(await s.connect(HEALTH))


async def test_the_bound_holds_in_a_burst() -> None:
    """C1: the event loop may create many protocols before it connects the first of them."""
    async with fixture() as s:
        crowd = await asyncio.gather(*(s.connect() for _ in range(100)))
        await until(lambda: s.open + s.refused == len(crowd))
        assert s.open <= MAX_CONNECTIONS
        async with asyncio.TaskGroup() as group:
            ends = [group.create_task(read_until_eof(client)) for client in crowd]
            await until(lambda: sum(end.done() for end in ends) == s.refused)
            for end in ends:
                end.cancel()


async def test_a_client_that_never_reads_is_ended() -> None:
    """C2: a response that the client does not read has no deadline of its own, however many are requested."""
    async with fixture(lifetime_s=0.2) as s:
        for _ in range(3):
            _, writer = await s.connect()
            cast(asyncio.ReadTransport, writer.transport).pause_reading()
            await until(lambda writer=writer: is_cut(writer))  # type: ignore[misc] # the loop's writer
        await until(lambda: s.open == 0)
        assert s.refused == 0


def is_cut(writer: asyncio.StreamWriter) -> bool:
    """Request more; return whether the server has ended the connection, which this client learns by sending."""
    writer.write(LONG)
    return writer.transport.is_closing()


async def test_a_client_that_says_nothing_is_ended() -> None:
    """C2: there is no other deadline before the first request or within a request head."""
    async with fixture(lifetime_s=0.2) as s:
        clients = [await s.connect(sent) for sent in (b"", b"GET /hea")]
        assert [await read_until_eof(client) for client in clients] == [b"", b""]
        await until(lambda: s.open == 0)


async def test_a_connection_carries_one_request() -> None:
    """The server closes it after the reply, even a 404, so neither polls nor pipelined requests hold a place."""
    async with fixture() as s:
        for asked, status in ((HEALTH, b"200"), (HEALTH.replace(b"/health", b"/none"), b"404")):
            answer = await read_until_eof(await s.connect(asked))
            assert answer.startswith(b"HTTP/1.1 " + status)
            assert b"\r\nConnection: close\r\n" in answer
        await until(lambda: s.open == 0)


class Transport(asyncio.Transport):
    """The transport that an event loop would give to a protocol."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 40_000)})
        self.is_aborted = False

    def abort(self) -> None:
        """Close the connection immediately."""
        self.is_aborted = True


async def test_a_client_that_leaves_in_time_leaves_no_timer() -> None:
    """The timer would keep the connection's objects until the end of its lifetime, and outlive the event loop."""
    connections = ConnectionLimiter(asyncio.Protocol, max_connections=8, lifetime_s=0)
    stays, leaves = Transport(), Transport()
    connections().connection_made(stays)
    gone = connections()
    gone.connection_made(leaves)
    gone.connection_lost(None)
    await until(lambda: stays.is_aborted)
    assert not leaves.is_aborted


def test_this_host_and_others_take_no_place_of_each_other() -> None:
    """C3: a probe on this host is served while other hosts hold all their connections, and vice versa."""
    for crowd, newcomers in (
        ([f"10.0.0.{n}" for n in range(200)], ("127.0.0.1", "::1", "::ffff:127.0.0.1")),
        (["127.0.0.1"] * 200, ("10.0.0.1", "2001:db8::1")),
    ):
        connections = ConnectionLimiter(
            asyncio.Protocol, max_connections=MAX_CONNECTIONS, lifetime_s=LIFETIME_S
        )
        admitted = [address for address in crowd if connections.admit(address)]
        assert 0 < len(admitted) <= MAX_CONNECTIONS // 2
        assert connections.refused == len(crowd) - len(admitted)
        for address in newcomers:
            assert connections.admit(address), address
        for address in (*admitted, *newcomers):
            connections.leave(address)
        assert connections.open == 0


def test_one_address_gets_a_part() -> None:
    """Another address still finds a free place. An IPv6 network counts as one address."""
    connections = ConnectionLimiter(asyncio.Protocol, max_connections=MAX_CONNECTIONS, lifetime_s=LIFETIME_S)
    for n in range(200):
        connections.admit(f"2001:db8::{n:x}")
    assert connections.admit("10.0.0.1")


ACTION = Action("/do", lambda *_: as_json({}))


@asynccontextmanager
async def serving(authority: Authority) -> AsyncIterator[tuple[AdminServer, ServerCertificate]]:
    """Serve a daemon's pages with a certificate of this authority."""
    issued = authority.issue("admin")
    certificate = ServerCertificate(
        CertificateFiles(certificate=str(issued.chain), key=str(issued.key), prefix="admin_tls_")
    )
    access = Access("127.0.0.1", certificate=certificate)
    pages: tuple[Page | Action, ...] = (
        *daemon_pages(lambda: Awake(True), "it is awake", lambda: b"naps_total 1\n"),
        ACTION,
    )
    async with AdminServer(ListenAddress("127.0.0.1", 0), pages, str, access=access) as server:
        yield server, certificate


async def test_pages_are_served_and_plain_http_is_not(tmp_path: Path) -> None:
    """Clients must trust the authority. A change is accepted only from the port's own origin, which is https."""
    authority = Authority(tmp_path)
    async with serving(authority) as (server, certificate), aiohttp.ClientSession() as session:
        assert server.url == f"https://{server.address}/"
        trusts = authority.client_context()
        async with session.get(f"{server.url}metrics", ssl=trusts) as reply:
            assert await reply.text() == "naps_total 1\n"
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(f"{server.url}metrics")
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://{server.address}/metrics")
        for origin, status in ((f"https://{server.address}", 200), (f"http://{server.address}", 403)):
            async with session.post(f"{server.url}do", ssl=trusts, headers={"Origin": origin}) as reply:
                assert reply.status == status
        assert server.stats().certificate_ends_at == certificate.ends_at > 0


async def test_a_certificate_that_is_replaced_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No restart is needed. An unusable certificate is counted, and the previous one stays."""
    monkeypatch.setattr(listener, "LOOK_EVERY_S", 0.01)
    authority = Authority(tmp_path)
    async with serving(authority) as (server, certificate):
        before = certificate.ends_at
        issued = authority.issue("admin", not_after=datetime.now(UTC) + timedelta(days=7))
        await until(lambda: server.stats().certificate_ends_at not in {0.0, before})
        failed = server.stats().certificate_reloads_failed
        issued.chain.write_text("none")
        await until(lambda: server.stats().certificate_reloads_failed > failed)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{server.url}health", ssl=authority.client_context()) as reply,
        ):
            assert reply.status == 200


async def test_handshakes_under_way_have_a_bound(tmp_path: Path) -> None:
    """They hold file descriptors, as connections do. The next handshake is closed immediately."""
    issued = Authority(tmp_path).issue("admin")
    certificate = ServerCertificate(CertificateFiles(certificate=str(issued.chain), key=str(issued.key)))
    connections = ConnectionLimiter(asyncio.Protocol, max_connections=8, lifetime_s=LIFETIME_S)
    async with listening(connections, certificate, ListenAddress("127.0.0.1", 0)) as at:
        async with asyncio.timeout(HANG_S):
            silent = [await asyncio.open_connection(at.host, at.port) for _ in range(8)]
            assert await silent[-1][0].read() == b""
        assert not any(reader.at_eof() for reader, _ in silent[:-1])
        assert connections.open == 0
        for _, writer in silent:
            writer.transport.abort()


async def test_an_address_that_is_taken_is_an_error_of_the_system(tmp_path: Path) -> None:
    """It is the same error as with plain HTTP."""
    authority = Authority(tmp_path)
    async with serving(authority) as (server, certificate):
        second = AdminServer(server.address, (), str, access=Access("127.0.0.1", certificate=certificate))
        with pytest.raises(StartError, match="in use"):
            await second.__aenter__()
