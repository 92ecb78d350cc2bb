"""Chunked bodies, however TCP splits them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.http1.chunks import MAX_LINE_BYTES, MAX_TRAILER_BYTES, Chunks, ChunksError, only_chunk

BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=5)
EXTENSIONS = st.sampled_from([b"", b";a", b";a=b;c", b"; chunk-signature=" + b"0" * 64])
SIZES = st.sampled_from(["%x", "%X", "%016x"])
TRAILERS = st.sampled_from([b"", b"T: v\r\n", b"Cookie: a\r\nX:\r\n", b"A: \xc3\xa9\tb\r\n"])
BEHIND = st.sampled_from([b"", b"\r\n", b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n"])


def taken(pieces: list[bytes]) -> tuple[bytes, bytes, bool]:
    """Feed the pieces one by one; return the body, the bytes after it, and whether it has ended."""
    chunks, text, behind = Chunks(), b"", b""
    for piece in pieces:
        if chunks.is_over:
            behind += piece
            continue
        more, behind = chunks.take(piece)
        text += more
    return text, behind, chunks.is_over


@given(BODIES, EXTENSIONS, SIZES, TRAILERS, BEHIND, st.data())
def test_chunks_are_the_same_however_tcp_cuts_them(
    parts: list[bytes], extension: bytes, size: str, trailers: bytes, behind: bytes, data: st.DataObject
) -> None:
    """The body, its end and the bytes after it are equal; extensions and trailers are dropped."""
    sizes = [(size % len(part)).encode() for part in parts]
    chunks = [b"%b%b\r\n%b\r\n" % (size, extension, part) for size, part in zip(sizes, parts, strict=True)]
    raw = b"".join((*chunks, b"0", extension, b"\r\n", trailers, b"\r\n", behind))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    for ends in ([*cuts, len(raw)], [*range(1, len(raw) + 1)]):
        pieces = [raw[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        text, rest, is_over = taken(pieces)
        assert (text, rest, is_over) == (b"".join(parts), behind, True)


@given(BODIES, st.integers(min_value=1))
def test_a_body_that_breaks_off_does_not_end(parts: list[bytes], missing: int) -> None:
    """This holds wherever it breaks off."""
    raw = b"".join([b"%x;e\r\n%b\r\n" % (len(part), part) for part in parts]) + b"0\r\nT: v\r\n\r\n"
    _, _, is_over = taken([raw[: len(raw) - 1 - missing % len(raw)]])
    assert not is_over


@pytest.mark.parametrize(
    "raw",
    [
        b"x\r\n",
        b"0x3\r\n",
        b"-3\r\n",
        b"3 \r\n",
        b"3\n",
        b"3\rabc",
        b"00000000000000003\r\n",
        b"3;a\x00\r\n",
        b'3;a="b"\r\n',
        b"3;\n",
        b"3\r\nabcd",
        b"3\r\nabc\n0",
        b"3\r\nabc0\r\n",
        b"3;" + b"a" * MAX_LINE_BYTES,
        b"0\r\nT : v\r\n",
        b"0\r\n T: v\r\n",
        b"0\r\nT\r\n",
        b"0\r\nT: \x00\r\n",
        b"0\r\nT: v\n",
        b"0\r\nT: v\r\n folded\r\n",
        b"0\r\nT: " + b"v" * MAX_TRAILER_BYTES,
        b"0\r\n" + b"T: v\r\n" * (MAX_TRAILER_BYTES // 6 + 1) + b"\r\n",
    ],
)
@pytest.mark.parametrize("step", [1, 10_000])
def test_what_two_readers_could_take_for_two_things_is_refused(raw: bytes, step: int) -> None:
    """The error is raised as soon as possible, in one piece or byte by byte."""
    with pytest.raises(ChunksError):
        taken([raw[at : at + step] for at in range(0, len(raw), step)])


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"0005\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", b"hello"),
        (b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", b"\r\n0\r\n\r\n"),
        (b"5;a=b\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"0\r\n\r\n", b""),
    ],
)
def test_a_body_in_one_piece_is_read_as_one_in_many(text: bytes, body: bytes) -> None:
    """Most replies have a single chunk."""
    for size in (len(text), 1, 2):
        chunks, read = Chunks(), b""
        for at in range(0, len(text), size):
            part, behind = chunks.take(text[at : at + size])
            read += part
            assert not behind
        assert (read, chunks.is_over) == (body, True)


def test_a_piece_that_ends_like_a_body_may_be_a_part_of_one() -> None:
    """The data of a chunk is not parsed."""
    chunks = Chunks()
    assert chunks.take(b"9\r\nab\r\n0\r\n\r\n") == (b"ab\r\n0\r\n\r\n", b"")
    assert not chunks.is_over


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (b"x2\r\n{}\r\n0\r\n\r\n", b"{}"),
        (b"x0\r\n\r\n", None),
        (b"x2;a\r\n{}\r\n0\r\n\r\n", None),
        (b"x1\r\n{}\r\n0\r\n\r\n", None),
        (b"x2\r\n{}\r\n0\r\n\r\nx", None),
        (b"x2\r\n{}\r\n1\r\n{\r\n0\r\n\r\n", None),
    ],
)
def test_one_chunk_alone_is_taken_at_once(data: bytes, body: bytes | None) -> None:
    """Any other body returns None, and is left to `Chunks`."""
    assert only_chunk(data, 1) == body
    if body is not None:
        assert taken([data[1:]]) == (body, b"", True)
