"""The head of a reply is parsed without ambiguity, or refused."""

import pytest

from nncache.net.http1 import reply
from nncache.net.http1.reply import UNTIL_END, ReplyError, ReplyHead, read_reply_head, read_whole_reply

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = (b"Content-Length", b"2")


def read(head: bytes, *, is_to_head: bool = False) -> ReplyHead:
    """Parse a head; the empty line is added."""
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
    """A gateway must not guess what a server meant."""
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
    """Fields keep their order; the body's end (RFC 9112, section 6.3) and the connection's persistence are parsed."""
    assert read(head) == read_as
    assert read_as.is_interim is (read_as.status < 200)


def test_a_reply_to_head_has_no_body() -> None:
    """Its `Content-Length` does not matter."""
    assert read(OK + b"Content-Length: 2\r\n", is_to_head=True).length == 0


SECRET = b"Set-Cookie: hadoop.auth=s3cret%d; Path=/\r\n"
AROUND = b"Date: today\r\nPragma: no-cache\r\n", b"Content-Type: application/json\r\nContent-Length: 2\r\n"


@pytest.fixture(autouse=True)
def _no_kind_is_known() -> None:
    reply._KINDS.clear()  # noqa: SLF001 - the remembered heads


def read_anew(head: bytes) -> ReplyHead:
    """Parse a head as the first one of its kind."""
    reply._KINDS.clear()  # noqa: SLF001 - the remembered heads
    return read_reply_head(head + b"\r\n", is_to_head=False, max_fields=9)


@pytest.mark.parametrize(
    "form",
    [OK + AROUND[0] + b"%b" + AROUND[1], OK + b"%b" + AROUND[1], OK + AROUND[0] + b"%b", OK + b"%b"],
    ids=["within", "first", "last", "alone"],
)
def test_a_known_kind_is_read_as_if_it_were_the_first(form: bytes) -> None:
    """Each reply has its own cookie in the same position, or none."""
    heads = [form % cookie for cookie in (SECRET % 1, SECRET % 2, b"", SECRET % 3, b"")]
    before = [read_reply_head(head + b"\r\n", is_to_head=False, max_fields=9) for head in heads]
    assert before[1].kind is not None
    assert [each.fields for each in before] == [read_anew(head).fields for head in heads]
    assert before == [read_anew(head) for head in heads]


def test_another_head_is_of_another_kind() -> None:
    """Any difference apart from the cookie counts, before or after it."""
    heads = [
        OK + before + SECRET % 1 + behind
        for before in (b"", b"Pragma: no-cache\r\n", b"Pragma: x\r\n")
        for behind in (b"", b"Content-Length: 2\r\n", b"Content-Length: 3\r\n")
    ]
    for head in heads:
        read(head)
    read_as = [read_reply_head(head + b"\r\n", is_to_head=False, max_fields=9) for head in heads]
    assert read_as == [read_anew(head) for head in heads]


@pytest.mark.parametrize(
    ("head", "is_kept"),
    [
        (OK + SECRET % 1 + AROUND[1], True),
        (OK + SECRET % 1 + SECRET % 2 + AROUND[1], False),
        (OK + b"set-cookie: hadoop.auth=s3cret\r\n", False),
        (OK + b"X-Odd: s3cret\r\n", False),
        (OK + b"Connection: Set-Cookie\r\n" + AROUND[1], False),
        (OK + b"User-Agent: %b\r\n" % (b"x" * 2_048), False),
    ],
)
def test_no_secret_and_no_long_head_is_remembered(head: bytes, *, is_kept: bool) -> None:
    """A head whose `Connection` may name the cookie is not remembered either."""
    read_anew(head)
    kept = [(key, kind.head) for key, kind in reply._KINDS.items()]  # noqa: SLF001 - the remembered heads
    assert len(kept) == is_kept
    assert "s3cret" not in repr(kept)


def test_a_bounded_number_of_kinds_is_remembered() -> None:
    """Heads of an earlier second are dropped."""
    for second in range(reply.MAX_KINDS + 1):
        read(OK + b"Date: %d\r\n" % second)
    assert len(reply._KINDS) == 1  # noqa: SLF001 - the remembered heads


def test_a_known_kind_hides_no_fault() -> None:
    """An invalid cookie field, too many fields and a reply to HEAD are still noticed."""
    head = OK + SECRET % 1 + b"Content-Length: 2\r\n"
    read(head)
    with pytest.raises(ReplyError):
        read(OK + b"Set-Cookie: \x00\r\nContent-Length: 2\r\n")
    with pytest.raises(ReplyError):
        read_reply_head(head + b"\r\n", is_to_head=False, max_fields=1)
    assert read(head, is_to_head=True).length == 0


JSON = OK + b"Content-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (JSON + b"Content-Length: 2\r\n\r\n{}", b"{}"),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"{}"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"", None),
        (JSON + b"Content-Length: 2\r\n", None),
        (JSON + b"Content-Length: 2\r\n\r\n{", None),
        (JSON + b"Content-Length: 2\r\n\r\n{}x", None),
        (JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", None),
        (JSON + b"\r\n{}", None),
        (b"\r\n" + JSON + b"Content-Length: 0\r\n\r\n", None),
        (b"HTTP/1.1 100 Continue\r\n\r\n", None),
    ],
)
def test_a_reply_in_one_piece_is_read_at_once(data: bytes, body: bytes | None) -> None:
    """Incomplete replies, extra bytes and other replies are left to the stream parser."""
    whole = read_whole_reply(data, max_fields=9)
    assert (whole and whole[1]) == body
