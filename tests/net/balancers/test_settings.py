"""Which load balancers are trusted."""

import pytest

from nncache.net.balancers.settings import BalancerSettings
from nncache.net.setting_error import SettingError


def test_addresses_and_networks_are_read() -> None:
    """A single address is a network of its own."""
    settings = BalancerSettings(real_ip_from=("10.0.0.0/8", "10.1.2.3", "fd00::/8"))
    assert list(map(str, settings.networks)) == ["10.0.0.0/8", "10.1.2.3/32", "fd00::/8"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("lb.example.com", "real_ip_from: lb.example.com: must be an IP address, or a network"),
        ("10.1.2.3/8", "has host bits set"),
        ("0.0.0.0/0", "must not be every address"),
        ("::/0", "must not be every address"),
    ],
)
def test_what_is_no_balancer_is_refused(given: str, says: str) -> None:
    """The message names the value and the reason."""
    with pytest.raises(SettingError, match=says):
        BalancerSettings(real_ip_from=("10.0.0.1", given))


def test_the_header_is_taken_from_named_balancers_only() -> None:
    """Without trusted balancers, the PROXY protocol would trust every client, or do nothing."""
    with pytest.raises(SettingError, match="real_ip_header: proxy_protocol: needs real_ip_from"):
        BalancerSettings(real_ip_header="proxy_protocol")
