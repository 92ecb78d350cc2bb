"""The paths of znodes, and the parsing of numbers and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.invalidation.channel.znodes import (
    MAX_TXID,
    ZnodePaths,
    encode_number,
    is_filter_name,
    nameservices,
    parse_txid,
)


def test_everything_of_a_nameservice_has_one_place() -> None:
    """The publisher and its readers find each other by these paths alone."""
    znodes = ZnodePaths("/HDFSInotifyRoot", "ns1")
    assert znodes.namespace == "/HDFSInotifyRoot/ns1"
    assert znodes.publisher == "/HDFSInotifyRoot/ns1/.publisher"
    assert znodes.epoch == "/HDFSInotifyRoot/ns1/.epoch"
    assert znodes.filters == "/HDFSInotifyRoot/ns1/.filters"
    assert znodes.definition("joe") == "/HDFSInotifyRoot/ns1/.filters/joe"
    assert znodes.cache == "/HDFSInotifyRoot/ns1/.cache"
    assert znodes.stream("joe") == "/HDFSInotifyRoot/ns1/joe"
    assert znodes.record(znodes.cache, 17) == "/HDFSInotifyRoot/ns1/.cache/17"


def test_what_may_be_a_nameservice_is_listed_in_order() -> None:
    """The root may be that of ZooKeeper itself, and have hidden znodes."""
    assert nameservices(["ns2", "zookeeper", ".x", "ns1", "quota"]) == ("ns1", "ns2")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("17", 17),
        (b"17", 17),
        (str(MAX_TXID), MAX_TXID),
        (str(MAX_TXID + 1), None),
        ("", None),
        ("017", None),
        ("00", None),
        ("-1", None),
        ("+1", None),
        ("1_0", None),
        (" 1", None),
        ("1\n", None),
        ("1.0", None),
        ("\u0661", None),  # a digit to int()
        ("²", None),
        (b"\xb2", None),
        (b"\xff\xfe", None),
        ("9" * 10_000, None),
    ],
)
def test_a_number_is_read_as_plain_decimal_or_not_at_all(text: str | bytes, number: int | None) -> None:
    """Strangers may write below our root: a number in any other form than the publisher's is ignored."""
    assert parse_txid(text) == number
    assert number is None or parse_txid(encode_number(number)) == number


@given(st.integers(0, MAX_TXID))
def test_each_number_has_one_spelling(number: int) -> None:
    """A record's name and its transaction id are the same."""
    assert parse_txid(str(number)) == parse_txid(str(number).encode()) == number


@pytest.mark.parametrize("name", ["a", "joeSUCCESSFiles", "7", "a.b-c_d", "A" * 128])
def test_plain_names_are_names_of_filters(name: str) -> None:
    """A letter or digit comes first; dot, dash and underscore may follow. Hidden names are the channel's own."""
    assert is_filter_name(name)
    for trouble in (f".{name}", f"-{name}", f"_{name}", f"{name}/b", f"{name} b", f"{name}\n", f"{name}\0"):
        assert not is_filter_name(trouble)


@pytest.mark.parametrize("name", ["", ".", "..", "é", "A" * 129, "zookeeper", "quota"])
def test_names_that_would_be_trouble_are_none(name: str) -> None:
    """Some are ZooKeeper's own; none may split a path."""
    assert not is_filter_name(name)
