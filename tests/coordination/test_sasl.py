"""Logging in at a real ZooKeeper that requires a login."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nncache.coordination import connection
from nncache.coordination.errors import CoordinationError
from nncache.coordination.sasl import DigestLogin, KerberosLogin, login_of
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.net.setting_error import SettingError
from nncache.testbed.spec import REALM, ZooKeeperSecurity
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import HADOOP
from tests.kerberos import KdcServer, clients_of, need_gssapi
from tests.patience import HANG_S

PASSWORD = "secret"


@pytest.fixture(scope="module")
def by_password() -> Iterator[ZooKeeperServer]:
    """A server with one user and password."""
    security = ZooKeeperSecurity(digest_users={"pub": PASSWORD}, sasl_required=True)
    with ZooKeeperServer(hadoop_version=HADOOP, security=security) as server:
        yield server


@pytest.fixture(scope="module")
def by_ticket(kdc_server: KdcServer) -> Iterator[ZooKeeperServer]:
    """A server with Kerberos."""
    kdc_server.add(*({"zookeeper/localhost"} - set(kdc_server.principals())))
    kdc_server.keytab("zookeeper/localhost")
    security = ZooKeeperSecurity(kerberos=True, sasl_required=True)
    with ZooKeeperServer(hadoop_version=HADOOP, security=security, kdc=kdc_server.directory) as server:
        yield server


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pause after a failed login: it proves nothing."""
    monkeypatch.setattr(connection, "_LOGIN_AGAIN_S", 0.2)


def digest(server: ZooKeeperServer, directory: Path, password: str = PASSWORD) -> ZooKeeperSettings:
    """Return settings with the password in a file."""
    file = directory / "password"
    file.touch(mode=0o600)
    file.write_text(f"{password}\n", encoding="utf-8")
    return ZooKeeperSettings(
        zookeeper=(server.address,),
        zookeeper_sasl="digest",
        zookeeper_sasl_user="pub",
        zookeeper_password_file=str(file),
    )


def identity(kdc: KdcServer, name: str = "alice") -> KerberosIdentity:
    """Return an identity with a keytab."""
    need_gssapi()
    keytab = kdc.keytab(name)
    made = identity_of(KerberosSettings(principal=f"{name}@{REALM}", keytab=str(keytab)), time.monotonic)
    assert made is not None
    return made


@asynccontextmanager
async def session(
    settings: ZooKeeperSettings, by: KerberosIdentity | None = None
) -> AsyncIterator[KazooSession]:
    """Enter a session with the login of these settings."""
    async with KazooSession(
        settings, time.monotonic, log_name="test", login=login_of(settings, by)
    ) as entered:
        yield entered


def client_of(entered: KazooSession) -> object:
    """Return the client in use; a failed login replaces it."""
    return entered._connection._client  # noqa: SLF001 - not visible otherwise


async def refused(entered: KazooSession, caplog: pytest.LogCaptureFixture) -> str:
    """Wait until the log has a failed login, and return the line."""
    async with asyncio.timeout(HANG_S):
        while True:
            logged = [text for text in caplog.messages if "the login as" in text]
            if logged:
                assert not entered.is_connected
                return logged[0]
            await asyncio.sleep(0.01)


async def test_a_password_lets_in(by_password: ZooKeeperServer, tmp_path: Path) -> None:
    """A session that has logged in may use znodes."""
    async with session(digest(by_password, tmp_path)) as zookeeper:
        await zookeeper.wait_connected(HANG_S)
        await zookeeper.ensure("/by-password")
        assert (await zookeeper.get("/by-password")).data == b""


async def test_without_a_login_nothing_may_be_done(by_password: ZooKeeperServer) -> None:
    """The server requires a login; otherwise the other tests would prove nothing."""
    async with session(ZooKeeperSettings(zookeeper=(by_password.address,))) as zookeeper:
        await zookeeper.wait_connected(HANG_S)
        with pytest.raises(CoordinationError, match=r"wants a login by SASL: set zookeeper_sasl|was lost"):
            await zookeeper.get("/zookeeper")


async def test_a_wrong_password_is_logged_once_and_tried_again(
    by_password: ZooKeeperServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By itself kazoo would never retry. No log line has the password."""
    async with session(digest(by_password, tmp_path, "wrong-secret")) as zookeeper:
        logged = await refused(zookeeper, caplog)
        assert "the login as user pub failed" in logged
        assert "zookeeper_sasl" in logged
        had = client_of(zookeeper)
        async with asyncio.timeout(HANG_S):
            while client_of(zookeeper) is had:  # noqa: ASYNC110 - no event announces it
                await asyncio.sleep(0.01)
        assert "wrong-secret" not in caplog.text
        assert len([text for text in caplog.messages if "the login as" in text]) == 1


async def test_a_ticket_lets_in_and_a_keytab_replaced_later(
    by_ticket: ZooKeeperServer, kdc_server: KdcServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The login fails while the KDC has another key, and succeeds with a new keytab, without a restart."""
    settings = ZooKeeperSettings(zookeeper=(by_ticket.address,), zookeeper_sasl="kerberos")
    caplog.set_level(logging.INFO)
    with clients_of(kdc_server):
        async with session(settings, identity(kdc_server)) as zookeeper:
            await zookeeper.wait_connected(HANG_S)
            await zookeeper.ensure("/by-ticket")
        kdc_server.add("zkrolled")
        rolled = identity(kdc_server, "zkrolled")
        kdc_server.change_key("zkrolled")
        async with session(settings, rolled) as zookeeper:
            logged = await refused(zookeeper, caplog)
            assert f"the login as zkrolled@{REALM} failed" in logged
            assert "export the keytab again" in logged
            assert zookeeper.stats().is_login_failing
            kdc_server.keytab("zkrolled")
            await zookeeper.wait_connected(HANG_S)
            assert not zookeeper.stats().is_login_failing
            assert (await zookeeper.get("/by-ticket")).data == b""


@pytest.mark.parametrize(
    ("mode", "content", "reason"),
    [(0o640, b"x", "mode 0640"), (0o600, b" \n", "must hold a password"), (0o600, b"\xff", "cannot be read")],
)
def test_a_password_file_that_cannot_be_used_is_refused(
    tmp_path: Path, mode: int, content: bytes, reason: str
) -> None:
    """The file is checked at startup, and the error has the reason."""
    file = tmp_path / "p"
    file.write_bytes(content)
    file.chmod(mode)
    settings = ZooKeeperSettings(zookeeper_sasl="digest", zookeeper_password_file=str(file))
    with pytest.raises(SettingError, match=rf"zookeeper_password_file: .*{reason}"):
        login_of(settings, None)


def test_kerberos_needs_an_identity() -> None:
    """The error names the settings of the identity."""
    with pytest.raises(
        SettingError, match="zookeeper_sasl: kerberos: needs an identity: principal and keytab"
    ):
        login_of(ZooKeeperSettings(zookeeper_sasl="kerberos"), None)
    assert login_of(ZooKeeperSettings(), None) is None


def test_a_password_is_in_no_text() -> None:
    """The `repr` of a login does not show the password."""
    assert "secret" not in repr(DigestLogin("pub", "secret"))


def test_a_login_says_how_other_users_are_known(kdc_server: KdcServer) -> None:
    """They are principals in the same realm, or users of the same JAAS file; a bare ticket names no realm."""
    assert DigestLogin("pub", "secret").subscriber == "sasl:{user}"
    made = KerberosLogin(identity(kdc_server))
    assert made.subscriber == f"sasl:{{user}}@{REALM}"
    for name in ("the ticket in FILE:/tmp/a@b c", "nncache/host"):
        made._identity.name = name  # noqa: SLF001 - as a ticket cache, or a principal of the default realm, names it
        assert made.subscriber == ""
