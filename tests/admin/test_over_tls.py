"""An admin port over TLS: pages, handshakes that are bounded, a certificate that is replaced."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from nncache.admin.access import Access
from nncache.admin.connections import LIFETIME_S, Connections
from nncache.admin.over_tls import listening
from nncache.admin.server import Action, AdminServer, Page, as_json, daemon_pages
from nncache.net.endpoint import Endpoint
from nncache.proxy.clients import tls_listener
from nncache.proxy.clients.server_certificate import CertificateFiles, ServerCertificate
from nncache.testbed.certificates import Authority
from tests.admin.test_server import Awake
from tests.patience import HANG_S
from tests.proxy.wire import until

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
    async with AdminServer(Endpoint("127.0.0.1", 0), pages, str, access=access) as server:
        yield server, certificate


async def test_pages_are_served_and_plain_http_is_not(tmp_path: Path) -> None:
    """To who trusts the authority; what changes something may come from its own origin alone, which is https."""
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
    """Without a restart; one that cannot be used is counted, and the one before stays."""
    monkeypatch.setattr(tls_listener, "LOOK_EVERY_S", 0.01)
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
    """They hold files of the process, as connections do; the next one is closed at once."""
    issued = Authority(tmp_path).issue("admin")
    certificate = ServerCertificate(CertificateFiles(certificate=str(issued.chain), key=str(issued.key)))
    connections = Connections(asyncio.Protocol, max_connections=8, lifetime_s=LIFETIME_S)
    async with listening(connections, certificate, Endpoint("127.0.0.1", 0)) as at:
        async with asyncio.timeout(HANG_S):
            silent = [await asyncio.open_connection(at.host, at.port) for _ in range(8)]
            assert await silent[-1][0].read() == b""
        assert not any(reader.at_eof() for reader, _ in silent[:-1])
        assert connections.open == 0
        for _, writer in silent:
            writer.transport.abort()


async def test_an_address_that_is_taken_is_an_error_of_the_system(tmp_path: Path) -> None:
    """As in plain HTTP."""
    authority = Authority(tmp_path)
    async with serving(authority) as (server, certificate):
        second = AdminServer(server.address, (), str, access=Access("127.0.0.1", certificate=certificate))
        with pytest.raises(OSError, match="in use"):
            await second.__aenter__()
