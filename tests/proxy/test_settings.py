"""Addresses and waits are read strictly, and a wrong one is named."""

import re

import pytest

from nncache.net.endpoint import Endpoint
from nncache.net.setting_error import SettingError
from nncache.proxy.settings import ProxySettings


def test_the_defaults_are_on_loopback() -> None:
    """Nothing is open to a network before somebody says so."""
    settings = ProxySettings()
    assert settings.listen_at == Endpoint("127.0.0.1", 9871)
    assert settings.admin_at == Endpoint("127.0.0.1", 9872)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("listen", "nowhere"),
        ("admin", "nowhere"),
        ("join_wait_s", -0.1),
        ("join_wait_s", float("nan")),
        ("audit_share", -0.1),
        ("audit_share", 1.1),
        ("audit_share", float("nan")),
        ("namenode_query_timeout_s", 0.0),
        ("namenode_query_timeout_s", float("nan")),
        ("two_step_query_timeout_s", 0.0),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(key: str, value: object) -> None:
    """Each key says what it allows."""
    with pytest.raises(SettingError, match=f"^{key}: "):
        ProxySettings(**{key: value})  # type: ignore[arg-type] # wrong on purpose


@pytest.mark.parametrize(
    ("addresses", "said"),
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
def test_each_address_has_a_port_of_its_own(addresses: dict[str, str], said: str) -> None:
    """Two servers cannot listen on one."""
    with pytest.raises(SettingError, match=re.escape(said)):
        ProxySettings(**addresses)  # type: ignore[arg-type] # none of these is a number


def test_one_port_at_two_addresses_is_two_ports() -> None:
    """So are two that the system chooses."""
    assert ProxySettings(listen="h:1", admin="127.0.0.1:1").listen_at.port == 1
    assert ProxySettings(listen="h:0", admin="h:0").listen_at.port == 0
