"""What may be chosen about the zone and where it is served."""

import pytest

from nncache.net.endpoint import Endpoint
from nncache.net.setting_error import SettingError
from nncache.registry.dns_settings import DnsSettings


def test_the_addresses_are_read() -> None:
    """Hadoop's port is the default."""
    settings = DnsSettings(
        domain="Registry.example.", dns_listen="[::1]:53", dns_name_server="ns1.example.com"
    )
    assert settings.listen_at == Endpoint("::1", 53)
    assert settings.admin_at == Endpoint("127.0.0.1", 9874)
    assert DnsSettings().listen_at == Endpoint("127.0.0.1", 5335)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("domain", "a b", "no label"),
        ("domain", "a..b", "empty"),
        ("domain", ".", "empty"),
        ("domain", ".".join("a" * 64), "126 characters"),
        ("dns_name_server", "ns_1", "no label"),
        ("dns_listen", "53", "host:port"),
        ("admin", "x", "host:port"),
        ("dns_ttl_s", -1, "from 0"),
        ("dns_ttl_s", 86_401, "to 86400"),
        ("dns_queries_per_s", 0.0, "more than 0"),
        ("dns_queries_per_s", float("nan"), "more than 0"),
    ],
)
def test_a_wrong_value_is_named(key: str, value: object, rule: str) -> None:
    """With what is allowed."""
    with pytest.raises(SettingError, match=rule) as caught:
        DnsSettings(**{key: value})  # type: ignore[arg-type] # the point of it
    assert caught.value.key == key
