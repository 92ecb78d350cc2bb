"""The rules for proxy users are read as a NameNode reads them."""

import json
from ipaddress import ip_address

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.proxy_users import (
    NO_PROXY_USER,
    ProxyUser,
    address_of,
    is_about_hosts,
    not_allowed,
    not_from_here,
    parse_hosts,
    parse_proxy_users,
    refusal,
    whom_to_try,
)


def proxy_user(**rules: str) -> ProxyUser:
    """Return the meaning of these rules of `hadoop.proxyuser.knox`."""
    values = {f"hadoop.proxyuser.knox.{rule}": value for rule, value in rules.items()}
    return parse_proxy_users(Configuration(values)).get("knox", NO_PROXY_USER)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"users": "alice, bob"}, True),
        ({"users": "*"}, True),
        ({"users": " * "}, True),
        ({"groups": "*"}, True),
        ({"users": "bob"}, False),
        ({"users": "alice,*"}, True),  # alice by her name
        ({"users": "bob,*"}, False),
        ({"users": "Alice"}, False),
        ({"groups": "users"}, False),  # alice's groups are unknown here
        ({"users": ""}, False),
        ({"hosts": "*"}, False),
        ({}, False),
    ],
)
def test_whom_it_may_act_for(rules: dict[str, str], *, expected: bool) -> None:
    """It may act for users by name, or for everybody; a rule with groups other than `*` allows nobody here."""
    assert proxy_user(**rules).acts_for("alice") is expected


@pytest.mark.parametrize(
    ("hosts", "address", "expected"),
    [
        ("*", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1,10.0.0.2", "10.0.0.2", True),
        ("10.0.0.0/24", "10.0.0.9", True),
        ("10.0.0.7/24", "10.0.0.9", True),
        ("10.0.0.0/24", "10.0.1.9", False),
        ("10.0.0.0/99", "10.0.0.9", False),
        ("10.0.0.0/24", "::1", False),
        ("::1", "::1", True),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("*,10.0.0.1", "10.0.0.2", False),
        ("", "10.0.0.1", False),
        ("gate.example.com", "10.0.0.5", True),
        ("gate.example.com", "10.0.0.6", False),
    ],
)
def test_from_where(hosts: str, address: str, *, expected: bool) -> None:
    """Addresses, networks and resolved host names; `*` alone means anywhere."""
    rules = parse_hosts(hosts)
    resolved = {ip_address("10.0.0.5")} if rules.names == ("gate.example.com",) else set()
    assert rules.include(address_of(address), resolved) is expected


def test_names_with_dots_and_other_keys() -> None:
    """A user's name may contain dots; other keys are ignored."""
    values = {"hadoop.proxyuser.a.b.users": "*", "hadoop.proxyuser.c": "*", "hadoop.proxyservers": "x"}
    assert parse_proxy_users(Configuration(values)).keys() == {"a.b"}


def test_a_refusal_is_one_of_hadoops() -> None:
    """It has the class and the message of Hadoop."""
    remote_exception = json.loads(refusal(not_allowed("bob", "alice")))["RemoteException"]
    assert remote_exception == {
        "message": "User: bob is not allowed to impersonate alice",
        "exception": "AuthorizationException",
        "javaClassName": "org.apache.hadoop.security.authorize.AuthorizationException",
    }
    assert not_from_here("bob", "::1") == "Unauthorized connection for super-user: bob from IP /::1"


RULE = "hadoop.proxyuser.nncache."


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ("nobody", True)),
        ({f"{RULE}users": "alice , bob", f"{RULE}groups": "staff"}, ("alice", True)),
        ({f"{RULE}users": "alice", f"{RULE}groups": "*"}, ("nobody", True)),
        ({f"{RULE}users": " * "}, ("nobody", True)),
        ({f"{RULE}groups": "staff"}, ("nobody", False)),
        ({"hadoop.proxyuser.other.users": "alice"}, ("nobody", True)),
        ({"hadoop.security.impersonation.provider.class": "x.Y"}, ("nobody", False)),
        (None, ("nobody", False)),
    ],
)
def test_whom_to_try(values: dict[str, str] | None, expected: tuple[str, bool]) -> None:
    """A user of the rules; where another provider or unknown groups decide, a refusal proves nothing."""
    assert whom_to_try("nncache", values) == expected


def test_a_refused_machine_is_distinguished_from_a_refused_user() -> None:
    """The NameNode's message tells them apart."""
    assert is_about_hosts(not_from_here("nncache", "10.0.0.1"))
    assert not is_about_hosts(not_allowed("nncache", "alice"))
