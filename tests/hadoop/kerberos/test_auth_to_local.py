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
    ("rules", "principal", "name"),
    [
        (RULES, "omalley@APACHE.ORG", "omalley"),
        (RULES, "hdfs/10.0.0.1@APACHE.ORG", "hdfs"),
        (RULES, "oom@YAHOO.COM", "oom"),
        (RULES, "johndoe/zoo@FOO.COM", "guest"),
        (RULES, "joe/admin@FOO.COM", "joe"),
        (RULES, "joe/root@FOO.COM", "root"),
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
def test_the_first_rule_that_is_for_a_principal_names_it(rules: str, principal: str, name: str) -> None:
    """Rules match components and realm (TestKerberosName); results may be lower-cased, with some matches replaced."""
    assert short_name(rules, principal) == name


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        (RULES, "foo@ACME.COM"),
        (RULES, "root/joe@FOO.COM"),
        (RULES, "owen/owen/owen@FOO.COM"),
        (RULES, "owen@foo/bar.com"),
        (RULES, "foo@bar@APACHE.ORG"),
        (RULES, "foo"),
        (RULES, "@APACHE.ORG"),
        (RULES, ""),
        ("RULE:[1:$1@$0]", "a@B"),
        ("RULE:[2:$1/$2]", "a/b@B"),
        ("RULE:[1:$1]s/a//", "a@B"),
        ("DEFAULT", "a@B"),
        ("RULE:[1:$1](b)", "a@APACHE.ORG"),
        ("RULE:[1:$1](joe)", "joey@APACHE.ORG"),
        ("RULE:[1:$1@$0](.*@FOO)s/@.*//", "joe@FOO.EVIL"),
    ],
)
def test_a_principal_without_a_rule_has_no_name(rules: str, principal: str) -> None:
    """Invalid principals have none either; a realm or a host in the name would turn one user into another."""
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
    """The error quotes the rule."""
    with pytest.raises(BadRuleError):
        AuthToLocal(rules, REALM)
