"""Which request headers let the cache answer or store a read."""

from typing import Final

import pytest

from nncache.proxy.reading import CacheDirective, cache_directive_of


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"Host", b"nn:9870"), (b"User-Agent", b"curl/8"), (b"Accept", b"*/*")],
        [(b"Accept", b"text/html, application/json;q=0.9")],
        [(b"Accept", b"")],
        [(b"Accept", b"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")],  # the JDK's URLConnection
        [(b"Content-Type", b"application/json; charset=UTF-8")],
        *(
            [(b"Host", host)]
            for host in (b"", b"nn_1.example.", b"[fe80::1]:65535", b"[fe80::1%eth0]", b"192.0.2.1:1")
        ),
        [(b"Content-Length", b"0")],
        [(b"Cache-Control", b"max-age=60")],
        [(b"Range", b"bytes=0-1"), (b"If-Modified-Since", b"Sun, 22 Nov 2026 00:00:00 GMT")],
    ],
)
def test_headers_that_change_no_answer_leave_the_read_ordinary(headers: list[tuple[bytes, bytes]]) -> None:
    """A header that a NameNode ignores must not cost a hit."""
    assert cache_directive_of(headers) is CacheDirective.ORDINARY


@pytest.mark.parametrize(
    "headers",
    [
        [(b"Cache-Control", b"no-cache")],
        [(b"cache-control", b"foo, NO-CACHE")],
        [(b"Cache-Control", b"max-age=0")],
        [(b"Cache-Control", b"max-age=60"), (b"Cache-Control", b"no-cache")],
        [(b"Pragma", b"no-cache")],
        [(b"Pragma", b"no-cache"), (b"Pragma", b"x")],
    ],
)
def test_no_cache_asks_for_a_refresh(headers: list[tuple[bytes, bytes]]) -> None:
    """RFC 9111, 5.2.1.4: no-cache asks for a reply of the origin, which may be stored."""
    assert cache_directive_of(headers) is CacheDirective.REFRESH


def test_pragma_yields_to_cache_control() -> None:
    """RFC 9111, 5.4: Pragma counts only when Cache-Control is absent."""
    assert (
        cache_directive_of([(b"Pragma", b"no-cache"), (b"Cache-Control", b"max-age=5")])
        is CacheDirective.ORDINARY
    )


@pytest.mark.parametrize(
    "headers",
    [
        [(b"Authorization", b"Negotiate YII=")],
        [(b"Proxy-Authorization", b"Basic eA==")],
        [(b"Transfer-Encoding", b"chunked")],
        [(b"Content-Length", b"3")],
        [(b"Expect", b"100-continue")],
        [(b"Origin", b"http://elsewhere")],
        [(b"Accept", b"text/xml")],
        [(b"Accept", b"application/json;q=0")],
        [(b"Accept", b"application/json;q=.0")],
        [(b"Cache-Control", b"no-store")],
        [(b"Cache-Control", b"no-cache, no-store")],
    ],
)
def test_headers_that_may_change_the_answer_leave_no_trace(headers: list[tuple[bytes, bytes]]) -> None:
    """ProvenGrant: a header that may identify the caller, or change the reply, bypasses the cache."""
    assert cache_directive_of(headers) is CacheDirective.NO_TRACE


MALFORMED: Final = (
    *(
        (b"Accept", value)
        for value in (b"*/*;q=abc", b"*/*;q=1.001", b"*/*;q=", b"*/*;x", b"*/*, ,", b",*/*")
    ),
    (b"Accept", b'a/b;c=",application/json,"'),
    *((b"Content-Type", value) for value in (b"", b"json", b"*", b"a/b, c/d", b"a/b; charset=", b"a/b;c")),
    *((b"Host", value) for value in (b"nn:", b"nn:0", b"nn:65536", b"[::1]:")),
)
"""Fields for which NameNodes answer a read with 400 or 500 (tests/contracts/test_odd_fields.py)."""


@pytest.mark.parametrize("field", MALFORMED)
def test_what_a_namenode_refuses_leaves_no_trace(field: tuple[bytes, bytes]) -> None:
    """From memory it would get another answer; and its refusal would be that of all who wait with it."""
    assert cache_directive_of([field]) is CacheDirective.NO_TRACE


def test_two_content_types_leave_no_trace() -> None:
    """3.5.0 joins them to a malformed one."""
    assert cache_directive_of(2 * [(b"Content-Type", b"a/b")]) is CacheDirective.NO_TRACE
