"""ZooKeeper over TLS, with real servers: which servers the client trusts."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.sasl import login_of
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.tls import ZooKeeperTls, tls_of
from nncache.coordination.zookeeper import CreateOp, SetDataOp
from nncache.net.setting_error import SettingError
from nncache.testbed.certificates import Authority
from nncache.testbed.https import SERVER
from nncache.testbed.spec import ZooKeeperSecurity
from nncache.testbed.zookeepers import ZooKeeperEnsemble, ZooKeeperServer
from tests.cluster import HADOOP
from tests.coordination.test_sasl import digest
from tests.patience import HANG_S, until_so
from tests.tls import server_context

LARGE = b"x" * 700_000


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The certificate authority of the servers."""
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.issue(SERVER)
    return made


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[ZooKeeperServer]:
    """A server that requires client certificates, and has one user with a password."""
    security = ZooKeeperSecurity(tls=True, digest_users={"pub": "secret"}, client_certificates="need")
    with ZooKeeperServer(hadoop_version=HADOOP, security=security, authority=authority.ca.parent) as started:
        yield started


def settings(authority: Authority, address: str, **others: object) -> ZooKeeperSettings:
    """Return the settings of a client with a certificate."""
    issued = authority.issue("zkclient")
    own = {"zookeeper_certificate": str(issued.chain), "zookeeper_key": str(issued.key)}
    values: dict[str, object] = {"zookeeper_ca": str(authority.ca), **own, **others}
    return ZooKeeperSettings(
        zookeeper=tuple(address.split(",")),
        zookeeper_tls=True,
        zookeeper_session_timeout_s=20.0,
        **values,  # type: ignore[arg-type]  # texts
    )


@asynccontextmanager
async def session(of: ZooKeeperSettings) -> AsyncIterator[KazooSession]:
    """Enter a session with these settings."""
    async with KazooSession(of, time.monotonic, log_name="test", login=login_of(of, None)) as entered:
        yield entered


async def distrusted(of: ZooKeeperSettings, caplog: pytest.LogCaptureFixture) -> str:
    """Return the single log line about a server that we do not trust, or that does not trust us."""
    caplog.clear()

    def logged() -> list[str]:
        return [text for text in caplog.messages if text.startswith("test: ZooKeeper at")]

    async with session(of) as zookeeper:
        await until_so(lambda: bool(logged()))
        with pytest.raises(ConnectionLostError) as caught:
            await zookeeper.wait_connected(1.0)
        assert len(logged()) == 1, "tried several times, logged once"
    (text,) = logged()
    assert text.removeprefix("test: ZooKeeper at ").partition("; it is tried")[0] in str(caught.value)
    return text


async def test_a_tls_session_has_a_certificate_or_a_password(
    server: ZooKeeperServer, authority: Authority, tmp_path: Path
) -> None:
    """Small and large replies, many at once, and watches; SASL runs inside TLS."""
    by_password = digest(server, tmp_path, "secret")
    both = settings(
        authority,
        server.secure_address,
        zookeeper_sasl="digest",
        zookeeper_sasl_user="pub",
        zookeeper_password_file=by_password.zookeeper_password_file,
    )
    for number, of in enumerate((settings(authority, server.secure_address), both)):
        top = f"/over-tls-{number}"
        async with session(of) as zookeeper:
            await zookeeper.wait_connected(HANG_S)
            await zookeeper.commit([CreateOp(top, LARGE)])
            assert (await zookeeper.get(top)).data == LARGE
            paths = [f"{top}/{child}" for child in range(500)]
            await zookeeper.commit([CreateOp(path, b"c" * 300) for path in paths])
            found = await zookeeper.get_many(paths)
            assert all(each is not None and each.data == b"c" * 300 for each in found)
            watch = zookeeper.watch(top)
            await watch.read()
            await zookeeper.commit([SetDataOp(top, b"")])
            assert await watch.changed(HANG_S)


async def test_wrong_names_and_authorities_are_refused_with_advice(
    server: ZooKeeperServer, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A plain port, a client certificate that the server does not know, and a missing one are refused too."""
    other = Authority(tmp_path / "other")
    own = settings(authority, server.secure_address)
    stranger = settings(other, server.secure_address, zookeeper_ca=str(authority.ca))
    none = ZooKeeperSettings(zookeeper=own.zookeeper, zookeeper_tls=True, zookeeper_ca=own.zookeeper_ca)
    for of, what in (
        (
            settings(authority, server.secure_address, zookeeper_ca=str(other.ca)),
            "zookeeper_ca must name the PEM file",
        ),
        (stranger, "set zookeeper_certificate and zookeeper_key"),
        (none, "set zookeeper_certificate and zookeeper_key"),
    ):
        text = await distrusted(of, caplog)
        assert what in text, text
        assert text.startswith(f"test: ZooKeeper at {of.zookeeper[0]}: ")
    async with session(settings(authority, server.address)) as zookeeper:
        await until_so(lambda: "name the secureClientPort in zookeeper" in zookeeper._connection.complaint)  # noqa: SLF001 - what calls raise
    elsewhere = await asyncio.start_server(
        lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=server_context(authority, "elsewhere.example")
    )
    async with elsewhere:
        address = f"localhost:{elsewhere.sockets[0].getsockname()[1]}"
        text = await distrusted(settings(authority, address), caplog)
    assert "name the ZooKeeper server in zookeeper as its certificate does" in text


async def test_files_that_are_replaced_are_read_again(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They are read at the next connection. An unusable file is logged, and the previous one stays in force."""
    file = tmp_path / "ca.pem"
    file.write_bytes(authority.ca.read_bytes())
    of = ZooKeeperSettings(zookeeper=("localhost:1",), zookeeper_tls=True, zookeeper_ca=str(file))
    tls = ZooKeeperTls(of)
    caplog.set_level(logging.INFO)
    first = tls.context
    assert tls.context is first
    file.write_text("broken", encoding="utf-8")
    assert tls.context is first
    assert "zookeeper_ca" in caplog.messages[-1]
    assert "stay in force" in caplog.messages[-1]
    file.write_bytes(Authority(tmp_path / "next").ca.read_bytes())
    assert tls.context is not first
    assert "were read again" in caplog.messages[-1]


async def test_a_new_certificate_of_a_trusted_ca_is_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The file of zookeeper_ca is replaced, without a restart."""
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    new.issue(SERVER)
    file = tmp_path / "ca.pem"
    file.write_bytes(old.ca.read_bytes())
    security = ZooKeeperSecurity(tls=True, client_certificates="none")
    with ZooKeeperServer(hadoop_version=HADOOP, security=security, authority=new.ca.parent) as started:
        of = ZooKeeperSettings(
            zookeeper=(started.secure_address,), zookeeper_tls=True, zookeeper_ca=str(file)
        )
        async with session(of) as zookeeper:
            await until_so(lambda: "zookeeper_ca must name" in caplog.text)
            file.write_bytes(new.ca.read_bytes())
            await zookeeper.wait_connected(HANG_S)


@pytest.mark.long
async def test_a_session_survives_the_leader_of_an_ensemble_over_tls(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """The same session continues at another server, with its data."""
    security = ZooKeeperSecurity(tls=True, client_certificates="need")
    caplog.set_level(logging.INFO)
    with ZooKeeperEnsemble(
        hadoop_version=HADOOP, security=security, authority=authority.ca.parent
    ) as ensemble:
        async with session(settings(authority, ensemble.secure_address)) as zookeeper:
            await zookeeper.wait_connected(HANG_S)
            await zookeeper.commit([CreateOp("/kept", b"x"), CreateOp("/ours", b"", ephemeral=True)])
            before = zookeeper.session_id
            for _ in range(2):  # the client may not have been connected to the first leader
                leader = ensemble.leader()
                leader.process.kill()
                await until_so(lambda: not zookeeper.is_connected or bool(zookeeper.stats().connections))
                async with asyncio.timeout(HANG_S):
                    while True:
                        try:
                            assert (await zookeeper.get("/ours")).owner_session == before
                            await zookeeper.commit([SetDataOp("/kept", b"y")])
                            break
                        except ConnectionLostError:
                            await asyncio.sleep(0.05)
                leader.process.start()
            assert zookeeper.session_id == before
            assert zookeeper.stats().sessions == 1


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"zookeeper_ca": "/x"}, "zookeeper_ca: /x: needs zookeeper_tls"),
        ({"zookeeper_tls": True, "zookeeper_certificate": "/x"}, "zookeeper_key: none: must be given too"),
        ({"zookeeper_tls": True, "zookeeper_key": "/x"}, "zookeeper_certificate: none: must be given too"),
    ],
)
def test_settings_that_do_not_fit_together(values: dict[str, object], what: str) -> None:
    """A file without TLS, a certificate without its key, a key without its certificate."""
    with pytest.raises(SettingError, match=what):
        ZooKeeperSettings(**values)  # type: ignore[arg-type]  # texts and a switch


def test_files_that_cannot_be_used_name_their_setting(authority: Authority, tmp_path: Path) -> None:
    """A missing file, a certificate without its own key, a key that others may read."""
    assert tls_of(ZooKeeperSettings()) is None
    own, other = authority.issue("one"), authority.issue("two")
    key = tmp_path / "key"
    key.touch(mode=0o600)
    key.write_bytes(own.key.read_bytes())
    for certificate, its_key, mode, what in (
        (str(tmp_path / "none"), str(key), 0o600, "zookeeper_certificate: .*cannot be read"),
        (str(other.chain), str(key), 0o600, "zookeeper_certificate: .*with the key of zookeeper_key"),
        (str(own.chain), str(key), 0o640, "zookeeper_key: .*has mode 0640"),
    ):
        key.chmod(mode)
        of = ZooKeeperSettings(zookeeper_tls=True, zookeeper_certificate=certificate, zookeeper_key=its_key)
        with pytest.raises(SettingError, match=what):
            tls_of(of)
