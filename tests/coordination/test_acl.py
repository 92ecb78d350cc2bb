"""ACLs and their text."""

import pytest

from nncache.coordination.acl import (
    ALL,
    CHANGES,
    OPEN_ACL,
    ZOOKEEPER_BYTES_OF_AN_ENTRY,
    ZnodeAclEntry,
    ZnodePerms,
    is_same,
    merged,
    parse_acl_entry,
    shown,
    size_bytes,
)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("sasl:alice@R:r", ZnodeAclEntry("sasl", "alice@R", ZnodePerms.READ)),
        ("sasl:nncache/h1@R:adwrc", ZnodeAclEntry("sasl", "nncache/h1@R", ALL)),
        (
            "digest:u:vlUvLnd8MlacsE80rDuu6ONESbM=:cdwa",
            ZnodeAclEntry("digest", "u:vlUvLnd8MlacsE80rDuu6ONESbM=", CHANGES),
        ),
        ("x509:CN=a,O=b:r", ZnodeAclEntry("x509", "CN=a,O=b", ZnodePerms.READ)),
        ("world:anyone:cdrwa", OPEN_ACL[0]),
    ],
)  # fmt: skip
def test_an_entry_is_read_as_hadoop_writes_it(text: str, entry: ZnodeAclEntry) -> None:
    """An id may contain colons; permissions are read in any order and written in one."""
    assert parse_acl_entry(text) == entry
    assert parse_acl_entry(str(entry)) == entry


@pytest.mark.parametrize("text", ["", "sasl", "sasl:alice", "sasl:alice:", "sasl:alice:x", ":a:r", "sasl::r"])
def test_what_is_no_entry_is_refused_with_an_example(text: str) -> None:
    """No part of an entry may be missing."""
    with pytest.raises(ValueError, match=r"must be scheme:id:permissions .* such as sasl:"):
        parse_acl_entry(text)


def test_entries_of_one_identity_count_together() -> None:
    """ZooKeeper checks whether any entry allows an access; the order of entries has no meaning."""
    read, write = ZnodeAclEntry("sasl", "a", ZnodePerms.READ), ZnodeAclEntry("sasl", "a", ZnodePerms.WRITE)
    other = ZnodeAclEntry("sasl", "b", ZnodePerms.READ)
    assert merged((read, other, write)) == (
        ZnodeAclEntry("sasl", "a", ZnodePerms.READ | ZnodePerms.WRITE),
        other,
    )
    assert is_same(
        (read, other, write), (other, ZnodeAclEntry("sasl", "a", ZnodePerms.READ | ZnodePerms.WRITE))
    )
    assert not is_same((read,), (write,))
    assert not is_same((read,), (read, other))


def test_who_is_known_and_who_is_anybody() -> None:
    """An address does not identify a client."""
    for scheme, is_known in (
        ("world", False),
        ("ip", False),
        ("sasl", True),
        ("x509", True),
        ("digest", True),
    ):
        assert ZnodeAclEntry(scheme, "x", ZnodePerms.READ).is_known_identity is is_known


def test_an_acl_is_shown_and_measured() -> None:
    """The size is that of the entry in a request; an empty ACL has a text too."""
    acl = (ZnodeAclEntry("sasl", "é", ZnodePerms.READ), *OPEN_ACL)
    assert shown(acl) == "sasl:é:r, world:anyone:cdrwa"
    assert shown(()) == "no one"
    assert size_bytes(acl) == len("sasl") + 2 + len("worldanyone") + 2 * ZOOKEEPER_BYTES_OF_AN_ENTRY
