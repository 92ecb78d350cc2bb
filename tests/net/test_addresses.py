"""Addresses: of NameNodes, of listening sockets, and of clients."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.addresses import read_ip, split_address
from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:9870", "127.0.0.1", 9870),
        ("nn-1.example.org:8020", "nn-1.example.org", 8020),
        ("[::1]:65535", "::1", 65535),
        ("h:1", "h", 1),
    ],
)
def test_host_and_port(address: str, host: str, port: int) -> None:
    """The host is a name, an IPv4 address, or an IPv6 address in brackets, followed by a port."""
    assert split_address(address) == (host, port)


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":",
        "h",
        "h:",
        ":1",
        "h:0",
        "h:65536",
        "h:-1",
        "h:+1",
        "h:1 ",
        "h:²",
        "::1:80",
        "a b:1",
        "http://h:1",
        "://",
        "[]:1",
        "u@h:1",
        "nn..example.org:1",
    ],
)
def test_anything_else_is_refused(address: str) -> None:
    """A wrong address is reported at the start, not at the first call."""
    with pytest.raises(ValueError, match=r"^must "):
        split_address(address)


@pytest.mark.parametrize("url", ["http://h:1", "hdfs://h:1/", "https://h:1/webhdfs/v1?op=x"])
def test_a_url_is_refused_with_the_address_in_it(url: str) -> None:
    """The message has the address to write instead."""
    scheme = url.partition(":")[0]
    with pytest.raises(ValueError, match=f"^must be host:port, without {scheme}:// and without a path: h:1$"):
        split_address(url)


@given(st.text(max_size=20))
def test_any_text_is_an_address_or_an_error(address: str) -> None:
    """No other exception is raised."""
    try:
        host, port = split_address(address)
    except ValueError:
        return
    assert host
    assert 0 < port < 65536


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:9871", ListenAddress("127.0.0.1", 9871)),
        ("localhost:0", ListenAddress("localhost", 0)),
        ("[::1]:65535", ListenAddress("::1", 65535)),
    ],
)
def test_an_endpoint_reads_as_it_is_written(text: str, endpoint: ListenAddress) -> None:
    """Host and port, with an IPv6 address in brackets, convert in both directions."""
    assert parse_endpoint("listen", text) == endpoint
    assert str(endpoint) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9871",
        ":9871",
        "host:",
        "host:port",
        "host:65536",
        "a..b:80",
        "host:-1",
        "::1:80",
        "[]:80",
        "[]",
        "a b:80",
        "h/:80",
        "h:٣",
    ],
)
def test_no_other_form_is_an_endpoint(text: str) -> None:
    """The error is one line that names the key, the value and what is allowed."""
    with pytest.raises(SettingError, match=r"^admin: .*: must be host:port"):
        parse_endpoint("admin", text)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::FFFF:c000:207", "192.0.2.7"),
        (bytes.fromhex("c0000207"), "192.0.2.7"),
        ("2001:DB8::7", "2001:db8::7"),
    ],
)
def test_an_address_has_one_spelling(given: str | bytes, address: str) -> None:
    """Limits and rules use it to identify a client."""
    assert str(read_ip(given)) == address


@pytest.mark.parametrize("given", ["", "192.0.2.07", "nn.example.com", b"abc"])
def test_what_is_no_address_is_refused(given: str | bytes) -> None:
    """The error names the value."""
    with pytest.raises(ValueError, match="does not appear to be"):
        read_ip(given)
