"""Addresses and waits are read strictly, and a wrong one is named."""

import pytest

from hadoop.settings import SettingError
from proxy.settings import Endpoint, ProxySettings, parse_endpoint


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:9871", Endpoint("127.0.0.1", 9871)),
        ("localhost:0", Endpoint("localhost", 0)),
        ("[::1]:65535", Endpoint("::1", 65535)),
    ],
)
def test_an_endpoint_reads_as_it_is_written(text: str, endpoint: Endpoint) -> None:
    """Host and port, an IPv6 address in brackets; and back."""
    assert parse_endpoint("listen", text) == endpoint
    assert str(endpoint) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9871",
        ":9871",
        "host:",
        "host:port",
        "host:65536",
        "a..b:80",
        "host:-1",
        "::1:80",
        "[]:80",
        "[]",
        "a b:80",
        "h/:80",
        "h:٣",
    ],
)
def test_no_other_form_is_an_endpoint(text: str) -> None:
    """The error is one line that names key, value and what is allowed."""
    with pytest.raises(SettingError, match=r"^admin: .*: must be host:port"):
        parse_endpoint("admin", text)


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
        ("namenode_query_timeout_s", 0.0),
        ("namenode_query_timeout_s", float("nan")),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(key: str, value: object) -> None:
    """Each key says what it allows."""
    with pytest.raises(SettingError, match=f"^{key}: "):
        ProxySettings(**{key: value})  # type: ignore[arg-type] # wrong on purpose
