"""The names of entries and users."""

import pytest

from nncache.registry.errors import InvalidPathnameError
from nncache.registry.names import element_of_user, fault_of_label, fault_of_user


@pytest.mark.parametrize("label", ["a", "0", "a-b", "xn--bcher-kva", "0000", "a" * 63, "a--b"])
def test_a_label_of_a_host_name(label: str) -> None:
    """RFC 1123 allows a leading digit; RFC 1035 allows 63 bytes."""
    assert fault_of_label(label) is None


@pytest.mark.parametrize(
    ("label", "part"),
    [
        ("", "is empty"),
        ("A", "'A' is no label"),
        ("a_b", "'a_b' is no label"),
        ("-a", "'-a' is no label"),
        ("a-", "'a-' is no label"),
        ("a.b", "'a.b' is no label"),
        ("a b", "'a b' is no label"),
        ("a\n", "is no label"),
        ("bücher", "'bücher' is no label"),
        ("٣", "is no label"),
        ("a" * 64, "has 64 bytes"),
        ("ü" * 32, "has 64 bytes"),
        ("\ud800", "is no label"),
    ],
)
def test_what_is_no_label_is_named_with_the_rule(label: str, part: str) -> None:
    """The length counts bytes."""
    fault = fault_of_label(label)
    assert fault is not None
    assert part in fault
    assert "RFC 1123" in fault


def test_only_a_user_may_have_dots() -> None:
    """Hadoop keeps them; each part is a label, and the whole has at most 63 bytes."""
    assert fault_of_user("john.smith") is None
    assert "is empty" in (fault_of_user("john..smith") or "")
    assert "'smith-'" in (fault_of_user("john.smith-") or "")
    assert "has 64 bytes" in (fault_of_user(f"{'a' * 32}.{'b' * 31}") or "")


@pytest.mark.parametrize(
    ("user", "element"),
    [
        ("joe", "joe"),
        ("Joe", "joe"),
        ("joe@EXAMPLE.COM", "joe"),
        ("nn/host.example@EXAMPLE.COM", "nn"),
        ("john.smith", "john.smith"),
        ("bücher", "xn--bcher-kva"),
        ("BÜCHER", "xn--bcher-kva"),
        ("straße", "strasse"),
        ("ΑΛΦΑ", "xn--mxaa3a7b"),
        ("日本語", "xn--wgv71a119e"),
        ("xn--bcher-kva", "xn--bcher-kva"),
        ("0000", "0000"),
    ],
)
def test_the_entry_of_a_user_is_hadoops(user: str, element: str) -> None:
    """Each pair was observed with Hadoop 3.5.0; test_hadoop_client checks it again."""
    assert element_of_user(user) == element


@pytest.mark.parametrize(
    "user", ["joe smith", "joe_smith", "-storm", "@REALM", "/host", "", "a" * 64, "ü" * 60, "a..b"]
)
def test_a_user_without_a_name_is_refused(user: str) -> None:
    """A space, an underscore or a misplaced hyphen cannot be encoded with punycode."""
    with pytest.raises(InvalidPathnameError) as caught:
        element_of_user(user)
    assert repr(user) in str(caught.value)
