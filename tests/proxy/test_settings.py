"""Addresses and waits are read strictly, and a wrong one is named."""

import pytest

from nncache.hadoop.endpoint import Endpoint
from nncache.hadoop.settings import SettingError
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
