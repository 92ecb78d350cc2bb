"""The rights of users on an entry."""

import pytest

from nncache.coordination.acl import ALL, OPEN_ACL, ZnodeAclEntry, ZnodePerms, parse_acl_entry
from nncache.registry.access import READABLE, AccessPolicy, ZooKeeperIdentity, digest_account, parse_account

YARN = ZooKeeperIdentity("sasl", "yarn@EXAMPLE.COM")
SECURE = AccessPolicy((YARN,), "EXAMPLE.COM")
SYSTEM = (READABLE, YARN.entry(ALL))


@pytest.mark.parametrize(
    ("text", "realm", "account"),
    [
        ("sasl:yarn@", "EXAMPLE.COM", YARN),
        ("sasl:yarn@EXAMPLE.COM", "", YARN),
        ("sasl:yarn", "", ZooKeeperIdentity("sasl", "yarn")),
        ("digest:u:cGFzcw==", "", ZooKeeperIdentity("digest", "u:cGFzcw==")),
    ],
)
def test_an_account_as_hadoop_writes_it(text: str, realm: str, account: ZooKeeperIdentity) -> None:
    """The format is that of hadoop.registry.system.accounts."""
    assert parse_account(text, realm) == account
    assert str(account) in {text, f"{text}{realm}"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("yarn", "scheme:id"),
        (":x", "scheme:id"),
        ("sasl:", "scheme:id"),
        ("sasl:a:b", "scheme:id"),
        ("sasl:y@", "realm"),
    ],
)
def test_what_is_no_account_is_refused(text: str, part: str) -> None:
    """The error names the valid form."""
    with pytest.raises(ValueError, match=part):
        parse_account(text, "")


def test_a_digest_is_zookeepers() -> None:
    """The value is DigestAuthenticationProvider.generateDigest("super:test") of ZooKeeper 3.8."""
    assert str(digest_account("super", "test")) == "digest:super:D/InIHSb7yEEbrWz8b9l71RjZJU="


@pytest.mark.parametrize(("user", "password"), [("", "p"), ("u", ""), ("u:v", "p"), ("u", "p:q")])
def test_an_accessor_needs_both(user: str, password: str) -> None:
    """`RegistrySecurity.isValid` has the same rule."""
    with pytest.raises(ValueError, match="an id and a password"):
        digest_account(user, password)


def test_an_open_registry_has_open_entries() -> None:
    """No ACL in it is reported as a fault."""
    policy = AccessPolicy()
    assert not policy.is_secure
    entry_acl = policy.entry_acl([digest_account("a", "b")])
    assert policy.system_acl() == entry_acl == policy.home_acl("joe") == OPEN_ACL
    assert list(policy.faults("/", OPEN_ACL)) == []


def test_the_acls_of_the_design() -> None:
    """Everybody reads; system accounts have all rights; users add and remove; accessors and creators write theirs."""
    accessor = digest_account("a", "b")
    assert SECURE.system_acl() == SYSTEM
    assert SECURE.entry_acl([accessor]) == (*SYSTEM, ZnodeAclEntry("auth", "", ALL), accessor.entry(ALL))
    assert SECURE.home_acl("joe") == (*SYSTEM, parse_acl_entry("sasl:joe@EXAMPLE.COM:crd"))
    assert AccessPolicy((YARN,)).home_acl("joe")[-1] == parse_acl_entry("sasl:joe:crd")


JOE = parse_acl_entry("sasl:joe@EXAMPLE.COM:cdrwa")

WRONG = {
    "no reader": ("/", SYSTEM[1:], ["not every client may read it"]),
    "open": ("/users", OPEN_ACL, ["world:anyone:cdrwa lets clients", "yarn@EXAMPLE.COM has not all rights"]),
    "an address": (
        "/services",
        (*SYSTEM, ZnodeAclEntry("ip", "10.0.0.1", ZnodePerms.WRITE)),
        ["ip:10.0.0.1:w lets"],
    ),
    "half a system account": ("/", (READABLE, YARN.entry(ZnodePerms.READ)), ["has not all rights"]),
    "a user at the root": ("/", (*SYSTEM, JOE), ["sasl:joe@EXAMPLE.COM:cdrwa is no system account"]),
    "a user at /users": ("/users", (*SYSTEM, JOE), ["is no system account"]),
    "a user who writes home": ("/users/joe", (*SYSTEM, JOE), ["may do more than add and remove"]),
    "another's home": ("/users/ann", (*SYSTEM, JOE), ["is another user"]),
    "below another's home": ("/users/ann/x", (*SYSTEM, JOE), ["is another user"]),
    "another realm": (
        "/users/joe/x",
        (*SYSTEM, parse_acl_entry("sasl:joe@OTHER.COM:w")),
        ["is another user"],
    ),
}


@pytest.mark.parametrize(("path", "acl", "parts"), WRONG.values(), ids=WRONG)
def test_a_wrong_acl_is_named(path: str, acl: tuple[ZnodeAclEntry, ...], parts: list[str]) -> None:
    """Each wrong entry and each missing one is reported."""
    found = list(SECURE.faults(path, acl))
    assert len(found) == len(parts)
    assert all(part in fault for part, fault in zip(parts, found, strict=True))


@pytest.mark.parametrize(
    ("path", "acl"),
    [
        ("/", SYSTEM),
        ("/users/joe", SECURE.home_acl("joe")),
        ("/users/xn--bcher-kva", SECURE.home_acl("bücher")),
        ("/users/joe/hbase/demo1", (*SYSTEM, JOE, digest_account("a", "b").entry(ALL))),
        ("/users/joe/hbase", (*SYSTEM, parse_acl_entry("sasl:joe/host@EXAMPLE.COM:cdrwa"))),
        ("/services/hdfs", (*SYSTEM, parse_acl_entry("sasl:nn/host@EXAMPLE.COM:cdrwa"))),
    ],
)
def test_a_right_acl_has_no_faults(path: str, acl: tuple[ZnodeAclEntry, ...]) -> None:
    """The creator of a service's entry may write it."""
    assert list(SECURE.faults(path, acl)) == []


def test_no_user_owns_the_home_of_a_name_without_an_element() -> None:
    """An ACL may name any account; one that no element can have is another user's."""
    path, odd = "/users/joe", parse_acl_entry("sasl:no_host_name:crd")
    assert list(SECURE.faults(path, (*SECURE.home_acl("joe")[:-1], odd)))
