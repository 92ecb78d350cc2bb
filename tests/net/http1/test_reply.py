"""A reply's head is read for certain, or not at all."""

import pytest

from nncache.net.http1.reply import UNTIL_END, ReplyError, ReplyHead, read_reply_head

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = (b"Content-Length", b"2")


def read(head: bytes, *, is_to_head: bool = False) -> ReplyHead:
    """Read a head; the empty line is added."""
    return read_reply_head(head + b"\r\n", is_to_head=is_to_head, max_fields=4)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/2 200\r\n",
        b"HTTP/1.1 20 OK\r\n",
        b"HTTP/1.1 OK\r\n",
        b"HTTP/1.1 200 O\x00K\r\n",
        b"HTTP/1.1 200 OK\nA: b\r\n",
        OK + b"A : b\r\n",
        OK + b"A: b\r\n folded\r\n",
        OK + b"A: \x00\r\n",
        OK + b"A: b\r\n" * 5,
        OK + b"Content-Length: -1\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n",
        OK + b"Content-Length: 9999999999999999999\r\n",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_what_cannot_be_read_for_certain_is_refused(head: bytes) -> None:
    """What a server might have meant is not for a gateway to guess."""
    with pytest.raises(ReplyError):
        read(head)


@pytest.mark.parametrize(
    ("head", "read_as"),
    [
        (OK, ReplyHead(200, "OK", (), False, False, UNTIL_END)),
        (b"HTTP/1.0 200\r\n", ReplyHead(200, "", (), False, False, UNTIL_END)),
        (OK + b"Content-Length:\t2 \r\n", ReplyHead(200, "OK", (LENGTH,), False, True, 2)),
        (
            b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n",
            ReplyHead(200, "OK", (LENGTH, (b"Connection", b"Keep-Alive")), False, True, 2),
        ),
        (
            OK + b"Connection: a, CLOSE\r\nContent-Length: 2\r\n",
            ReplyHead(200, "OK", ((b"Connection", b"a, CLOSE"), LENGTH), False, False, 2),
        ),
        (
            OK + b"transfer-encoding: CHUNKED\r\n",
            ReplyHead(200, "OK", ((b"transfer-encoding", b"CHUNKED"),), False, True, None),
        ),
        (b"HTTP/1.1 204 \xff\r\n", ReplyHead(204, "\udcff", (), False, True, 0)),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n",
            ReplyHead(304, "Not Modified", (LENGTH,), False, True, 0),
        ),
        (b"HTTP/1.1 100 Continue\r\n", ReplyHead(100, "Continue", (), False, True, 0)),
    ],
)
def test_what_namenodes_send_is_read(head: bytes, read_as: ReplyHead) -> None:
    """Fields in their order; how the body ends (RFC 9112, section 6.3), and whether the connection goes on."""
    assert read(head) == read_as
    assert read_as.is_interim is (read_as.status < 200)


def test_a_reply_to_head_has_no_body() -> None:
    """Whatever length it names."""
    assert read(OK + b"Content-Length: 2\r\n", is_to_head=True).length == 0
