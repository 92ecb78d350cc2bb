"""Replies are read as a NameNode, nncache and nginx send them, however the network cuts them."""

from hashlib import blake2b

import pytest

from nncache.bench.polling.replies import MAX_HEAD_BYTES, Reply, ReplyError, digest_of, file_id_of, parse
from tests.bench.polling_server import BODY, reply


def said(reply: Reply | str | None) -> tuple[object, ...]:
    """Return what a reply says, without its head."""
    assert isinstance(reply, Reply)
    return tuple(reply[:4])


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_reply_is_complete_at_its_last_byte_and_not_before(is_chunked: bool) -> None:
    """Content-Length and chunks both say where a body ends."""
    data = reply(is_chunked=is_chunked)
    for cut in range(len(data)):
        assert parse(data[:cut]) is None
    assert said(parse(data)) == (200, "", BODY, True)


def test_trailers_belong_to_the_reply() -> None:
    """What follows the last chunk ends with an empty line."""
    data = reply(is_chunked=True).removesuffix(b"\r\n") + b"Checksum: 1\r\n"
    assert parse(data) is None
    assert said(parse(data + b"\r\n")) == (200, "", BODY, True)


def test_the_end_of_the_connection_ends_a_body_without_length() -> None:
    """That is how HTTP/1.0 says it; the connection can't be kept."""
    data = b"HTTP/1.1 404 Not Found\r\n\r\n" + BODY
    assert parse(data) is None
    assert said(parse(data, is_end=True)) == (404, "", BODY, False)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_the_end_does_not_complete_what_has_a_length(is_chunked: bool) -> None:
    """A body cut short is no reply."""
    assert parse(reply(is_chunked=is_chunked)[:-1], is_end=True) is None


@pytest.mark.parametrize(
    ("data", "keeps"),
    [
        (reply(), True),
        (reply(fields=("Connection: keep-alive",)), True),
        (reply(fields=("Connection: Close",)), False),
        (reply().replace(b"HTTP/1.1", b"HTTP/1.0"), False),
        (reply() + b"surplus", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
    ],
)
def test_only_an_open_connection_takes_the_next_request(data: bytes, keeps: bool) -> None:
    """`Connection: close`, HTTP/1.0 and surplus bytes end it."""
    found = parse(data)
    assert found is not None
    assert found.keeps is keeps


@pytest.mark.parametrize(
    ("field", "served"),
    [
        ("Cache-Status: nncache; hit", "hit"),
        ("cache-status: nncache;hit; ttl=3", "hit"),
        ("Cache-Status: nncache; fwd=miss; stored", "miss"),
        ("Cache-Status: nncache; fwd=miss; collapsed", "miss"),
        ("Cache-Status: nncache; fwd=bypass; detail=gate-closed", "bypass; gate-closed"),
        ("Cache-Status: nncache; fwd=uri-miss; detail=hit-ratio", "uri-miss; hit-ratio"),
        ("Cache-Status: nncache; fwd=miss; stored; detail=no-grant", "miss; no-grant"),
        ("Cache-Status: origin; hit; detail=old, nncache; fwd=miss", "miss"),
        ("Cache-Status: nncache; detail=not-webhdfs", ""),
        ("X-Cache-Status: HIT", "hit"),
        ("X-Cache-Status: EXPIRED", "expired"),
        ("X-Other: hit", ""),
    ],
)
def test_the_server_says_how_it_came_about(field: str, served: str) -> None:
    """In the words of nncache (RFC 9211) and of nginx."""
    found = parse(reply(fields=(field,)))
    assert found is not None
    assert found.served == served


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + bytes(MAX_HEAD_BYTES),
    ],
)
def test_what_is_no_reply_is_refused(data: bytes) -> None:
    """Waiting for the rest of it would never end."""
    with pytest.raises(ReplyError):
        parse(data)


def test_a_digest_is_of_the_body_alone() -> None:
    """Except that a refusal names its caller, so that those of two pollers would differ."""
    expected = int.from_bytes(blake2b(BODY, digest_size=8).digest(), "big", signed=True)
    assert digest_of(200, BODY) == digest_of(404, BODY) == expected
    assert digest_of(403, BODY) == digest_of(0, b"") == 0


def test_a_file_id_is_found_or_0() -> None:
    """A missing file has none."""
    assert file_id_of(BODY) == 16389
    assert file_id_of(b'{"RemoteException":{"exception":"FileNotFoundException"}}') == 0
