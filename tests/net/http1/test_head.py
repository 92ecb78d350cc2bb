"""Heads are taken whole, however TCP splits them, and parsed as a strict reader of RFC 9112 would, or refused."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.http1.head import (
    MAX_BLOCKS,
    Fault,
    Head,
    HeadBuffer,
    HeadError,
    is_known_block,
    is_one_head,
    read_head,
)

GET = b"GET / HTTP/1.1\r\nHost: nn\r\n"
POST = b"POST / HTTP/1.1\r\nHost: nn\r\n"


def read(head: bytes, max_bytes: int = 1_000, max_fields: int = 10) -> Head:
    """Parse a head; the empty line is added."""
    return read_head(head + b"\r\n", max_bytes=max_bytes, max_fields=max_fields)


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        (b"GET /\r\nHost: nn\r\n", Fault.OTHER_VERSION),
        (b"GET / HTTP/2.0\r\n", Fault.OTHER_VERSION),
        (b"GET / HTTP/1.2\r\n", Fault.OTHER_VERSION),
        (b"CONNECT nn:1 HTTP/1.1\r\nHost: nn\r\n", Fault.CONNECT),
        (b"GET / HTTP/11\r\n", Fault.MALFORMED),
        (b"GET / http/1.1\r\n", Fault.MALFORMED),
        (b"GET / HTTP/1.1 \r\n", Fault.MALFORMED),
        (b" GET / HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET\t/ HTTP/1.1\r\n", Fault.MALFORMED),
        (b"G(T / HTTP/1.1\r\n", Fault.MALFORMED),
        (b"BREW / HTTP/1.1\r\n", Fault.MALFORMED),
        (b"get / HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET * HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET  HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET a HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET nn:80 HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET /\x00 HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET /\xff HTTP/1.1\r\n", Fault.MALFORMED),
        (b"GET / HTTP/1.1\nHost: nn\r\n", Fault.MALFORMED),
        (b"GET / HTTP/1.1\r\n", Fault.MALFORMED),
        (GET + b"Host: other\r\n", Fault.MALFORMED),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n", Fault.MALFORMED),
        (b"GET / HTTP/1.1\r\nHost: [::1%]\r\n", Fault.MALFORMED),
        (b"GET / HTTP/1.1\r\nHost: [::1%a/b]\r\n", Fault.MALFORMED),
        (GET + b"A : b\r\n", Fault.MALFORMED),
        (GET + b"A\r\n", Fault.MALFORMED),
        (GET + b": b\r\n", Fault.MALFORMED),
        (GET + b"A: b\r\n c\r\n", Fault.MALFORMED),
        (GET + b"A: b\rc\r\n", Fault.MALFORMED),
        (GET + b"A: b\nc\r\n", Fault.MALFORMED),
        (GET + b"Upgrade: a\x00\r\n", Fault.MALFORMED),
        (POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", Fault.MALFORMED),
        (POST + b"Content-Length: 4\r\nContent-Length: 4\r\n", Fault.MALFORMED),
        (POST + b"Content-Length: +4\r\n", Fault.MALFORMED),
        (POST + b"Content-Length: 9223372036854775808\r\n", Fault.MALFORMED),
        (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Fault.MALFORMED),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n", Fault.MALFORMED),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", Fault.MALFORMED),
        (b"GET /" + b"a" * 1_000 + b" HTTP/1.1\r\n", Fault.LINE_TOO_LONG),
        (b"GET " + b"a" * 1_000 + b"\x00 HTTP/1.1\r\n", Fault.LINE_TOO_LONG),
        ("GET /é".encode() + b"\xc3\xa9" * 200 + b" HTTP/1.1\r\n", Fault.LINE_TOO_LONG),
        (GET + b"A: b\r\n" * 10, Fault.TOO_LARGE),
        (GET + b"A: " + b"b" * 1_000 + b"\r\n", Fault.TOO_LARGE),
    ],
)
def test_what_two_readers_could_take_for_two_things_is_refused(head: bytes, fault: Fault) -> None:
    """A head beyond a limit is refused as well."""
    with pytest.raises(HeadError) as refusal:
        read(head)
    assert refusal.value.fault is fault


def test_a_refusal_names_a_request_whose_line_is_readable() -> None:
    """The access log shows method and target."""
    with pytest.raises(HeadError, match="malformed") as refusal:
        read(b"PUT /a HTTP/1.1\r\nA\r\n")
    assert (refusal.value.method, refusal.value.target) == ("PUT", "/a")


@pytest.mark.parametrize(
    ("head", "read_as"),
    [
        (GET, Head("GET", "/", 1, ((b"Host", b"nn"),), True, 0)),
        *(  # Python's http.client, urllib, Node and Ruby
            (
                b"GET / HTTP/1.1\r\nHost: %b\r\n" % host,
                Head("GET", "/", 1, ((b"Host", host),), True, 0),
            )
            for host in (b"[fe80::1%eth0]:9871", b"[fe80::1%25br-lan.7]")
        ),
        (b"GET   /a  HTTP/1.0\r\n", Head("GET", "/a", 0, (), False, 0)),
        (
            b"GET /a HTTP/1.0\r\nConnection: x, Keep-Alive\r\n",
            Head("GET", "/a", 0, ((b"Connection", b"x, Keep-Alive"),), True, 0),
        ),
        (
            b"GET /a HTTP/1.0\r\nConnection: keep-alive, close\r\n",
            Head("GET", "/a", 0, ((b"Connection", b"keep-alive, close"),), False, 0),
        ),
        (b"OPTIONS * HTTP/1.0\r\n", Head("OPTIONS", "*", 0, (), False, 0)),
        (b"GET http://nn/a HTTP/1.0\r\n", Head("GET", "http://nn/a", 0, (), False, 0)),
        ("GET /é%c3 HTTP/1.0\r\n".encode(), Head("GET", "/%C3%A9%c3", 0, (), False, 0)),
        (b"PATCH / HTTP/1.0\r\nA:\t b c \xff\t\r\n", Head("PATCH", "/", 0, ((b"A", b"b c \xff"),), False, 0)),
        (
            b"GET / HTTP/1.1\r\nhost:nn\r\nHOST: nn\t\r\nUPGRADE: h2c\r\nX-Upgrade: y\r\n",
            Head("GET", "/", 1, ((b"host", b"nn"), (b"X-Upgrade", b"y")), True, 0),
        ),
        (
            GET + b"Connection: x\r\nConnection: y ,\tClose\r\n",
            Head(
                "GET",
                "/",
                1,
                ((b"Host", b"nn"), (b"Connection", b"x"), (b"Connection", b"y ,\tClose")),
                False,
                0,
            ),
        ),
        (
            POST + b"content-length: 0012\r\n",
            Head("POST", "/", 1, ((b"Host", b"nn"), (b"content-length", b"0012")), True, 12),
        ),
        (
            POST + b"transfer-encoding: CHUNKED\r\n",
            Head("POST", "/", 1, ((b"Host", b"nn"), (b"transfer-encoding", b"CHUNKED")), True, None),
        ),
    ],
)
def test_what_clients_send_is_read(head: bytes, read_as: Head) -> None:
    """Names, values and their order are kept, apart from whitespace around a value, equal hosts and `Upgrade`."""
    assert read(head) == read_as


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Zs"], exclude_characters="\x7f"), max_size=40
    )
)
def test_only_bytes_beyond_ascii_are_encoded(target: str) -> None:
    """Verbatim: every other byte of the target is forwarded unchanged."""
    encoded = "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in target.encode())
    assert read(b"GET /" + target.encode() + b" HTTP/1.0\r\n").target == "/" + encoded


def agent_head(agent: str, *more: str) -> bytes:
    """Return the head of a client with this User-Agent."""
    fields = ("Host: nn", f"User-Agent: {agent}", *more)
    return ("GET / HTTP/1.1\r\n" + "".join(f"{each}\r\n" for each in fields) + "\r\n").encode()


def is_known(head: bytes) -> bool:
    """Parse a head; return whether its field block was known before."""
    before = is_known_block(head.partition(b"\r\n")[2])
    read_head(head, max_bytes=8192, max_fields=100)
    return before


@pytest.mark.parametrize("times", [1, 2])
def test_blocks_in_use_stay_whatever_else_is_sent(times: int) -> None:
    """This holds even if each other block comes twice; a new kind of client is known from its second request on."""
    assert [is_known(agent_head(f"poller-{times}")) for _ in range(3)] == [False, True, True]
    for number in range(3 * MAX_BLOCKS):
        for _ in range(times):
            is_known(agent_head(f"{times}-{number}"))
        if number % 16 == 0:
            assert is_known(agent_head(f"poller-{times}")), number
    news = [is_known(agent_head(f"new-{times}")) for _ in range(3)]
    assert [*news, is_known(agent_head(f"poller-{times}"))] == [False, True, True, True]


@pytest.mark.parametrize(
    "more", ["Cookie: s3cret", "Authorization: s3cret", "X-Any: s3cret", "Accept: " + 2048 * "x"]
)
def test_no_secret_and_no_long_block_is_remembered(more: str) -> None:
    """Such a block is parsed each time."""
    head = agent_head("curl", more)
    assert [is_known(head) for _ in range(2)] == [False, False]


PIECES = st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"G", b"GET / ", b"\x16", b"a: b"]))


def heads_of(pieces: Iterable[bytes]) -> tuple[list[bytes], HeadBuffer]:
    """Return the heads that arrive in these pieces, and the buffer with the rest."""
    buffer, heads = HeadBuffer(), []
    for piece in pieces:
        buffer.add(piece)
        while (head := buffer.take_head()) is not None:
            heads.append(head)
    return heads, buffer


@given(PIECES)
def test_heads_are_the_same_however_they_are_cut(pieces: list[bytes]) -> None:
    """B1: each head ends with its first empty line; only empty lines before a head are dropped."""
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
    """The parser refuses such data immediately, as a NameNode does."""
    _, left = heads_of([data])
    assert (left.is_hopeless, left.has_request_line) == (is_hopeless, has_line)


def test_whole_heads_are_taken_and_the_rest_stays() -> None:
    """Empty lines before a head are dropped; an incomplete head waits, and is not searched again from its start."""
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
