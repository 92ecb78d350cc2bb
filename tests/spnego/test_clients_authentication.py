"""A configuration that would admit the wrong clients fails at the start, and the error says what to change."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namenode_web import PLAIN
from nncache.net.setting_error import SettingError
from nncache.settings.commands import PROXY, load_settings
from nncache.spnego.clients_authentication import ClientsAuthentication, clients_authentication_of
from nncache.spnego.handshakes import Handshakes
from nncache.spnego.stats import TicketOutcome
from tests.hadoop.made_credentials import keytab_of
from tests.hadoop.site_files import prop, site
from tests.kerberos import need_gssapi

Build = Callable[..., ClientsAuthentication | None]


class NoIdentity(KerberosIdentity):
    """An identity that is never used."""

    def __init__(self) -> None:
        self.name = "none"


@pytest.fixture(autouse=True)
def realm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up a host in the realm EXAMPLE.COM."""
    need_gssapi()
    file = tmp_path / "krb5.conf"
    file.write_text("[libdefaults]\n default_realm = EXAMPLE.COM\n")
    monkeypatch.setenv("KRB5_CONFIG", str(file))
    for name in ("KRB5RCACHENAME", "KRB5RCACHETYPE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Return a builder with valid settings, apart from a test's; `configuration` becomes core-site.xml."""
    keys = keytab_of("HTTP/proxy.example.com@EXAMPLE.COM", "HTTP/lb@OTHER.REALM")
    for name, content in (("keytab", keys), ("secret", b"x" * 40)):
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_bytes(content)

    def built(*, configuration: dict[str, str] | None = None, **flags: Any) -> ClientsAuthentication | None:
        good: dict[str, Any] = {
            "principal": "nncache/h@EXAMPLE.COM",
            "keytab": str(tmp_path / "keytab"),
            "spnego_principal": ("HTTP/proxy.example.com",),
            "spnego_keytab": str(tmp_path / "keytab"),
            "cookie_secret_file": str(tmp_path / "secret"),
            "namenode_http": ("nn:9870",),
            "namenode_rpc": ("nn:8020",),
        }
        if configuration is not None:
            (tmp_path / "core-site.xml").write_text(site(*(prop(*each) for each in configuration.items())))
            good["hadoop_conf_dir"] = str(tmp_path)
        settings = load_settings(PROXY, None, good | flags)
        return clients_authentication_of(
            settings.termination,
            settings.hadoop_conf.hadoop_conf_dir,
            [each.http for each in settings.namenodes.namenodes],
            NoIdentity(),
            PLAIN,
            time.monotonic,
            token_believed_s=settings.cache.grant_ttl_s,
        )

    return built


def test_it_is_off_unless_it_is_wanted(build: Build) -> None:
    """`spnego_principal` enables it."""
    assert build(spnego_principal=(), spnego_keytab="", cookie_secret_file="") is None


def test_services_have_their_host_and_realm(build: Build) -> None:
    """The names are those that the KDC uses."""
    made = build(spnego_principal=("HTTP/proxy.example.com", "HTTP/lb@OTHER.REALM"))
    assert made is not None
    handshakes = made.terminator._handshakes  # noqa: SLF001 - what it was built with
    assert isinstance(handshakes, Handshakes)
    assert handshakes.services == {"HTTP/proxy.example.com@EXAMPLE.COM", "HTTP/lb@OTHER.REALM"}
    assert made.stats().tickets == dict.fromkeys(TicketOutcome, 0)
    assert [name for name, _ in made.background] == [
        "the secrets that sign cookies",
        "the trial of hadoop.proxyuser rules",
        "the check of the replay cache",
    ]


def test_a_keytab_without_the_key_is_refused(build: Build, tmp_path: Path) -> None:
    """No ticket could be accepted. The error names the principal, and the command that lists the keytab."""
    with pytest.raises(SettingError, match=r"holds no key of HTTP/other@EXAMPLE.COM, .*klist -kt"):
        build(spnego_principal=("HTTP/proxy.example.com", "HTTP/other"))
    (tmp_path / "keytab").write_bytes(b"garbage")
    with pytest.raises(SettingError, match=r"^spnego_keytab: .*key table format.*klist -kt"):
        build()


def test_who_is_a_proxy_user_is_logged(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    """The operator sees which rules were read."""
    caplog.set_level("INFO")
    assert build(configuration={"hadoop.proxyuser.knox.users": "*"}) is not None
    assert "proxy users: knox" in caplog.text


@pytest.mark.parametrize(
    ("configuration", "key"),
    [
        ({"hadoop.security.auth_to_local.mechanism": "mit"}, "hadoop.security.auth_to_local.mechanism"),
        ({"hadoop.security.auth_to_local": "RULE:[1:$1](\\p{L}+)"}, "hadoop.security.auth_to_local"),
    ],
)
def test_rules_that_are_not_understood_are_refused(
    build: Build, configuration: dict[str, str], key: str
) -> None:
    """The error names their key."""
    with pytest.raises(SettingError, match=f"^{key}: "):
        build(configuration=configuration)


def test_a_configuration_that_cannot_be_read_is_refused(build: Build, tmp_path: Path) -> None:
    """Its rules are unknown."""
    (tmp_path / "core-site.xml").write_text("<")
    with pytest.raises(SettingError, match=r"^hadoop_conf_dir: .*not XML"):
        build(hadoop_conf_dir=str(tmp_path))


@pytest.mark.parametrize(("name", "value"), [("KRB5RCACHENAME", "none:"), ("KRB5RCACHETYPE", "none")])
def test_replays_must_be_found(build: Build, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """An environment that disables the replay cache is refused."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError, match=f"^{name}: "):
        build()


@pytest.mark.parametrize("name", ["keytab", "secret"])
def test_a_secret_that_others_may_read_is_refused(build: Build, tmp_path: Path, name: str) -> None:
    """The error has the mode to set."""
    (tmp_path / name).chmod(0o644)
    with pytest.raises(SettingError, match=r"^(spnego_keytab|cookie_secret_file): .*chmod 0400"):
        build()


def test_without_a_realm_no_ticket_can_be_judged(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the file to check."""
    file = tmp_path / "other.conf"
    file.write_text("[libdefaults]\n dns_lookup_realm = false\n")
    monkeypatch.setenv("KRB5_CONFIG", str(file))
    with pytest.raises(SettingError, match=r"^spnego_principal: .*krb5\.conf"):
        build()
