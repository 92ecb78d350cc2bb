"""Canonical paths and their spellings in request targets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.paths import (
    InvalidPathError,
    ancestors,
    canonical,
    decode_escapes,
    decode_loosely,
    decode_target_path,
    depth,
    exceeds_limits,
    has_dot_segments,
    is_cacheable,
    is_reserved,
    name,
    parent,
    percent_decode,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/w/f", "/w/f"),
        ("//w///f//", "/w/f"),
        ("/w/.", "/w/."),
        ("/w/../f", "/w/../f"),
        ("/ /\n", "/ /\n"),
    ],
)
def test_a_path_has_one_canonical_spelling(path: str, expected: str) -> None:
    """Slashes collapse and a trailing one is removed; everything else is kept, including dots."""
    assert canonical(path) == expected


@pytest.mark.parametrize("path", ["", "w", "w/f", "../w", "/w\0"])
def test_what_is_no_path_is_refused(path: str) -> None:
    """Relative paths, the empty path, and paths with a NUL do not exist in HDFS."""
    with pytest.raises(InvalidPathError):
        canonical(path)


def test_the_root_has_no_parent_and_no_ancestor() -> None:
    """Other paths have one ancestor for each slash."""
    assert (parent("/"), name("/"), tuple(ancestors("/")), depth("/")) == (None, "", (), 0)
    assert (parent("/a"), parent("/a/b"), name("/a/b"), depth("/a/b")) == ("/", "/a", "b", 2)
    assert tuple(ancestors("/a/b/c")[1:]) == ("/a", "/")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", False),
        ("/" + 7_999 * "a", False),
        ("/" + 8_000 * "a", True),
        (1_000 * "/a", False),
        (1_001 * "/a", True),
        (1_001 * "/aaaaaaaaaa", True),
    ],
)
def test_a_name_node_makes_nothing_beyond_its_limits(path: str, expected: bool) -> None:
    """8,000 characters and 1,000 levels; longer paths are not cached."""
    assert exceeds_limits(path) is expected
    assert is_cacheable(path) is not expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", True),
        ("/w/f", True),
        ("/w/.hidden", True),
        ("/w/...", True),
        ("/.reservedx", True),
        ("/w/.reserved", True),
        ("/w/.snapshots/f", True),
        ("/w/.", False),
        ("/../w", False),
        ("/.reserved", False),
        ("/.reserved/raw/w", False),
        ("/.reserved/.inodes/16386", False),
        ("/.snapshot", False),
        ("/w/.snapshot", False),
        ("/w/.snapshot/s1/f", False),
    ],
)
def test_only_paths_whose_changes_events_name_are_cacheable(path: str, expected: bool) -> None:
    """Aliases, snapshots and dot segments have no events of their own."""
    assert is_cacheable(path) is expected


def test_dot_segments_and_aliases_are_recognized() -> None:
    """`..` counts only as a whole name, and `/.reserved` only at the top."""
    assert has_dot_segments("/a/../b")
    assert has_dot_segments("/.")
    assert not has_dot_segments("/a/..b/c.")
    assert is_reserved("/.reserved")
    assert is_reserved("/.reserved/raw")
    assert not is_reserved("/a/.reserved")


# The path in the 404 of real NameNodes of 3.4.1 and 3.5.0 for this spelling, equal in both.
SPELLINGS = [
    ("", "/"),
    ("/", "/"),
    ("//w//none//", "//w//none//"),
    ("/w/x!$&'()*+,=:@-._~y", "/w/x!$&'()*+,=:@-._~y"),
    ("/w/a+b", "/w/a+b"),
    ("/w/a%2Bb", "/w/a+b"),
    ("/w/a%20b", "/w/a b"),
    ("/w%2Fq", "/w/q"),
    ("/w/%2F%2Fq", "/w///q"),
    ("/w/n%2F", "/w/n/"),
    ("/w/%2525", "/w/%25"),
    ("/w/x%3By", "/w/x;y"),
    ("/w/%5B", "/w/["),
    ("/w/%3F%23", "/w/?#"),
    ("/w/%22x%5C", '/w/"x\\'),
    ("/w/%c3%A9", "/w/é"),
    ("/w/%F0%9F%98%80", "/w/😀"),
    ("/w/%0Ax%1F%7F", "/w/\nx\x1f\x7f"),
    ("/w/%2e%2E/x", "/w/../x"),
]


@pytest.mark.parametrize(("raw", "expected"), SPELLINGS)
def test_a_target_is_decoded_as_both_releases_do(raw: str, expected: str) -> None:
    """Percent escapes are decoded once; "+" is kept, "%2F" separates, slashes are kept."""
    assert decode_target_path(raw) == expected
    assert decode_target_path(raw.encode()) == expected


@pytest.mark.parametrize(
    "raw",
    [
        "w", "%2Fw", ";a=b/w",  # 3.5.0 reads the second as the path "/2Fw"
        "/w/%", "/w/%2", "/w/%zz", "/w/%u0041", "/w/%00", "/w/%ff", "/w/%C0%80", "/w/%ED%A0%80",
        "/w/[", "/w/]", "/w/\\", "/w/^", "/w/`", "/w/{", "/w/|", "/w/}", "/w/<", '/w/"', "/w/ ",
        "/w/..;/x", "/w/;", "/w?x", "/w#x", "/w/é",
    ],
)  # fmt: skip
def test_a_spelling_releases_disagree_on_is_refused(raw: str) -> None:
    """Such a request is forwarded: the cache answers only spellings that all releases read alike."""
    with pytest.raises(InvalidPathError):
        decode_target_path(raw)


@pytest.mark.parametrize("code", [0xDCFF, 0xD800])
def test_bytes_that_are_no_utf8_are_refused(code: int) -> None:
    """The server represents such a byte as a surrogate escape; any other surrogate never was a byte."""
    with pytest.raises(InvalidPathError):
        decode_target_path("/w/" + chr(code))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [("/w/[x]|é", "/w/[x]|é"), ("/w/a;b", "/w/a;b"), ("/w/\udcc3\udca9", "/w/é"), ("", "/"), (b"/%41", "/A")],
)
def test_the_loose_reader_takes_unencoded_characters(raw: str | bytes, expected: str) -> None:
    """The most tolerant release does the same, since a write that one release refuses may succeed on another."""
    assert decode_loosely(raw) == expected


@given(st.binary(max_size=20))
def test_every_utf8_text_can_be_spelled(data: bytes) -> None:
    """Percent-encoding every byte is reversible, except for NUL and bytes that are not UTF-8."""
    spelled = "/" + "".join(f"%{byte:02x}" for byte in data)
    try:
        expected = data.decode()
    except UnicodeDecodeError:
        expected = "\0"
    if "\0" in expected:
        with pytest.raises(InvalidPathError):
            decode_target_path(spelled)
    else:
        assert decode_target_path(spelled) == "/" + expected


def test_percent_escapes_are_decoded_as_utf8() -> None:
    """A text without an escape is unchanged."""
    assert [percent_decode(raw) for raw in ("a b", "a%20b", b"%C3%A9")] == ["a b", "a b", "é"]


@pytest.mark.parametrize(
    ("raw", "decoded"),
    [
        (b"/a=b", b"/a=b"),
        (b"/%41=%3d%25%32%35", b"/A==%25"),
        (b"%", b"%"),
        (b"/%zz%41%2=%C3%A9%", b"/%zzA%2=\xc3\xa9%"),
        (b"%%41%%%0d%0A", b"%A%%\r\n"),
    ],
)
def test_escapes_that_are_none_stay(raw: bytes, decoded: bytes) -> None:
    """Each valid escape is decoded once, to any byte."""
    assert decode_escapes(raw) == decoded
