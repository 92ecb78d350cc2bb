"""Valid user names are those that some cluster can be configured to accept."""

from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.users import is_user_name, read_claimed_user


@pytest.mark.parametrize(
    "name",
    [
        "alice",
        "dr.who",
        "_svc-1",
        "HOST$",
        "11100215",
        "jane@corp.example",
        "CORP\\jane",
        "a b",
        "m\u00fcller",
        "a" * 255,
    ],
)
def test_a_name_that_a_cluster_may_take(name: str) -> None:
    """Leading digits (HDFS-11391, HDFS-10382), `@` (mtth/hdfs #140): the cluster's pattern decides (HDFS-4983)."""
    assert is_user_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "a/b", "a:b", ".", "..", "a\n", "a\0b", "a\x7f", "a\x85", "\ud800", "a" * 256, "\u00fc" * 128],
)
def test_what_no_cluster_can_take(name: str) -> None:
    """It could be a path, is longer than a path component, or contains a control character."""
    assert not is_user_name(name)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("jane@corp.example", "jane@corp.example"),
        ("jane%40corp.example", "jane@corp.example"),
        ("j%61ne%40corp%2Eexample", "jane@corp.example"),
        ("HOST%24", "HOST$"),
        ("a+b", "a b"),
        ("a%20b", "a b"),
        ("a%2Bb", "a+b"),
        ("a%2540b", "a%40b"),
        ("hdfs/h@R.COM", "hdfs/h@R.COM"),
        ("hdfs%2Fh%40R.COM", "hdfs/h@R.COM"),
        ("m%C3%BCller", "m\u00fcller"),
    ],
)
def test_a_claim_is_decoded_once(spelled: str, name: str) -> None:
    """3.4.1 and 3.5.0 do the same, measured with dfs.webhdfs.user.provider.user.pattern = .+"""
    assert read_claimed_user(spelled) == name


@pytest.mark.parametrize(
    "spelled",
    [
        "",
        "%",
        "%4",
        "%zz",
        "%u0041",
        "%FF",
        "%C0%AF",
        "%ED%A0%80",
        "%00",
        "a%0A",
        "a%7F",
        "a%C2%85",
        "a=b",
        "a;b",
        "a#b",
        "a?b",
        "m\u00fcller",
        'a"b',
        "a\\b",
        "%41" * 256,
        "%C3%BC" * 128,
    ],
)
def test_what_is_read_differently_or_not_at_all_is_no_claim(spelled: str) -> None:
    """A NameNode answers 400 to bad escapes and bytes that are not UTF-8; the length limit bounds the memory used."""
    assert read_claimed_user(spelled) is None


@given(
    name=st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=40),
    as_form=st.booleans(),
)
def test_however_a_client_escapes_a_name_it_is_one_claim(name: str, *, as_form: bool) -> None:
    """Python's quote and urlencode, and JavaScript's encodeURIComponent, leave different characters unescaped."""
    spelled = quote_plus(name) if as_form else quote(name, safe="!~*'()")
    assert read_claimed_user(spelled) == name == read_claimed_user(quote(name, safe=""))
