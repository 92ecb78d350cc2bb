"""TLS errors are explained with a remedy; the handshakes here really fail."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from nncache.net.http_failure import why_unanswered
from nncache.net.setting_error import SettingError
from nncache.net.tls_client import client_context
from nncache.net.tls_failure import why_no_tls
from nncache.testbed.certificates import Authority
from tests.patience import HANG_S
from tests.tls import server_context

LONG_AGO = datetime.now(UTC) - timedelta(days=9)


async def failure(server: ssl.SSLContext | bytes, client: ssl.SSLContext) -> str:
    """Do a handshake, and return why it fails; a server given as bytes answers these without TLS."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if isinstance(server, bytes):
            await reader.read(1)
            writer.write(server)
        writer.close()

    context = None if isinstance(server, bytes) else server
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(ssl.SSLError) as caught:
            await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="localhost")
    return why_no_tls(caught.value)


def expired(authority: Authority) -> ssl.SSLContext:
    """Return a server context with an expired certificate."""
    issued = authority.issue("old", "localhost", not_before=LONG_AGO, not_after=LONG_AGO + timedelta(days=1))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.chain, issued.key)
    return context


@pytest.mark.parametrize(
    ("server", "advice"),
    [
        (
            lambda own: server_context(own, "127.0.0.1"),
            "name the NameNode in namenode_http as its certificate does",
        ),
        (lambda own: server_context(own, "nn1.example"), "Hostname mismatch"),
        (expired, "certificate has expired: renew it, or set this host's clock"),
        (lambda _: b"\x15\x03\x01\x00\x02\x02\x46", "it has no TLS 1.2: enable TLSv1.2 or TLSv1.3"),
        (lambda _: b"HTTP/1.1 400 Illegal character\r\n\r\n", "if that is its plain HTTP port"),
        (lambda _: b"\x15\x03\x03\x00\x02\x02\x28", "the TLS handshake failed: "),
    ],
    ids=["IP only", "another host", "expired", "old", "plain", "alert"],
)
async def test_it_says_what_to_do(
    tmp_path: Path, server: Callable[[Authority], ssl.SSLContext | bytes], advice: str
) -> None:
    """The causes are the certificate's name and dates, the TLS version, and a port without TLS."""
    authority = Authority(tmp_path)
    assert advice in await failure(server(authority), authority.client_context())


async def test_an_unknown_authority_is_a_matter_of_namenode_ca(tmp_path: Path) -> None:
    """The authority that signed the certificate is not in the file."""
    other = Authority(tmp_path / "other").client_context()
    text = await failure(server_context(Authority(tmp_path / "own")), other)
    assert text.endswith("namenode_ca must name the PEM file of the authority that signed it")
    assert "Host name" not in text


def test_a_server_that_wants_a_certificate_of_ours() -> None:
    """TLS 1.3 reports this after the handshake."""
    error = ssl.SSLError(1, "x")
    error.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert "dfs.client.https.need-auth" in why_no_tls(error)
    error.reason = None  # type: ignore[assignment] # as of errors that are not OpenSSL's
    assert "x" in why_no_tls(error)


# ---- which certificates a client trusts; NameNodes and ZooKeeper have tests of their own -----------


def test_names_are_checked_whatever_is_believed(tmp_path: Path) -> None:
    """A client trusts the authorities of a file alone, or those of the operating system."""
    ours = client_context("some_ca", str(Authority(tmp_path).ca))
    assert len(ours.get_ca_certs()) == 1
    for context in (ours, client_context("some_ca", "")):
        assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_file_that_cannot_be_used_is_named_with_its_setting(tmp_path: Path) -> None:
    """The file may be missing, or not be PEM."""
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    for name, why in (
        ("none.pem", "cannot be read: No such file"),
        ("store.jks", "holds no certificate in PEM form"),
    ):
        with pytest.raises(SettingError, match=f"some_ca: {tmp_path}/{name}: {why}"):
            client_context("some_ca", str(tmp_path / name))


async def failure_of(address: str) -> str:
    """Send an HTTP request to an address; return why there is no answer."""
    timeout = aiohttp.ClientTimeout(total=HANG_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        try:
            async with session.get(f"http://{address}/"):
                return ""
        except (aiohttp.ClientError, OSError) as exc:
            return why_unanswered(exc)


async def test_no_listener() -> None:
    """The message has the address and errno, and does not mention ssl."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    reported = await failure_of(f"127.0.0.1:{port}")
    assert reported == f"cannot connect to 127.0.0.1:{port}: [Errno 111] Connection refused"


async def test_no_such_host() -> None:
    """The message names the host, so that it is clear which of several addresses failed."""
    text = await failure_of("no-such-host.invalid:1")
    assert text.startswith("host no-such-host.invalid cannot be resolved: ")


@pytest.mark.parametrize(
    ("says", "text"),
    [(b"SSH-2.0-x\r\n\r\n", "it answers, and not in HTTP"), (b"", "it closed the connection")],
)
async def test_a_server_of_another_protocol(says: bytes, text: str) -> None:
    """The server answers in another protocol, or closes the connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(says)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await failure_of(f"127.0.0.1:{port}")).startswith(text)


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        (TimeoutError(), "no answer in time"),
        (OSError(113, "No route to host"), "[Errno 113] No route to host"),
        (ValueError("odd"), "odd"),
        (ValueError(), "ValueError"),
    ],
)
def test_there_is_always_a_reason(exc: Exception, text: str) -> None:
    """The reason is never empty, although some exceptions have no text."""
    assert why_unanswered(exc) == text
