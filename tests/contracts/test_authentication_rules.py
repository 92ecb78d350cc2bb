"""Principals, proxy users and hosts mean the same to nncache and to Hadoop's own classes in a JVM."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.kerberos.auth_to_local import AuthToLocal, BadRuleError, NoRuleError
from nncache.hadoop.proxy_users import NO_PROXY_USER, address_of, parse_hosts, parse_proxy_users
from tests.contracts.hadoop_jvm import hadoop_jvm

REALM = "APACHE.ORG"
RULES = (
    "DEFAULT",
    "RULE:[1:$1@$0](.*@YAHOO\\.COM)s/@.*//\nRULE:[2:$1](johndoe)s/^.*$/guest/\nDEFAULT",
    "RULE:[2:$1;$2](^.*;admin$)s/;admin$// RULE:[2:$2](root) DEFAULT",
    "RULE:[2:$1/$2@$0]([ndj]n/.*@APACHE\\.ORG)s/.*/hdfs/ DEFAULT/L",
    "RULE:[1:$1@$0](.*@FOO\\.COM)s/@.*///L RULE:[2:$1]s/o/0/g",
    "RULE:[1:$1] RULE:[2:$1$2]",
    "RULE:[1:$1@$0] DEFAULT",
    "RULE:[1:$1](JOE)s/J/j/ RULE:[1:$1](joe)/L",
    "RULE:[1:$1@$0](jo@FOO)s/@.*// RULE:[1:$1@$0](.*@YAHOO)s/@.*//",
)
PRINCIPALS = tuple(
    f"{name}@{realm}"
    for name, realm in itertools.product(
        ("joe", "JOE", "johndoe/zoo", "joe/admin", "joe/root", "nn/host.example.com", "dn/h", "oo", "o/o"),
        (REALM, "YAHOO.COM", "FOO.COM", "apache.org"),
    )
)
HOSTS = (
    "*",
    "10.0.0.1",
    "10.0.0.1, 10.0.0.2",
    "10.0.0.0/24",
    "10.0.0.7/24,10.1.0.1",
    "localhost",
    "10.0.0.0/32",
    "",
)
ADDRESSES = (
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.9",
    "10.1.0.1",
    "10.0.1.0",
    "127.0.0.1",
    "10.0.0.0",
    "10.0.0.255",
)
ACLS = (
    ("alice", ""),
    ("alice, bob", ""),
    ("*", ""),
    (" * ", ""),
    ("bob,*", ""),
    ("", "*"),
    ("", ""),
    ("Alice", ""),
)


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Any]:
    """A JVM with Hadoop's classes in this realm, until the end of the module."""
    options = (f"-Djava.security.krb5.realm={REALM}", "-Djava.security.krb5.kdc=localhost:88")
    with hadoop_jvm(Path("/nonexistent"), *options) as hadoop:
        yield hadoop


def our_name(rules: str, principal: str) -> str | None:
    """Return nncache's short name; None without one."""
    try:
        return AuthToLocal(rules, REALM).short_name(principal)
    except (NoRuleError, BadRuleError):
        return None


def their_name(hadoop: Any, rules: str, principal: str) -> str | None:
    """Return Hadoop's short name; None without one."""
    names = hadoop.security.authentication.util.KerberosName
    names.setRuleMechanism("hadoop")
    names.setRules(rules)
    try:
        return str(names(principal).getShortName())
    except Py4JJavaError:
        return None


def test_principals_have_the_same_short_names(hadoop: Any) -> None:
    """Each rule set gives the same name, or none, on both sides."""
    pairs = list(itertools.product(RULES, PRINCIPALS))
    ours = {pair: our_name(*pair) for pair in pairs}
    assert ours == {pair: their_name(hadoop, *pair) for pair in pairs}
    assert len({name for name in ours.values() if name}) > 10


def test_hosts_include_the_same_addresses(hadoop: Any) -> None:
    """Hosts are given by address, network or name."""
    for text in HOSTS:
        rules, machines = parse_hosts(text), hadoop.util.MachineList(text)
        resolved = {address_of("127.0.0.1")} if rules.names == ("localhost",) else set()
        for address in ADDRESSES:
            ours = rules.include(address_of(address), resolved)
            assert (text, address, ours) == (text, address, machines.includes(address))


def test_users_may_be_acted_for_alike(hadoop: Any) -> None:
    """The groups have no members for Hadoop here."""
    alice = hadoop.security.UserGroupInformation.createRemoteUser("alice")
    for users, groups in ACLS:
        values = {"hadoop.proxyuser.knox.users": users, "hadoop.proxyuser.knox.groups": groups}
        rules = parse_proxy_users(Configuration(values)).get("knox", NO_PROXY_USER)
        acl = hadoop.security.authorize.AccessControlList(users, groups)
        assert (users, groups, rules.acts_for("alice")) == (users, groups, acl.isUserAllowed(alice))
