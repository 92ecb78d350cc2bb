"""PROXY protocol headers: the examples and limits of HAProxy's proxy-protocol.txt."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.balancers.proxy_protocol import (
    MAX_HEADER_BYTES,
    ProxyHeader,
    ProxyHeaderError,
    read_proxy_header,
)

BEHIND = b"GET /webhdfs/v1/f?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n\r\n"
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
V4 = bytes((192, 0, 2, 7, 10, 0, 0, 9)) + bytes((200, 34, 38, 143))
V6 = bytes.fromhex("20010db8000000000000000000000007" + "fd" + "00" * 14 + "09" + "c822268f")
MAPPED = bytes.fromhex("00" * 10 + "ffffc0000207" + "00" * 15 + "01" + "c822268f")


def version_2(family: int, rest: bytes, start: int = 0x21) -> bytes:
    """Return a header of version 2."""
    return SIGNATURE + bytes((start, family)) + len(rest).to_bytes(2) + rest


RIGHT = [
    (b"PROXY TCP4 192.0.2.7 10.0.0.9 51234 9871\r\n", "192.0.2.7"),
    (b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255"),
    (b"PROXY TCP6 2001:db8::7 fd00::9 51234 9871\r\n", "2001:db8::7"),
    (b"PROXY TCP6 ::ffff:192.0.2.7 fd00::9 51234 9871\r\n", "192.0.2.7"),
    (b"PROXY UNKNOWN\r\n", ""),
    (b"PROXY UNKNOWN " + b"ffff:f...f:ffff " * 5 + b"\r\n", ""),
    (version_2(0x11, V4), "192.0.2.7"),
    (version_2(0x11, V4 + b"\x03\x00\x04abcd"), "192.0.2.7"),
    (version_2(0x21, V6), "2001:db8::7"),
    (version_2(0x21, MAPPED), "192.0.2.7"),
    (version_2(0x00, b""), ""),
    (version_2(0x31, bytes(216)), ""),
    (version_2(0x11, V4, start=0x20), ""),
    (version_2(0x00, b"", start=0x20), ""),
]


@pytest.mark.parametrize(("header", "client"), RIGHT)
def test_a_header_is_read_whole_and_not_a_byte_more(header: bytes, client: str) -> None:
    """The bytes after it do not matter. An incomplete header returns None."""
    assert read_proxy_header(header + BEHIND) == ProxyHeader(client, len(header))
    assert read_proxy_header(header) == ProxyHeader(client, len(header))
    for end in range(len(header)):
        assert read_proxy_header(header[:end]) is None


@pytest.mark.parametrize(
    "data",
    [
        BEHIND,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"PROXX",
        b"PROXY TCP4 192.0.2.7 10.0.0.9 51234\r\n",
        b"PROXY TCP4 192.0.2.7 10.0.0.9 51234 9871 \r\n",
        b"PROXY TCP4 192.0.2.7  10.0.0.9 51234 9871\r\n",
        b"PROXY TCP4 192.0.2.7 10.0.0.9 51234 65536\r\n",
        b"PROXY TCP4 192.0.2.07 10.0.0.9 51234 9871\r\n",
        b"PROXY TCP4 2001:db8::7 fd00::9 51234 9871\r\n",
        b"PROXY TCP6 192.0.2.7 10.0.0.9 51234 9871\r\n",
        b"PROXY TCP6 2001:db8::7 10.0.0.9 51234 9871\r\n",
        b"PROXY UDP4 192.0.2.7 10.0.0.9 51234 9871\r\n",
        b"PROXY UNKNOWNS\r\n",
        b"PROXY " + b"x" * 101,
        version_2(0x11, V4, start=0x11),
        version_2(0x11, V4, start=0x22),
        version_2(0x11, V4[:-1]),
        version_2(0x21, V4),
        version_2(0x12, V4),
        version_2(0x31, bytes(215)),
        version_2(0x11, bytes(MAX_HEADER_BYTES))[:16],
    ],
)
def test_what_is_none_is_refused_as_soon_as_that_is_known(data: bytes) -> None:
    """This covers other protocols, invalid addresses and headers that are too long."""
    with pytest.raises(ProxyHeaderError):
        read_proxy_header(data)


@given(st.binary(max_size=300), st.sampled_from((b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE)))
def test_any_bytes_are_a_header_or_none_or_too_few(data: bytes, start: bytes) -> None:
    """No other exception is raised, and the length never exceeds the data."""
    with suppress(ProxyHeaderError):
        header = read_proxy_header(start + data)
        assert header is None or header.length <= len(start + data)
