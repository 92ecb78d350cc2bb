"""Messages follow the specification: a client reads exactly the data that was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.events.sse import HEARTBEAT, encode_message, encode_retry
from tests.events.reader import read_stream


@pytest.mark.parametrize(
    ("event", "data", "message_id", "sent"),
    [
        ("CLOSE", "{}", "7", b"event: CLOSE\nid: 7\ndata: {}\n\n"),
        ("CLOSE", "{}", None, b"event: CLOSE\ndata: {}\n\n"),
        ("gap", "", "", b"event: gap\nid: \ndata: \n\n"),
        ("a", "1\n2\r3\r\n4", None, b"event: a\ndata: 1\ndata: 2\ndata: 3\ndata: 4\n\n"),
        ("a", "1\n\n", None, b"event: a\ndata: 1\ndata: \ndata: \n\n"),
        ("a", " b: c", None, b"event: a\ndata:  b: c\n\n"),
        ("\u00e9", "\u2028", None, "event: \u00e9\ndata: \u2028\n\n".encode()),
        ("a", "\ud800", None, b"event: a\ndata: ?\n\n"),
    ],
)
def test_a_message(event: str, data: str, message_id: str | None, sent: bytes) -> None:
    """Each line of the data is a field; only CR and LF end a line."""
    assert encode_message(event, data, message_id) == sent


@pytest.mark.parametrize(
    ("event", "message_id"), [("a\nb", None), ("a\rb", "1"), ("a", "1\n2"), ("a", "1\r"), ("a", "\0")]
)
def test_what_no_client_would_read(event: str, message_id: str | None) -> None:
    """A field that would end early, or be ignored, is an internal error."""
    with pytest.raises(ValueError, match="may hold neither a line end nor NUL"):
        encode_message(event, "", message_id)


@given(st.lists(st.tuples(st.text(), st.none() | st.integers(0).map(str)), max_size=4))
def test_a_client_reads_what_was_written(reported: list[tuple[str, str | None]]) -> None:
    """This holds with heartbeats in between; a lone CR in the data ends a line."""
    stream = encode_retry(100) + b"".join(
        HEARTBEAT + encode_message("x", data, message_id) for data, message_id in reported
    )
    last_id, expected = "", []
    for data, message_id in reported:
        last_id = last_id if message_id is None else message_id
        lines = data.replace("\r\n", "\n").replace("\r", "\n")
        expected.append(("x", lines.encode("utf-8", "replace").decode(), last_id))
    assert [message for message in read_stream(stream) if message[1]] == [
        message for message in expected if message[1]
    ]


def test_a_hint_and_a_heartbeat_are_no_messages() -> None:
    """Both end with an empty line, and dispatch no message."""
    assert encode_retry(2_000) == b"retry: 2000\n\n"
    assert read_stream(encode_retry(2_000) + HEARTBEAT * 3) == []
