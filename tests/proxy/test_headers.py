"""Which header fields are forwarded: RFC 9110, section 7.6.1, and what the NameNode makes of an address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.http1.reply import read_reply_head
from nncache.proxy.headers import (
    encode_fields,
    end_to_end_of_request,
    passed_on,
    replayed_headers,
    reply_headers,
    request_headers,
)


def test_fields_of_the_hop_stay_behind() -> None:
    """These are the known ones and those that Connection names, in any case."""
    fields = (
        (b"A", b"1"),
        (b"CONNECTION", b"X-Hop , close"),
        (b"Connection", b"x-other"),
        (b"x-hop", b"1"),
        (b"X-OTHER", b"1"),
        (b"Keep-Alive", b"5"),
        (b"TE", b"trailers"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Upgrade", b"h2c"),
        (b"Proxy-Authorization", b"Basic x"),
        (b"a", b"2"),
    )
    assert end_to_end_of_request(fields) == ((b"A", b"1"), (b"a", b"2"))


def test_a_length_can_not_be_named_away() -> None:
    """Without its length, a body would be parsed as the next request."""
    fields = ((b"Connection", b"content-length, host"), (b"Content-Length", b"4"), (b"Host", b"nn"))
    assert end_to_end_of_request(fields) == fields[1:]


def test_the_address_of_the_client_is_the_one_that_we_see() -> None:
    """The NameNode trusts the first element, so the client's own X-Forwarded-For is dropped."""
    fields = (
        (b"x-forwarded-for", b"10.0.0.1"),
        (b"X-Forwarded-For", b"10.0.0.2, 10.0.0.3"),
        (b"Host", b"nn"),
    )
    assert request_headers(fields, "192.0.2.7") == ((b"Host", b"nn"), (b"X-Forwarded-For", b"192.0.2.7"))
    nominated = ((b"Connection", b"x-forwarded-for"),)
    assert request_headers(nominated, "::1") == ((b"X-Forwarded-For", b"::1"),)


def test_a_cached_reply_repeats_no_secret_and_no_date() -> None:
    """It has no framing, and no Age of another cache either."""
    fields = (
        (b"Date", b"x"),
        (b"Cache-Control", b"no-cache"),
        (b"Expires", b"x"),
        (b"Set-Cookie", b"hadoop.auth=secret"),
        (b"WWW-Authenticate", b"Negotiate oYG"),
        (b"Content-Type", b"application/json"),
        (b"Content-Length", b"4"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Age", b"3"),
    )
    assert replayed_headers(fields) == (
        (b"Cache-Control", b"no-cache"),
        (b"Content-Type", b"application/json"),
    )
    assert (b"Set-Cookie", b"hadoop.auth=secret") in reply_headers(fields)
    assert (b"Content-Length", b"4") not in reply_headers(fields)


NAMES = st.sampled_from([b"A", b"Connection", b"Host", b"Content-Length", b"TE", b"X-Hop", b"x-hop"])
VALUES = st.sampled_from([b"1", b"x-hop", b"close, A", b"", b"host"])


@given(st.lists(st.tuples(NAMES, VALUES)))
def test_dropping_keeps_order_and_is_done_once(fields: list[tuple[bytes, bytes]]) -> None:
    """The result is a subsequence, and a second pass drops nothing more."""
    kept = end_to_end_of_request(fields)
    rest = iter(fields)
    assert all(field in rest for field in kept)
    assert end_to_end_of_request(kept) == kept


@pytest.mark.parametrize(
    "fields",
    [
        b"Date: a\r\nSet-Cookie: b\r\nTransfer-Encoding: chunked\r\n",
        b"Date: a\r\nTransfer-Encoding: chunked\r\n",
        b"Set-Cookie: b\r\n",
    ],
)
def test_a_known_kind_of_reply_is_passed_on_as_any_other(fields: bytes) -> None:
    """Its fields are equal, one by one and encoded, the second time too."""
    head = b"HTTP/1.1 200 OK\r\n%b\r\n" % fields
    read_reply_head(head, is_to_head=False, max_fields=9)
    read = read_reply_head(head, is_to_head=False, max_fields=9)
    kept, wire = passed_on(read)
    assert kept == reply_headers(read.fields)
    assert passed_on(read) == (kept, wire)
    assert wire is not None
    cookie = b"" if wire.cookie is None else encode_fields((wire.cookie,))
    assert wire.start + cookie + wire.end == encode_fields(kept)
    assert wire.replayed == replayed_headers(kept)


def test_of_other_replies_nothing_is_known_beforehand() -> None:
    """Such replies are parsed field by field each time."""
    read = read_reply_head(b"HTTP/1.1 200 OK\r\nX-Odd: 1\r\n\r\n", is_to_head=False, max_fields=9)
    assert passed_on(read) == (((b"X-Odd", b"1"),), None)
