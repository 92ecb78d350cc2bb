"""An identity made from settings, and its contexts."""

import asyncio
import base64
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos import krb5_library as module
from nncache.hadoop.kerberos.gss import GssContext, Mechanism
from nncache.hadoop.kerberos.identity import Initiator, KerberosIdentity, Negotiation, identity_of
from nncache.hadoop.kerberos.krb5_library import default_realm
from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.kerberos.threads import MAX_OVERDUE, MAX_RUNNING, KdcThreads
from nncache.hadoop.kerberos.tickets import RETRY_S
from nncache.net.setting_error import SettingError
from nncache.testbed.spec import REALM
from tests.hadoop.kerberos.counted_identity import acceptor
from tests.kerberos import KdcServer, need_gssapi
from tests.patience import HANG_S, until_so
from tests.real.faults import paused


def made(settings: KerberosSettings) -> KerberosIdentity:
    """Return the identity of settings that have one."""
    identity = identity_of(settings, time.monotonic)
    assert identity is not None
    return identity


def of_alice(realm: KdcServer) -> KerberosSettings:
    """Return settings with a keytab that only its owner may read."""
    keytab = realm.keytab("alice")
    keytab.chmod(0o400)
    return KerberosSettings(principal=f"alice@{REALM}", keytab=str(keytab))


def open_to_others(keytab: str) -> None:
    """Make a file readable by others."""
    Path(keytab).chmod(0o644)


def test_no_settings_make_no_identity() -> None:
    """No Kerberos library is imported either."""
    assert identity_of(KerberosSettings(), time.monotonic) is None


def test_host_is_this_hosts_canonical_name(realm: KdcServer) -> None:
    """Hadoop's SecurityUtil does the same."""
    settings = of_alice(realm)
    identity = made(KerberosSettings(principal=f"nncache/_HOST@{REALM}", keytab=settings.keytab))
    assert identity.name == f"nncache/{socket.getfqdn().lower()}@{REALM}"
    assert made(KerberosSettings(ticket_cache="FILE:/c")).name == "the ticket in FILE:/c"


async def test_a_host_without_its_name_at_the_start_gets_it_later(
    realm: KdcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a machine starts, its name server may not answer yet; then `getfqdn` returns the name without a domain."""
    keytab = realm.keytab("HTTP/localhost")
    keytab.chmod(0o400)
    with monkeypatch.context() as booting:
        booting.setattr(socket, "getfqdn", lambda: "short")
        identity = identity_of(
            KerberosSettings(principal=f"HTTP/_HOST@{REALM}", keytab=str(keytab)), time.monotonic
        )
        assert identity is not None
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost")
    await identity.initiator(Mechanism.KERBEROS, HANG_S)


class Unfinished(Initiator):
    """Accepts any token, and is not complete after it."""

    def __init__(self, context: GssContext) -> None:
        super().__init__(context, KdcThreads(), 0.0)

    def check(self, server: Principal, token: bytes) -> "asyncio.Future[bytes]":
        """Accept the token."""
        assert (str(server), token) == ("HTTP/localhost", b"\0\0\0")
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        future.set_result(b"")
        return future


async def test_a_negotiation_is_taken_by_the_server_once(realm: KdcServer) -> None:
    """Each negotiation has its own token: a second use would be a replay."""
    identity = made(of_alice(realm))
    made_twice = [await identity.negotiation("LOCALHOST", HANG_S) for _ in range(2)]
    assert made_twice[0].field != made_twice[1].field
    for negotiation in made_twice:
        scheme, token = negotiation.field.split()
        assert scheme == "Negotiate"
        theirs = acceptor(realm.keytab("HTTP/localhost"))
        proof = theirs.step(base64.b64decode(token, validate=True))
        assert theirs.complete
        assert str(theirs.initiator_name) == f"alice@{REALM}"
        await negotiation.check_proven(["Basic realm=x", f" negotiate {base64.b64encode(proof).decode()} "])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([], "its reply has no WWW-Authenticate"),
        (["Basic realm=x", "Negotiate"], "its reply has no WWW-Authenticate"),
        (["Negotiate !!!"], "base64"),
        (["Negotiate "], "its reply has no WWW-Authenticate"),
        # SPNEGO's own answer "accept-completed", for krb5, with no token of krb5's: RFC 4178, 4.2.2
        (["Negotiate oRQwEqADCgEAoQsGCSqGSIb3EgECAg=="], "no Kerberos context"),
        (["Negotiate oYG2MIGzoAMKAQA="], "no Kerberos context"),
    ],
)
async def test_a_server_that_proves_nothing_is_found_out(
    realm: KdcServer, fields: list[str], why: str
) -> None:
    """Its token is missing, or claims success without proof."""
    negotiation = await made(of_alice(realm)).negotiation("localhost", HANG_S)
    with pytest.raises(KerberosError, match=f"does not prove that it is HTTP/localhost: .*{why}"):
        await negotiation.check_proven(fields)


async def test_a_server_that_wants_to_go_on_has_proven_nothing(realm: KdcServer) -> None:
    """Each of SPNEGO's logins takes one round trip."""
    identity = made(of_alice(realm))
    initiator = await identity.initiator(Mechanism.SPNEGO, HANG_S)
    negotiation = Negotiation(Unfinished(initiator.context), Principal("HTTP", "localhost"), b"token")
    with pytest.raises(KerberosError, match="its token is not the last one"):
        await negotiation.check_proven(["Negotiate AAAA"])


async def test_a_silent_kdc_costs_its_share_of_time_and_no_more(realm: KdcServer) -> None:
    """There is a ticket, but none for the server yet; the login continues when the KDC answers."""
    identity = made(of_alice(realm))
    initiator = await identity.initiator(Mechanism.KERBEROS, HANG_S)
    assert not initiator.context.is_complete
    with paused(realm.process):
        hurried = await identity.initiator(Mechanism.KERBEROS, 0.05)
        with pytest.raises(
            KerberosError, match="no Kerberos context with HTTP/localhost: the KDC has not answered"
        ):
            await hurried.step(Principal("HTTP", "localhost"), None)
    assert await initiator.step(Principal("HTTP", "localhost"), None)


async def test_a_ticket_that_a_server_refused_is_got_again(realm: KdcServer) -> None:
    """A new cache makes the ticket for the server new, too."""
    now = 0.0
    identity = identity_of(of_alice(realm), lambda: now)
    assert identity is not None
    first = await identity.initiator(Mechanism.KERBEROS, HANG_S)
    now += RETRY_S
    identity.recheck()
    second = await identity.initiator(Mechanism.KERBEROS, HANG_S)
    assert first.context._ticket != second.context._ticket  # noqa: SLF001 - nothing else tells them apart


async def test_a_ticket_is_renewed_while_no_connection_is_made(
    realm: KdcServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then a ticket exists when the KDC is unavailable; a failed renewal ends nothing."""
    monkeypatch.setattr("nncache.hadoop.kerberos.identity.KEEP_S", 0.01)
    settings = of_alice(realm)
    now = 0.0
    identity = identity_of(settings, lambda: now)
    assert identity is not None
    open_to_others(settings.keytab)
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(identity.keep_ticket())
        await until_so(lambda: identity.stats().is_failing == 1)
        of_alice(realm)  # its mode, too
        now += 10.0
        await until_so(lambda: identity.stats().starts_at == 10.0)
        assert 3600 <= identity.stats().ends_at <= 3610
        now += 3000.0
        await until_so(lambda: identity.stats().starts_at == 3010.0)
        keeping.cancel()


async def test_a_keytab_opened_to_others_is_not_used(realm: KdcServer) -> None:
    """At startup it is an error of the settings, later one that may pass."""
    settings = of_alice(realm)
    identity = made(settings)
    open_to_others(settings.keytab)
    with pytest.raises(KerberosError, match="has mode 0644"):
        await identity.initiator(Mechanism.KERBEROS, HANG_S)
    with pytest.raises(SettingError, match=r"keytab: .*has mode 0644.*chmod 0400"):
        identity_of(settings, time.monotonic)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (KerberosSettings(principal="a@R", keytab="/k"), "principal: a@R"),
        (KerberosSettings(ticket_cache="FILE:/c"), "ticket_cache: FILE:/c"),
    ],
)
def test_without_gssapi_the_start_is_refused(
    settings: KerberosSettings, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the package to install."""
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(SettingError, match=rf"{key}: .*pip install '\.\[kerberos\]'"):
        identity_of(settings, time.monotonic)


@pytest.mark.parametrize("prefix", ["FILE:", ""])
async def test_a_ticket_cache_that_others_may_read_is_refused(realm: KdcServer, prefix: str) -> None:
    """At startup, and when it becomes readable later; a missing cache may still appear."""
    cache = realm.kinit("alice", ccache=realm.directory / "tickets" / "opened")
    settings = KerberosSettings(ticket_cache=f"{prefix}{cache}")
    identity = made(settings)
    await identity.initiator(Mechanism.KERBEROS, HANG_S)
    open_to_others(str(cache))
    with pytest.raises(KerberosError, match=r"ticket_cache .*opened: has mode 0644.*chmod 0400"):
        await identity.initiator(Mechanism.KERBEROS, HANG_S)
    with pytest.raises(SettingError, match=r"ticket_cache: .*has mode 0644"):
        identity_of(settings, time.monotonic)
    made(KerberosSettings(ticket_cache=f"{prefix}/no/cache"))


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"principal": "a/b/c@R", "keytab": "/k"}, "principal: a/b/c@R: must be a Kerberos principal"),
        ({"namenode_principal": "@"}, "namenode_principal: @: must be a Kerberos principal"),
        ({"principal": "a@R"}, "keytab: none: must name the file with the key of a@R"),
        ({"keytab": "/k"}, "principal: none: must say which key of keytab is meant"),
        (
            {"principal": "a@R", "keytab": "/k", "ticket_cache": "t"},
            "ticket_cache: t: must not be given beside keytab",
        ),
        ({"principal": "_HOST@R", "keytab": "/k"}, "must name a service before _HOST"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, str], refusal: str) -> None:
    """The error names the key and the valid values."""
    with pytest.raises(SettingError) as caught:
        KerberosSettings(**given)  # type: ignore[arg-type] # all of these are texts
    assert refusal in str(caught.value)


@pytest.fixture(autouse=True)
def library() -> None:
    """Skip the tests if there is no libkrb5."""
    need_gssapi()


def test_it_is_that_of_krb5_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is that of KRB5_CONFIG."""
    file = tmp_path / "krb5.conf"
    file.write_text("[libdefaults]\n default_realm = ANY.REALM\n")
    monkeypatch.setenv("KRB5_CONFIG", str(file))
    assert default_realm() == "ANY.REALM"


@pytest.mark.parametrize("text", ["[libdefaults]\n dns_lookup_realm = false\n", "[[["])
def test_without_one_there_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The error names krb5.conf."""
    file = tmp_path / "krb5.conf"
    file.write_text(text)
    monkeypatch.setenv("KRB5_CONFIG", str(file))
    with pytest.raises(KerberosError, match=r"krb5\.conf"):
        default_realm()


def test_without_libkrb5_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the package to install."""
    monkeypatch.setattr(module, "_LIBRARY", "libnone.so.0")
    with pytest.raises(KerberosError, match="apt-get install"):
        default_realm()


async def test_what_a_call_returns_or_raises_is_passed_on() -> None:
    """The call runs in another thread."""
    threads = KdcThreads()
    assert await threads.call(threading.get_ident, timeout_s=HANG_S, what="x") != threading.get_ident()

    def fail() -> None:
        raise KerberosError("no ticket")

    with pytest.raises(KerberosError, match="no ticket"):
        await threads.call(fail, timeout_s=HANG_S, what="x")


async def test_a_hanging_call_fails_at_its_deadline() -> None:
    """The loop keeps running, also when the thread ends late."""
    threads, released = KdcThreads(), threading.Event()
    hanging = threads.call(lambda: released.wait(HANG_S), timeout_s=0.01, what="no ticket for x")
    with pytest.raises(KerberosError, match=r"no ticket for x: the KDC has not answered in 0\.01 s"):
        await hanging
    assert threads.running == 1
    released.set()
    await until_so(lambda: not threads.running)


async def test_only_so_many_calls_hang_at_a_time() -> None:
    """A further call fails immediately, with the reason."""
    threads, released = KdcThreads(max_overdue=2), threading.Event()
    hanging = [threads.call(lambda: released.wait(HANG_S), timeout_s=None, what="x") for _ in range(2)]
    with pytest.raises(KerberosError, match="has left 2 calls without an answer"):
        await threads.call(lambda: None, timeout_s=HANG_S, what="y")
    released.set()
    assert await asyncio.gather(*hanging) == [True, True]


async def test_calls_that_are_in_time_keep_no_other_from_it() -> None:
    """T3: many connections log in at the same time, such as those of a NameNode's users after a failover."""
    threads, released = KdcThreads(), threading.Event()
    waiting = [
        threads.call(lambda: released.wait(HANG_S), timeout_s=HANG_S, what="x") for _ in range(MAX_RUNNING)
    ]
    assert MAX_RUNNING > MAX_OVERDUE
    with pytest.raises(KerberosError, match=f"y: {MAX_RUNNING} calls wait for the KDC"):
        await threads.call(lambda: None, timeout_s=HANG_S, what="y")
    released.set()
    assert all(await asyncio.gather(*waiting))
    await until_so(lambda: not threads.running)


def test_a_thread_that_outlives_the_loop_harms_nothing() -> None:
    """For example, the process ends while the KDC is silent."""
    threads, released = KdcThreads(), threading.Event()

    async def begin() -> None:
        threads.call(lambda: released.wait(HANG_S), timeout_s=None, what="x")

    asyncio.run(begin())
    (thread,) = (each for each in threading.enumerate() if each.name == "Kerberos: x")
    assert thread.daemon
    released.set()
    thread.join(HANG_S)
    assert not thread.is_alive()
    assert threads.running == 0
