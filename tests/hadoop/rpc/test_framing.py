"""Frames of Hadoop RPC."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.errors import FramingError
from nncache.hadoop.rpc.framing import (
    FrameSplitter,
    encode_frame,
    encode_preamble,
    parse_preamble,
    take_message,
)
from tests.hadoop.rpc.fake_server import frame_of, messages

LIMIT = 1000


def split(pieces: list[bytes]) -> list[bytes | str]:
    """Return the frames of these pieces, followed by the error that ends them, if any."""
    splitter = FrameSplitter(LIMIT)
    found: list[bytes | str] = []
    for piece in pieces:
        splitter.receive(piece)
        try:
            while (frame := splitter.next_frame()) is not None:
                found.append(frame)
        except FramingError as exc:
            return [*found, str(exc)]
    return found


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut bytes into pieces at these places."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.lists(st.binary(max_size=300), max_size=3), max_size=5), st.lists(st.integers(0, 2000)))
def test_what_was_encoded_comes_out(frames: list[list[bytes]], places: list[int]) -> None:
    """Frames and their messages survive the wire, however it cuts them."""
    data = b"".join(encode_frame(*parts) for parts in frames)
    assert data == b"".join(frame_of(*parts) for parts in frames)
    found = split(cut(data, places))
    assert [messages(frame) for frame in found if isinstance(frame, bytes)] == frames


@pytest.mark.parametrize("length", [0, 1, 127, 128, 129, 16_383, 16_384, 70_000])
def test_a_message_of_any_length_comes_out(length: int) -> None:
    """This includes each length at which the prefix takes another byte."""
    frame = encode_frame(bytes(length), b"next")[4:]
    message, end = take_message(frame, 0)
    assert message == bytes(length)
    assert take_message(frame, end) == (b"next", len(frame))


@given(st.binary(max_size=50), st.integers(0, 60))
def test_any_frame_holds_a_message_or_an_error(frame: bytes, start: int) -> None:
    """A message lies within its frame, and the next one begins after it."""
    try:
        message, end = take_message(frame, start)
    except FramingError:
        return
    assert start < end <= len(frame)
    assert frame[:end].endswith(message)


def test_a_large_frame_is_refused_by_its_length() -> None:
    """Its megabytes are not collected first; frames before it are returned."""
    assert split([encode_frame(b"ok") + (LIMIT + 1).to_bytes(4, "big")]) == [
        b"\x02ok",
        "a frame of 1001 bytes was announced, 1000 are allowed",
    ]
    assert split([LIMIT.to_bytes(4, "big") + bytes(LIMIT)]) == [bytes(LIMIT)]
    assert split([LIMIT.to_bytes(4, "big") + bytes(LIMIT - 1)]) == [], "the rest is on its way"


def test_a_web_server_is_named_as_what_it_is() -> None:
    """The usual mistake, an HTTP port instead of the RPC port, gets a clear error."""
    (error,) = split([b"HTTP/1.1 400 Bad Request\r\n"])
    assert "this is not a Hadoop RPC port" in str(error)


def test_a_broken_splitter_stays_broken() -> None:
    """After a bad length no later bytes count as a frame."""
    splitter = FrameSplitter(LIMIT)
    splitter.receive(b"\xff\xff\xff\xff")
    for piece in (b"", encode_frame(b"ok")):
        splitter.receive(piece)
        with pytest.raises(FramingError):
            splitter.next_frame()


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (b"", "ends within a length"),
        (b"\x80", "ends within a length"),
        (b"\x80\x80\x80\x80\x80\x01", "longer than 5 bytes"),
        (b"\x05abc", "does not fit"),
    ],
)
def test_a_broken_message_says_what_is_wrong(frame: bytes, says: str) -> None:
    """A length that ends too late or too early is an error, not a short message."""
    with pytest.raises(FramingError, match=says):
        take_message(frame, 0)


@pytest.mark.parametrize(
    ("auth_protocol", "preamble"), [(0, b"hrpc\x09\x00\x00"), (0xDF, b"hrpc\x09\x00\xdf")]
)
def test_the_preamble_is_seven_bytes(auth_protocol: int, preamble: bytes) -> None:
    """Magic, version 9, class 0, and the authentication method; any other or shorter preamble is refused."""
    assert encode_preamble(auth_protocol) == preamble
    assert parse_preamble(preamble) == auth_protocol
    for wrong in (b"hrpc\x08" + preamble[5:], b"x" + preamble[1:], preamble[:-1]):
        with pytest.raises(FramingError):
            parse_preamble(wrong)
