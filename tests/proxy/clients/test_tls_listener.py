"""TLS clients are served like all others; an unfinished handshake counts against a share, for a limited time."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from nncache.clock import boottime
from nncache.daemons.supervision import keep_running
from nncache.errors import StartError
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.testbed.certificates import Authority
from nncache.tls_server.listener import TlsListener, TlsStats
from tests.patience import HANG_S
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import GET, limits_of_tests, read_body, until


async def hello(request: Request) -> RawResponse:
    """Answer with the request's body, or `hello`."""
    return RawResponse(200, "OK", (), body=await read_body(request) or b"hello")


def settings_of(authority: Authority, tls_port: int = 0, *, wants_clients: bool = False) -> ProxySettings:
    """Return settings of a proxy with a plain port and a TLS port."""
    issued = authority.issue("proxy")
    return ProxySettings(
        listen="127.0.0.1:0",
        tls_listen=f"127.0.0.1:{tls_port}",
        tls_certificate=str(issued.chain),
        tls_key=str(issued.key),
        tls_client_ca=str(authority.ca) if wants_clients else "",
    )


@asynccontextmanager
async def listening(
    authority: Authority,
    limits: LimitSettings | None = None,
    *,
    wants_clients: bool = False,
    handler: Handler = hello,
) -> AsyncIterator[tuple[Server, TlsListener]]:
    """Run a server on both ports."""
    server = Server(handler, fast_path_alone(boottime), limits or limits_of_tests())
    await server.listen(settings_of(authority, wants_clients=wants_clients), boottime)
    assert server.tls is not None
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(keep_running(*each)) for each in server.background]
        try:
            yield server, server.tls
        finally:
            await server.stop()
            for each in running:
                each.cancel()


async def connect(
    tls: TlsListener, context: ssl.SSLContext, **more: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect as a client that verifies the host name."""
    return await asyncio.open_connection(
        "127.0.0.1", tls.port, ssl=context, server_hostname="localhost", **more
    )


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_is_served_over_tls(authority: Authority, version: ssl.TLSVersion) -> None:
    """Both versions work, for several requests on one connection and for a large body."""
    context = authority.client_context()
    context.minimum_version = context.maximum_version = version
    body = b"x" * 300_000
    async with listening(authority) as (server, tls):
        reader, writer = await connect(tls, context)
        for _ in range(3):
            writer.write(GET)
            assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 OK")
        writer.write(b"PUT / HTTP/1.1\r\nHost: nn\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(len(body)) == body
        assert (tls.stats().handshakes, server.stats().connections_open) == (1, 1)
        writer.close()
        await until(lambda: server.stats().connections_open == 0)


async def test_what_is_no_handshake_is_counted_and_logged(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """A client whose URL begins with http:// sends plain HTTP to this port."""
    async with listening(authority) as (server, tls):
        reader, writer = await asyncio.open_connection("127.0.0.1", tls.port)
        writer.write(GET)
        await reader.read()
        writer.close()
        await until(lambda: tls.stats().handshakes_failed == 1)
        assert "its URL must begin with https://" in caplog.text
        assert server.stats().connections_accepted == 0


async def test_a_client_that_trusts_another_authority_goes(authority: Authority, tmp_path: Path) -> None:
    """The client closes the connection before it is sent anything."""
    other = Authority(tmp_path / "other")
    async with listening(authority) as (_, tls):
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(tls, other.client_context())
        await until(lambda: tls.stats().handshakes_failed == 1)


async def test_only_clients_of_an_authority_are_let_in(authority: Authority) -> None:
    """This applies if `tls_client_ca` is set."""
    async with listening(authority, wants_clients=True) as (server, tls):
        reader, writer = await connect(tls, authority.client_context(authority.issue("client")))
        writer.write(GET)
        await reader.readuntil(b"hello")
        assert server.stats().connections_accepted == 1
        writer.close()
        with suppress(ssl.SSLError, ConnectionError):  # which error, and where, depends on the client
            reader, writer = await connect(tls, authority.client_context())
            writer.write(GET)
            assert not await reader.read()
        await until(lambda: tls.stats().handshakes_failed == 1)
        assert server.stats().connections_accepted == 1


async def test_handshakes_have_their_time_and_their_share(authority: Authority) -> None:
    """An address may have seven eighths of all open handshakes; each one ends after `head_timeout_s`."""
    limits = limits_of_tests(max_connections=16, head_timeout_s=1.0)
    async with listening(authority, limits) as (server, tls):
        silent = [socket.create_connection(("127.0.0.1", tls.port)) for _ in range(16)]
        await until(lambda: tls.stats().handshakes_refused == 2)
        reader, writer = await connect(tls, authority.client_context(), local_addr=("127.0.0.2", 0))
        writer.write(GET)
        await reader.readuntil(b"hello")
        await until(lambda: tls.stats().handshakes_failed == 14)
        assert server.stats().connections_open == 1
        writer.close()
        for each in silent:
            each.close()


async def test_a_stopped_server_accepts_nobody(authority: Authority) -> None:
    """Neither port accepts connections, while requests in progress finish."""
    async with listening(authority) as (server, tls):
        port = tls.port
        await server.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_an_address_in_use_is_named(authority: Authority) -> None:
    """The plain port is released as well."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = settings_of(authority, taken.getsockname()[1])
        server = Server(hello, fast_path_alone(boottime), limits_of_tests())
        with pytest.raises(StartError, match=r"tls_listen: .*in use"):
            await server.listen(settings, boottime)
        assert (server.tls, server.tls_stats()) == (None, TlsStats())


class Listing:
    """A handler that answers with so many bytes, in parts; the kernel keeps few of them, as on a slow network."""

    def __init__(self, size: int, limits: LimitSettings) -> None:
        self.size = size
        self.limits = limits
        self.response = RawResponse(200, "OK", ())  # the last one

    async def __call__(self, request: Request) -> RawResponse:
        """Answer."""
        assert request.transport is not None
        request.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32_768)
        response = self.response = RawResponse(200, "OK", (), length=self.size, limits=self.limits)
        response.prepare(request)
        for _ in range(self.size // PART):
            await response.write(b"x" * PART)
        return response

    def read(self, port: int, context: ssl.SSLContext, end: bytes, *, rate_bytes_s: float) -> int:
        """Ask as a client that reads this fast, and return the length of the body."""
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
            sock.connect(("127.0.0.1", port))
            with context.wrap_socket(sock, server_hostname="localhost") as client:
                client.sendall(GET.removesuffix(b"\r\n") + end + b"\r\n")
                got = b""
                while b"\r\n\r\n" not in got or len(got.partition(b"\r\n\r\n")[2]) < self.size:
                    piece = client.recv(PART)
                    if not piece:
                        break
                    got += piece
                    time.sleep(len(piece) / rate_bytes_s)
        return len(got.partition(b"\r\n\r\n")[2])


PART = 65_536


@pytest.mark.parametrize(
    ("end", "parts"), [(b"", 20), (b"Connection: close\r\n", 9)], ids=["stays", "closes"]
)
async def test_who_reads_fast_enough_over_tls_gets_all(authority: Authority, end: bytes, parts: int) -> None:
    """TLS and the transport below it hold a megabyte that the client has not read, also of a closed connection."""
    limits = limits_of_tests(body_timeout_s=1.0, head_timeout_s=1.0, min_body_rate_bytes_s=1_024)
    listing = Listing(parts * PART, limits)
    async with listening(authority, limits, handler=listing) as (_, tls):
        got = asyncio.to_thread(listing.read, tls.port, authority.client_context(), end, rate_bytes_s=300_000)
        assert await got == listing.size


async def test_who_never_reads_over_tls_is_let_go(authority: Authority) -> None:
    """The rest of the last reply is not waited for longer than `body_timeout_s`."""
    limits = limits_of_tests(body_timeout_s=0.2)
    async with listening(authority, limits, handler=Listing(5 * PART, limits)) as (server, tls):
        reader, writer = await connect(tls, authority.client_context(), limit=1_024)
        writer.write(GET.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        await until(lambda: server.stats().connections_open == 0)
        writer.close()


async def test_an_idle_client_over_tls_does_not_hold_a_stop_up(authority: Authority) -> None:
    """A client that keeps its connection for later does not answer TLS's close: it has `head_timeout_s`."""
    limits = limits_of_tests(head_timeout_s=0.5, body_timeout_s=10 * HANG_S, drain_timeout_s=10 * HANG_S)

    def ask(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
        client = context.wrap_socket(
            socket.create_connection(("127.0.0.1", port)), server_hostname="localhost"
        )
        client.sendall(GET)
        assert client.recv(PART)
        return client

    async with listening(authority, limits) as (server, tls):
        with await asyncio.to_thread(ask, tls.port, authority.client_context()):
            await server.stop()
        assert server.stats().connections_open == 0


async def test_a_reply_waits_for_its_reader_over_tls_too(authority: Authority) -> None:
    """Memory for clients that do not read is bounded: a reply that waits keeps its connection to the NameNode."""
    limits = limits_of_tests(body_timeout_s=0.5)
    listing = Listing(40 * PART, limits)
    async with listening(authority, limits, handler=listing) as (server, tls):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        sock.connect(("127.0.0.1", tls.port))
        context = authority.client_context()
        with await asyncio.to_thread(context.wrap_socket, sock, server_hostname="localhost") as client:
            client.sendall(GET)
            await until(lambda: server.stats().connections_accepted == 1)
            await until(lambda: server.stats().connections_open == 0)
        assert PART < listing.response.sent_bytes < 10 * PART


@pytest.mark.parametrize("asks", [0, 1, 6], ids=["nothing", "once", "often"])
async def test_a_client_that_leaves_is_no_line_in_the_log(
    authority: Authority, asks: int, caplog: pytest.LogCaptureFixture
) -> None:
    """`openssl s_client </dev/null`, after any number of requests. asyncio warns if a half stays open over TLS."""
    async with listening(authority) as (server, tls):
        reader, writer = await connect(tls, authority.client_context())
        for _ in range(asks):
            writer.write(GET)
            await reader.readuntil(b"hello")
        writer.close()
        await until(lambda: tls.stats().handshakes == 1 and server.stats().connections_open == 0)
    assert caplog.records == []
