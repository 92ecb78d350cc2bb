"""Kerberos mistakes planted on the real cluster, and the findings of `nncache check` for each."""

import secrets
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from nncache.checks import contacts, gathering, namenode_probe
from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.spec import REALM
from tests.commands.planted import Report, checked
from tests.kerberos import need_gssapi
from tests.patience import HANG_S
from tests.real.faults import paused
from tests.secured.service import identity_flags, keytab_of, without

OWN = ("--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
GLOB = ("--glob", "/no/*")
NEED_A_LOGIN = (
    "authentication",
    "jmx",
    "states",
    "rpc",
    "namespace",
    "edits",
    "retention",
    "read",
    "through",
)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeouts of the checks: only the KDC is ever silent here, and it has its own timeout, TICKET_S."""
    for module, limits in (
        (contacts, ("STEP_S",)),
        (gathering, ("FIRST_S", "THEN_S")),
        (namenode_probe, ("ANSWER_S", "READ_S")),
    ):
        for limit in limits:
            monkeypatch.setattr(module, limit, HANG_S)


def look(cluster: Cluster, kdc: Kdc, changed: Mapping[str, str]) -> Report:
    """Check a valid proxy with some flags changed; an empty value removes its flag."""
    need_gssapi()
    words = identity_flags(cluster, kdc)
    for flag, value in changed.items():
        words = without(words, flag) if flag in words else words
        words = (*words, flag, value) if value else words
    return checked("proxy", *OWN, *GLOB, *words)


@pytest.fixture
def garbage(tmp_path: Path) -> str:
    """A file that is not a keytab."""
    file = tmp_path / "garbage"
    file.write_bytes(secrets.token_bytes(64))
    file.chmod(0o400)
    return str(file)


def assert_it_is_of_identity(report: Report, *parts: str) -> None:
    """Assert that `identity` alone fails, once and with a remedy, and that checks that need a login are skipped."""
    assert report.failed == {"identity"}, report
    (reported,) = report.of("identity", "failed")
    assert [part for part in parts if part not in reported] == [], reported
    assert "RPC address" not in reported
    for check in NEED_A_LOGIN:
        assert report.of(check, "skipped") == ["because of identity; to do: "], check


def test_a_proxy_that_may_run_has_no_fault(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The check gets a ticket on the real cluster and compares the clocks."""
    report = look(secured_cluster, kdc, {})
    assert report.failed == set()
    judged = ("identity", "authentication", "rpc", "edits", "jmx", "clock", "read")
    assert [check for check in judged if not report.of(check, "ok")] == []
    assert "there is a ticket" in report.of("identity", "ok")[0]


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({"--keytab": "{alice}"}, ("holds no key of it", "klist -kt", "correct --principal, or --keytab")),
        ({"--keytab": "{garbage}"}, ("holds no key of it", "klist -kt", "correct --principal, or --keytab")),
        (
            {"--principal": f"nosuch/_HOST@{REALM}"},
            ("no Kerberos ticket for nosuch/localhost", "correct --principal", "kinit -k -t"),
        ),
        (
            {"--principal": "nncache/_HOST@OTHER.REALM"},
            ("nncache/localhost@OTHER.REALM", "correct --principal", "kinit -k -t"),
        ),
        ({"--keytab": "/no/keytab"}, ("keytab: /no/keytab: No such file", "correct --keytab")),
    ],
    ids=["wrong keytab", "garbage keytab", "wrong principal", "another realm", "no such keytab"],
)
def test_a_ticket_that_cannot_be_got_is_reported_once(
    secured_cluster: Cluster, kdc: Kdc, garbage: str, changed: dict[str, str], parts: tuple[str, ...]
) -> None:
    """The finding has the right remedy, and does not suggest to change a valid address."""
    places = {"alice": keytab_of(kdc, "alice"), "garbage": garbage}
    report = look(secured_cluster, kdc, {flag: value.format_map(places) for flag, value in changed.items()})
    assert_it_is_of_identity(report, *parts)


def test_a_frozen_kdc_is_no_wrong_setting(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The remedy concerns the KDC's host, not a setting."""
    with paused(kdc.process):
        report = look(secured_cluster, kdc, {})
    assert_it_is_of_identity(report, "the KDC does not answer", "must succeed on this host", "krb5.conf")


def test_no_identity_at_all_is_reported_once(secured_cluster: Cluster, kdc: Kdc) -> None:
    """HTTP and RPC of the NameNode both require Kerberos."""
    report = look(secured_cluster, kdc, {"--principal": "", "--keytab": "", "--namenode-principal": ""})
    assert report.failed == {"identity"}, report
    (reported,) = report.of("identity", "failed")
    assert "asks for Kerberos (WWW-Authenticate: Negotiate)" in reported
    assert "--principal and --keytab" in reported
    for check in ("authentication", "rpc", "jmx", "states"):
        assert report.of(check, "skipped") == ["because of identity; to do: "], check


def test_another_principal_of_the_namenode_is_named(secured_cluster: Cluster, kdc: Kdc) -> None:
    """The NameNode's HTTP server has proven its identity and is checked."""
    report = look(secured_cluster, kdc, {"--namenode-principal": f"hdfs/_HOST@{REALM}"})
    assert report.failed == {"identity"}, report
    (reported,) = report.of("identity", "failed")
    assert "it calls itself nn/localhost" in reported
    assert "correct --namenode-principal: dfs.namenode.kerberos.principal" in reported
    assert report.of("rpc", "skipped") == ["because of identity; to do: "]
    assert report.of("authentication", "ok")


def terminates(kdc: Kdc, directory: Path, keytab: str = "nncache") -> tuple[str, ...]:
    """Return the flags of a proxy that authenticates its clients."""
    secret = directory / "secret"
    if not secret.exists():
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32))
    return (
        *("--spnego-principal", f"HTTP/localhost@{REALM}", "--spnego-keytab", keytab_of(kdc, keytab)),
        *("--cookie-secret-file", str(secret)),
    )


@pytest.mark.parametrize("is_terminating", [False, True])
def test_a_running_proxy_is_read_through(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path, *, is_terminating: bool
) -> None:
    """The check asks as the principal, with or without termination. A 401 is not reported as a failure."""
    words = (*identity_flags(secured_cluster, kdc), *GLOB)
    words += terminates(kdc, tmp_path) if is_terminating else ()
    with ProxyDaemon(*words) as proxy:
        report = checked("proxy", "--listen", proxy.address, "--admin", proxy.admin, *words)
    assert report.failed == set(), report
    assert "answers 200" in report.of("through", "ok")[0]
    if is_terminating:
        assert "lets nncache act for nobody" in report.of("impersonation", "ok")[0]


def test_a_service_that_may_not_act_for_clients_is_named(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path
) -> None:
    """The check and the log name the keys to set. The proxy serves nevertheless."""
    need_gssapi()
    own = identity_flags(secured_cluster, kdc, f"alice@{REALM}", "alice")
    words = (*own, *terminates(kdc, tmp_path), "--zookeeper", secured_cluster.zookeeper.address)
    keys = "set hadoop.proxyuser.alice.hosts to this host, and hadoop.proxyuser.alice.groups or .users"
    with ProxyDaemon(*words) as proxy:
        proxy.process.await_that(
            lambda: "not allowed to impersonate" in proxy.process.log.read_text(), "says nothing of it"
        )
        assert keys in proxy.process.log.read_text()
    (reported,) = checked("proxy", *OWN, *words).of("impersonation", "failed")
    assert "alice is not allowed to impersonate nobody" in reported
    assert keys in reported


def test_a_keytab_without_the_key_ends_the_start(secured_cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    """Every client's ticket would be refused. The check reports the same."""
    need_gssapi()
    words = (*identity_flags(secured_cluster, kdc), *GLOB, *terminates(kdc, tmp_path, "alice"))
    (reported,) = checked("proxy", *OWN, *words).of("identity", "failed")
    assert f"holds no key of HTTP/localhost@{REALM}" in reported
    assert "klist -kt" in reported
    program = str(Path(sys.executable).with_name("nncache"))
    done = subprocess.run(
        (program, "proxy", *OWN, *words), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert f"holds no key of HTTP/localhost@{REALM}" in done.stderr
