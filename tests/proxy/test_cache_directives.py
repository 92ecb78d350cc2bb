"""Which request headers let the cache answer or store a read."""

import pytest

from nncache.proxy.reading import CacheDirective, cache_directive_of


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"Host", b"nn:9870"), (b"User-Agent", b"curl/8"), (b"Accept", b"*/*")],
        [(b"Accept", b"text/html, application/json;q=0.9")],
        [(b"Accept", b"")],
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
        [(b"Cache-Control", b"no-store")],
        [(b"Cache-Control", b"no-cache, no-store")],
    ],
)
def test_headers_that_may_change_the_answer_leave_no_trace(headers: list[tuple[bytes, bytes]]) -> None:
    """ProvenGrant: a header that may identify the caller, or change the reply, bypasses the cache."""
    assert cache_directive_of(headers) is CacheDirective.NO_TRACE
