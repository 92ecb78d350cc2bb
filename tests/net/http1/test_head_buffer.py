"""Heads are taken whole and one by one, however TCP cuts them."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.http1.head import HeadBuffer, is_one_head

PIECES = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"G", b"GET / ", b"\x16", b"a: b"]))


def heads_of(pieces: Iterable[bytes]) -> tuple[list[bytes], HeadBuffer]:
    """Give the heads that arrive in these pieces, and what is left."""
    buffer, heads = HeadBuffer(), []
    for piece in pieces:
        buffer.add(piece)
        while (head := buffer.take_head()) is not None:
            heads.append(head)
    return heads, buffer


@given(PIECES)
def test_heads_are_the_same_however_they_are_cut(pieces: list[bytes]) -> None:
    """B1: each ends with the first empty line behind it; nothing but empty lines before it is lost."""
    data = b"".join(pieces)
    heads, left = heads_of(pieces)
    whole, same = heads_of([data])
    single, bytewise = heads_of(data[at : at + 1] for at in range(len(data)))
    assert heads == whole == single
    assert all(head[:1] not in b"\r\n" and head.index(b"\r\n\r\n") == len(head) - 4 for head in heads)
    assert left.is_hopeless == same.is_hopeless == bytewise.is_hopeless
    rest = left.take()
    for head in (*heads, rest):
        data = data.lstrip(b"\r\n")
        assert data.startswith(head)
        data = data.removeprefix(head)
    assert not data
    assert len(left) == 0
    assert left.take_head() is None
    one = b"".join(pieces)
    assert is_one_head(one) is (whole == [one])


@pytest.mark.parametrize(
    ("data", "is_hopeless", "has_line"),
    [
        (b"", False, False),
        (b"GET / HT", False, False),
        (b"\r\nGET / HT", False, False),
        (b"GET / HTTP/1.1\r", False, False),
        (b"GET / HTTP/1.1\r\nHost", False, True),
        (b"GET / HTTP/1.1\nHost", True, True),
        (b"\x16\x03\x01", True, False),
    ],
)
def test_what_can_be_no_head_is_seen_early(data: bytes, is_hopeless: bool, has_line: bool) -> None:
    """The parser is to refuse it at once, as a NameNode does."""
    _, left = heads_of([data])
    assert (left.is_hopeless, left.has_request_line) == (is_hopeless, has_line)


def test_whole_heads_are_taken_and_the_rest_stays() -> None:
    """Empty lines before a head are dropped; a part of one waits, and is searched no second time."""
    buffer = HeadBuffer()
    buffer.add(b"\r\n\r\nGET / HTTP/1.1\r\n\r\nGET /b")
    assert buffer.take_head() == b"GET / HTTP/1.1\r\n\r\n"
    assert buffer.take_head() is None
    buffer.add(b" HTTP/1.1\nHost: nn\r\n")
    assert buffer.take_head() is None
    assert buffer.is_hopeless, "a line ends in a bare LF"
    assert buffer.has_request_line
    buffer.add(b"\r\nbody")
    assert buffer.take_head() == b"GET /b HTTP/1.1\nHost: nn\r\n\r\n"
    assert (buffer.take(2), buffer.take()) == (b"bo", b"dy")
    assert not buffer
    assert is_one_head(b"GET / HTTP/1.1\r\n\r\n")
