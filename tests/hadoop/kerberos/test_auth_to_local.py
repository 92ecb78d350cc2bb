"""Principals get the short names that a NameNode gives them, and odd rules are refused."""

import pytest

from nncache.hadoop.kerberos.auth_to_local import AuthToLocal, BadRuleError, NoRuleError

REALM = "APACHE.ORG"
RULES = r"""
RULE:[1:$1@$0](.*@YAHOO\.COM)s/@.*//
RULE:[2:$1](johndoe)s/^.*$/guest/
RULE:[2:$1;$2](^.*;admin$)s/;admin$//
RULE:[2:$2](root)
DEFAULT
"""


def short_name(rules: str, principal: str) -> str:
    """Return the short name of a principal."""
    return AuthToLocal(rules, REALM).short_name(principal)


@pytest.mark.parametrize(
    ("principal", "name"),
    [
        ("omalley@APACHE.ORG", "omalley"),
        ("hdfs/10.0.0.1@APACHE.ORG", "hdfs"),
        ("oom@YAHOO.COM", "oom"),
        ("johndoe/zoo@FOO.COM", "guest"),
        ("joe/admin@FOO.COM", "joe"),
        ("joe/root@FOO.COM", "root"),
    ],
)
def test_the_first_rule_that_is_for_a_principal_names_it(principal: str, name: str) -> None:
    """By its components and its realm (TestKerberosName)."""
    assert short_name(RULES, principal) == name


@pytest.mark.parametrize(
    "principal",
    [
        "foo@ACME.COM",
        "root/joe@FOO.COM",
        "owen/owen/owen@FOO.COM",
        "owen@foo/bar.com",
        "foo@bar@APACHE.ORG",
        "foo",
        "@APACHE.ORG",
        "",
    ],
)
def test_a_principal_without_a_rule_has_no_name(principal: str) -> None:
    """Nor has one that is none: it is refused, not guessed."""
    with pytest.raises(NoRuleError):
        short_name(RULES, principal)


@pytest.mark.parametrize(
    ("rules", "principal", "name"),
    [
        ("RULE:[1:$1]/L", "Joe@APACHE.ORG", "joe"),
        ("RULE:[2:$1]/L", "Joe/guest@FOO.COM", "joe"),
        ("RULE:[1:$1@$0](.*@FOO\\.COM)s/@.*///L", "JOE@FOO.COM", "joe"),
        ("DEFAULT/L", "Joe@APACHE.ORG", "Joe"),
        ("RULE:[1:$1]s/o/0/g", "oo@FOO.COM", "00"),
        ("RULE:[1:$1]s/o/0/", "oo@FOO.COM", "0o"),
        ("RULE:[2:$1/$2@$0](nn/.*@FOO\\.COM)s/.*/hdfs/ DEFAULT", "nn/h@FOO.COM", "hdfs"),
        ("RULE:[1:$1] DEFAULT", "a@B", "a"),
    ],
)
def test_what_a_rule_makes(rules: str, principal: str, name: str) -> None:
    """Lower case, at one place or all."""
    assert short_name(rules, principal) == name


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("RULE:[1:$1@$0]", "a@B"),
        ("RULE:[2:$1/$2]", "a/b@B"),
        ("RULE:[1:$1]s/a//", "a@B"),
        ("DEFAULT", "a@B"),
        ("RULE:[1:$1](b)", "a@APACHE.ORG"),
        ("RULE:[1:$1](joe)", "joey@APACHE.ORG"),
        ("RULE:[1:$1@$0](.*@FOO)s/@.*//", "joe@FOO.EVIL"),
    ],
)
def test_what_is_no_short_name_is_refused(rules: str, principal: str) -> None:
    """A realm or a host in it would make one user another."""
    with pytest.raises(NoRuleError):
        short_name(rules, principal)


@pytest.mark.parametrize(
    "rules",
    [
        "",
        "nonsense",
        "DEFAULTRULE:[1:$1]",
        "RULE:[0:$1]",
        "RULE:[3:$1]",
        "RULE:[1:$2]",
        "RULE:[1:$]",
        "RULE:[1:$1](*)",
        "RULE:[1:$1]([)",
        "RULE:[1:$1](\\p{Lower}+)",
        "RULE:[1:$1]([a-z&&[^b]]*)",
        "RULE:[1:$1](\\Qa\\E)",
        "RULE:[1:$1]s/(a/b/",
        "RULE:[1:$1]s/a/$1/",
        "RULE:[1:$1]s/a/\\\\/",
    ],
)
def test_a_rule_that_may_be_read_otherwise_is_refused(rules: str) -> None:
    """With its text."""
    with pytest.raises(BadRuleError):
        AuthToLocal(rules, REALM)
