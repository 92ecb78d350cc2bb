"""Addresses and waits are parsed strictly, and an error names the setting."""

import re
import resource
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.proxy.limits import LimitSettings, reserve_files
from nncache.proxy.settings import ProxySettings
from nncache.spnego.settings import TerminationSettings
from nncache.tls_server.certificate import CertificateFiles


def test_the_defaults_are_on_loopback() -> None:
    """Nothing is open to a network by default."""
    settings = ProxySettings()
    assert settings.listen_at == ListenAddress("127.0.0.1", 9871)
    assert settings.admin_at == ListenAddress("127.0.0.1", 9872)


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        (
            {"listen": "h:1", "admin": "h:1"},
            "admin: h:1: must not be the port of listen (h:1): give it another one",
        ),
        ({"listen": "0.0.0.0:1", "admin": "h:1"}, "admin: h:1: must not be the port of listen (0.0.0.0:1)"),
        (
            {"listen": "h:1", "tls_listen": "h:1", "tls_certificate": "/c", "tls_key": "/k"},
            "tls_listen: h:1: must not be the port of listen",
        ),
    ],
)
def test_each_address_has_a_port_of_its_own(addresses: dict[str, str], message: str) -> None:
    """Two servers cannot listen on one port."""
    with pytest.raises(SettingError, match=re.escape(message)):
        ProxySettings(**addresses)  # type: ignore[arg-type] # none of these is a number


def test_one_port_at_two_addresses_is_two_ports() -> None:
    """Two ports chosen by the system (port 0) are distinct as well."""
    assert ProxySettings(listen="h:1", admin="127.0.0.1:1").listen_at.port == 1
    assert ProxySettings(listen="h:0", admin="h:0").listen_at.port == 0


def with_principal(**changes: Any) -> TerminationSettings:
    """Return valid settings with these changes."""
    good: dict[str, Any] = {
        "spnego_principal": ("HTTP/_HOST@EXAMPLE.COM",),
        "spnego_keytab": "/k",
        "cookie_secret_file": "/s",
    }
    return TerminationSettings(**(good | changes))


def test_it_is_off_unless_a_principal_is_named() -> None:
    """It is off by default."""
    assert not TerminationSettings().is_on
    assert with_principal().is_on


@pytest.mark.parametrize(
    ("settings", "key", "value"),
    [
        (ProxySettings, "listen", "nowhere"),
        (ProxySettings, "admin", "nowhere"),
        (ProxySettings, "join_wait_s", -0.1),
        (ProxySettings, "join_wait_s", float("nan")),
        (ProxySettings, "audit_share", -0.1),
        (ProxySettings, "audit_share", 1.1),
        (ProxySettings, "audit_share", float("nan")),
        (ProxySettings, "namenode_query_timeout_s", 0.0),
        (ProxySettings, "namenode_query_timeout_s", float("nan")),
        (ProxySettings, "two_step_query_timeout_s", 0.0),
        (with_principal, "spnego_principal", ("nncache/_HOST@EXAMPLE.COM",)),
        (with_principal, "spnego_principal", ("HTTP",)),
        (with_principal, "spnego_principal", ("HTTP/a b",)),
        (with_principal, "spnego_keytab", ""),
        (with_principal, "cookie_secret_file", ""),
        (with_principal, "cookie_validity_s", 0),
        (with_principal, "max_handshakes", 0),
        *(
            (LimitSettings, field.name, value)
            for field in fields(LimitSettings)
            for value in (-1, float("nan"))
        ),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(
    settings: Callable[..., object], key: str, value: object
) -> None:
    """The error says what the key allows; negative numbers and NaN are refused everywhere."""
    with pytest.raises(SettingError, match=rf"^{key}: .*must be "):
        settings(**{key: value})


@pytest.mark.parametrize("key", ["spnego_keytab", "cookie_secret_file"])
def test_a_file_without_a_principal_is_a_mistake(key: str) -> None:
    """The operator would believe that clients are authenticated."""
    with pytest.raises(SettingError, match=f"^{key}: .*spnego_principal"):
        TerminationSettings(**dict[str, Any]({key: "/f"}))


@pytest.mark.parametrize("key", ["backlog", "max_head_bytes"])
def test_what_becomes_a_c_int_is_bounded(key: str) -> None:
    """Otherwise the start, or each connection, would end in an OverflowError."""
    values: dict[str, Any] = {key: 2**31}
    with pytest.raises(SettingError, match=rf"^{key}: {2**31}: must be at most "):
        LimitSettings(**values)


def test_open_files_are_reserved_or_refused() -> None:
    """The limit is checked at the start, not at the busiest moment."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        reserve_files(LimitSettings(max_connections=1000, upstream_connections=100), namenodes=2)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1392
        with pytest.raises(SettingError, match=r"^max_connections: 999999999: must be at most \d+ here"):
            reserve_files(LimitSettings(max_connections=999_999_999), namenodes=1)
        with pytest.raises(SettingError, match=r"^upstream_connections: 999999999: must be fewer here"):
            reserve_files(LimitSettings(upstream_connections=999_999_999), namenodes=1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_port_for_tls_has_the_certificate_of_its_keys() -> None:
    """Without a TLS port no certificate is read."""
    assert ProxySettings().certificate is None
    settings = ProxySettings(tls_listen="h:0", tls_certificate="/c", tls_key="/k", tls_client_ca="/ca")
    assert settings.certificate == CertificateFiles(certificate="/c", key="/k", client_ca="/ca")
