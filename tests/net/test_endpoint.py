"""Where our own sockets listen is read strictly."""

import pytest

from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("127.0.0.1:9871", ListenAddress("127.0.0.1", 9871)),
        ("localhost:0", ListenAddress("localhost", 0)),
        ("[::1]:65535", ListenAddress("::1", 65535)),
    ],
)
def test_an_endpoint_reads_as_it_is_written(text: str, endpoint: ListenAddress) -> None:
    """Host and port, an IPv6 address in brackets; and back."""
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
    """The error is one line that names key, value and what is allowed."""
    with pytest.raises(SettingError, match=r"^admin: .*: must be host:port"):
        parse_endpoint("admin", text)
