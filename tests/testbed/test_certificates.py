"""Certificates that clients trust, or have a reason not to."""

import asyncio
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from nncache.testbed.certificates import Authority, Certificate
from nncache.testbed.https import STORE_PASSWORD

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One for this module."""
    return Authority(tmp_path_factory.mktemp("tls"))


async def greeting(
    server: Certificate, client: ssl.SSLContext, host: str, *, clients_of: Authority | None = None
) -> str:
    """Connect to a server with that certificate under that name; return which client it sees, by its certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(server.chain, server.key)
    if clients_of is not None:
        context.load_verify_locations(clients_of.ca)
        context.verify_mode = ssl.CERT_REQUIRED

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown = writer.get_extra_info("peercert") or {}
        names = dict(part[0] for part in shown.get("subject", ()))
        writer.write(f"{names.get('commonName', 'nobody')}\n".encode())
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname=host)
        try:
            return (await reader.readline()).decode().strip()
        finally:
            writer.close()


async def test_who_trusts_the_authority_trusts_what_it_issues(authority: Authority) -> None:
    """Under the names that are in the certificate, and no others."""
    server = authority.issue("server")
    for host in ("localhost", "127.0.0.1"):
        assert await greeting(server, authority.client_context(), host) == "nobody"
    with pytest.raises(ssl.SSLCertVerificationError, match="proxyhost"):
        await greeting(server, authority.client_context(), "proxyhost")
    assert (
        await greeting(authority.issue("p", "proxyhost"), authority.client_context(), "proxyhost") == "nobody"
    )


async def test_others_do_not(authority: Authority, tmp_path: Path) -> None:
    """Another authority is another, though it has the same name."""
    with pytest.raises(ssl.SSLCertVerificationError, match=r"unable to get local issuer|self-signed"):
        await greeting(authority.issue("server"), Authority(tmp_path / "other").client_context(), "localhost")


async def test_one_that_has_ended_is_refused(authority: Authority) -> None:
    """And so is one that has yet to begin."""
    ended = authority.issue("ended", not_before=LONG_AGO, not_after=LONG_AGO.replace(month=2))
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        await greeting(ended, authority.client_context(), "localhost")


async def test_a_client_may_have_one(authority: Authority) -> None:
    """A server that asks for it sees its name."""
    context = authority.client_context(authority.issue("zkclient"))
    assert await greeting(authority.issue("server"), context, "localhost", clients_of=authority) == "zkclient"


def test_a_subject_is_the_same_each_time(authority: Authority) -> None:
    """ACLs of ZooKeeper name it."""
    first, second = authority.issue("zkclient"), authority.issue("zkclient")
    assert first.subject == second.subject == "CN=zkclient,OU=test bed,O=nncache"
    assert first.chain == second.chain


def test_keys_are_their_owners(authority: Authority) -> None:
    """The authority's own, too."""
    issued = authority.issue("server")
    for file in (issued.key, issued.keystore, authority.ca.with_name("ca.key")):
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_keystore_holds_the_same_certificate(authority: Authority) -> None:
    """Java reads that one."""
    issued = authority.issue("server")
    stored = pkcs12.load_pkcs12(issued.keystore.read_bytes(), STORE_PASSWORD.encode())
    assert stored.cert is not None
    assert stored.cert.certificate.subject.rfc4514_string() == issued.subject


async def test_an_authority_is_kept(tmp_path: Path) -> None:
    """In its directory: what it has issued is trusted after the next start."""
    issued = Authority(tmp_path / "tls").issue("server")
    assert await greeting(issued, Authority(tmp_path / "tls").client_context(), "localhost") == "nobody"
