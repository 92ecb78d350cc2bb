"""The host that is registered."""

import socket

import pytest

from nncache.registry.own_host import reached_at


@pytest.mark.parametrize("everywhere", [f"0.{'0.' * 2}0", "::"])
def test_every_address_becomes_the_name_of_this_machine(everywhere: str) -> None:
    """Unless the settings name one."""
    assert reached_at("proxy.example.com", everywhere) == "proxy.example.com"
    assert reached_at("", "10.0.0.7") == "10.0.0.7"
    assert reached_at("", everywhere) == socket.getfqdn()
