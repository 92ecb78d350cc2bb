"""The required ACL of each znode."""

from pathlib import Path

import pytest

from nncache.coordination.acl import (
    ALL,
    CREATOR_ALL_ACL,
    OPEN_ACL,
    Acl,
    ZnodeAclEntry,
    ZnodePerms,
    is_same,
    size_bytes,
)
from nncache.coordination.sasl import DigestLogin
from nncache.coordination.settings import ZooKeeperSettings
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.publisher.access import MAX_ACL_BYTES, AccessRules, ZnodeAccess, rules_of
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.net.setting_error import SettingError
from tests.invalidation.publisher.fake_cluster import ZNODES

OWN = ZnodeAclEntry("sasl", "nncache", ALL)
PROXY = ZnodeAclEntry("sasl", "proxy", ZnodePerms.READ)
RULES = AccessRules((PROXY,), "sasl:{user}@R")


def of(name: str, owner: str = "joe", *users: str) -> PublishedFilter:
    """Return a filter in force."""
    return PublishedFilter(
        name=name, id="1", path_glob="/a", since_txid=1, owner=owner, allowed_subscribers=users
    )


def readers(*users: str) -> Acl:
    """Return the ACL of a filter that these users may read."""
    return (OWN, PROXY, *(ZnodeAclEntry("sasl", f"{user}@R", ZnodePerms.READ) for user in users))


def access(*filters: PublishedFilter, rules: AccessRules = RULES) -> ZnodeAccess:
    """Return the access of a publisher with a known identity, with these filters."""
    made = ZnodeAccess(ZNODES, rules)
    made.learn((OWN, PROXY))
    assert made.admit(filters) == {}
    return made


def test_a_filters_owner_and_subscribers_read_that_filter_alone() -> None:
    """They read its definition, its stream and each record; other znodes are for the service and zookeeper_acl."""
    made = access(of("f", "joe", "ann", "joe"), of("g", "bob"))
    top = ZNODES.namespace
    for path in (ZNODES.definition("f"), ZNODES.stream("f"), f"{top}/f/12"):
        assert is_same(made.acl_of(path), readers("joe", "ann")), path
    assert is_same(made.acl_of(f"{top}/g/12"), readers("bob"))
    closed = (
        ZNODES.root,
        top,
        ZNODES.publisher,
        ZNODES.filters,
        ZNODES.cache,
        f"{ZNODES.cache}/12",
        f"{top}2/f",
    )
    for path in (*closed, f"{top}/unknown/1", ZNODES.definition("unknown"), "/f", "/elsewhere/f/1"):
        assert is_same(made.acl_of(path), readers()), path
    assert made.size_of(f"{top}/f/12") == size_bytes(readers("joe", "ann"))
    assert not made.is_open


def test_other_subscribers_count_from_when_they_are_admitted() -> None:
    """Removed subscribers lose their right. The publisher may learn its own identity later than the rules."""
    made = access(of("f", "joe", "ann"))
    made.admit([of("f", "joe", "bob")])
    assert is_same(made.acl_of(ZNODES.stream("f")), readers("joe", "bob"))
    made.learn((OWN, PROXY))
    assert is_same(made.acl_of(ZNODES.stream("f")), readers()), "admitted again by each run"


def test_before_it_is_known_who_we_are_a_znode_is_its_makers() -> None:
    """And zookeeper_acl's. Where zookeeper_acl also names the publisher, the publisher keeps all rights."""
    made = ZnodeAccess(ZNODES, RULES)
    assert made.common == (*CREATOR_ALL_ACL, PROXY)
    assert not made.is_known
    other = ZnodeAclEntry("sasl", "nncache2", ALL)
    made = ZnodeAccess(ZNODES, AccessRules((other, ZnodeAclEntry("sasl", "nncache", ZnodePerms.READ)), ""))
    made.learn((OWN, other, ZnodeAclEntry("sasl", "nncache", ZnodePerms.READ)))
    assert made.is_known
    assert is_same(made.common, (OWN, other))


def test_without_rules_all_is_open() -> None:
    """Without rules ACLs stay open, as in earlier releases."""
    made = ZnodeAccess(ZNODES, None)
    made.learn(OPEN_ACL)
    assert made.is_open
    assert made.is_known
    assert made.admit([of("f")]) == {}
    assert made.acl_of(ZNODES.stream("f")) == OPEN_ACL


def test_no_form_for_users_admits_none() -> None:
    """A certificate alone does not show the identities of users."""
    made = access(of("f", "joe", "ann"), rules=AccessRules((PROXY,), ""))
    assert is_same(made.acl_of(ZNODES.stream("f")), readers())


def test_more_subscribers_than_an_acl_can_name_are_counted() -> None:
    """The first subscribers are admitted: a record and its ACL fit in one packet."""
    users = tuple(f"user{number:05}{'x' * 90}" for number in range(2500))
    made = ZnodeAccess(ZNODES, RULES)
    made.learn((OWN, PROXY))
    left_out = made.admit([of("f", "joe", *users), of("g")])
    acl = made.acl_of(ZNODES.stream("f"))
    assert left_out == {"f": ("joe", *users)[len(acl) - 2 :]}
    assert MAX_ACL_BYTES - 200 < size_bytes(acl) <= MAX_ACL_BYTES


def test_rules_need_an_identity(tmp_path: Path) -> None:
    """Without an identity the rules would lock the publisher out; users are named like its own login."""
    publisher = PublisherSettings(zookeeper_acl=("sasl:proxy:r",))
    with pytest.raises(SettingError, match="zookeeper_acl: sasl:proxy:r: needs zookeeper_sasl or"):
        rules_of(publisher, ZooKeeperSettings(), None)
    with pytest.raises(SettingError, match=r"zookeeper_subscriber_id: .* needs zookeeper_sasl or"):
        rules_of(PublisherSettings(zookeeper_subscriber_id="sasl:{user}"), ZooKeeperSettings(), None)
    assert rules_of(PublisherSettings(), ZooKeeperSettings(), None) is None
    known = ZooKeeperSettings(zookeeper_sasl="digest", zookeeper_password_file=str(tmp_path))
    assert rules_of(publisher, known, DigestLogin("pub", "x")) == AccessRules((PROXY,), "sasl:{user}")
    named = PublisherSettings(zookeeper_subscriber_id="x509:CN={user}")
    assert rules_of(named, known, DigestLogin("pub", "x")) == AccessRules((), "x509:CN={user}")
    certified = ZooKeeperSettings(zookeeper_tls=True, zookeeper_certificate="/c", zookeeper_key="/k")
    assert rules_of(PublisherSettings(), certified, None) == AccessRules((), "")


@pytest.mark.parametrize("form", ["sasl:{user}@R", "x509:CN={user},O=corp", "digest:{user}:secret"])
def test_a_name_that_would_make_another_identity_has_no_entry(form: str) -> None:
    """ZooKeeper refuses a whole transaction for one invalid identity, which must not affect other filters."""
    made = ZnodeAccess(ZNODES, AccessRules((), form))
    made.learn((OWN,))
    odd = ("jane@corp.example", "bob,OU=admins", "a b", "CORP\\eve", "m\u00fcller")
    assert made.admit([of("f", "11100215", "ann", *odd)]) == {"f": odd}
    scheme, _, pattern = form.partition(":")
    allowed = (
        ZnodeAclEntry(scheme, pattern.replace("{user}", user), ZnodePerms.READ)
        for user in ("11100215", "ann")
    )
    assert is_same(made.acl_of(ZNODES.stream("f")), (OWN, *allowed))
