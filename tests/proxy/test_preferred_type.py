"""What a request would rather have."""

import pytest

from nncache.proxy.preferred_type import MOST_RANGES, prefers_html

CHROMIUM = (
    b"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
    b"application/signed-exchange;v=b3;q=0.7"
)


@pytest.mark.parametrize(
    "accept",
    [
        CHROMIUM,
        b"text/html",
        b"TEXT/HTML ; q=0.5, application/json;q=0.4",
        b"text/*",
        b"text/*;q=0.2, application/*;q=0.1",
        b"text/html;level=1",
        b"*/*, application/json;q=0.9",
    ],
)
def test_a_page(accept: bytes) -> None:
    """The range that names a type best says its weight (RFC 9110, section 12.5.1)."""
    assert prefers_html(((b"Host", b"h"), (b"accept", accept)))


@pytest.mark.parametrize(
    "accept",
    [
        b"",
        b"*/*",
        b"application/json",
        b"application/json, text/html",
        b"text/html;q=0",
        b"text/html;q=0.5, */*",
        b"text/html;q=2",
        b"text/html;q=0.1234",
        b"text/*, text/html;q=0.1, application/json;q=0.2",
        b"image/png",
        b",;,q=1;",
    ],
)
def test_data(accept: bytes) -> None:
    """With the same weight, and of what has no weight that is one."""
    assert not prefers_html(((b"Accept", accept),))


def test_without_the_field_it_is_data() -> None:
    """As for curl before it had a default."""
    assert not prefers_html(())


def test_several_fields_are_one_list() -> None:
    """RFC 9110, section 5.3; a list without end is read to a bound."""
    assert prefers_html(((b"Accept", b"application/json;q=0.1"), (b"Accept", b"text/html")))
    assert not prefers_html(((b"Accept", b"image/png," * MOST_RANGES + b"text/html"),))
