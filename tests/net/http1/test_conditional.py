"""Conditional request fields, and whether a reply meets them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.http1.conditional import MAX_TAGS, Conditions, conditions_of, etag_of
from nncache.proxy.messages import Headers

BODY = b"body"
TAG = etag_of(BODY)
OTHER = etag_of(b"other")


@pytest.mark.parametrize(
    ("fields", "conditions"),
    [
        ((), None),
        (((b"Prefer", b"return=minimal"),), None),
        (((b"Prefer", b"wait=soon"),), None),
        (((b"prefer", b"wait=5"),), Conditions(None, 5)),
        (((b"Prefer", b'respond-async, WAIT = "7" ; x=1'),), Conditions(None, 7)),
        (((b"Prefer", b"wait=5"), (b"Prefer", b"wait=9")), Conditions(None, 5)),
        (((b"Prefer", b"wait=600"),), Conditions(None, 60)),
        (
            ((b"Host", b"nn"), (b"If-None-Match", TAG + b" ,W/" + OTHER + b",")),
            Conditions(frozenset({TAG, OTHER}), 0),
        ),
        (((b"If-None-Match", TAG), (b"If-None-Match", b"*")), Conditions(frozenset({TAG, b"*"}), 0)),
        (((b"If-None-Match", b'"a", x, ""'),), Conditions(frozenset[bytes](), 0)),
        (((b"If-None-Match", TAG[:-2] + b'A", ' + TAG + b"x"),), Conditions(frozenset[bytes](), 0)),
    ],
)
def test_conditions_are_read_from_the_fields(fields: Headers, conditions: Conditions | None) -> None:
    """RFC 7240, section 2: the first wait counts. RFC 9110, section 13.1.2: tags compare weakly."""
    assert conditions_of(fields, max_wait_s=60) == conditions


@pytest.mark.parametrize(
    ("known", "status", "is_met", "is_304"),
    [
        (None, 404, False, False),
        (None, 200, True, False),
        (None, 403, True, False),
        (frozenset({TAG}), 200, False, True),
        (frozenset({TAG}), 404, False, False),
        (frozenset({b'"x"'}), 200, True, False),
        (frozenset({b"*"}), 200, False, False),
        (frozenset({b"*", TAG}), 200, False, True),
        (frozenset({b"*"}), 404, True, False),
        (frozenset[bytes](), 200, True, False),
    ],
)
def test_an_answer_meets_the_conditions_or_is_known(
    known: frozenset[bytes] | None, status: int, *, is_met: bool, is_304: bool
) -> None:
    """Without a tag the wait is for the end of a 404. A 404 never becomes a 304; only a tag of the proxy's own does."""
    conditions = Conditions(known, 5)
    assert conditions.is_met(status, BODY) is is_met
    assert conditions.is_not_modified(status, BODY) is is_304


def test_a_tag_is_of_the_bytes() -> None:
    """An ETag is a strong validator (RFC 9110, section 8.8.1): other bytes have another tag."""
    assert TAG == etag_of(b"body") != etag_of(b"Body")
    assert TAG.startswith(b'"')
    assert TAG.endswith(b'"')


def test_of_very_many_tags_a_few_are_kept() -> None:
    """Only tags that the proxy can have sent are kept; `kept_bytes` covers the memory of the objects."""
    tags = [etag_of(b"%d" % number) for number in range(1_000)]
    field = (b"If-None-Match", b",".join([b"aaa", *tags]))
    conditions = conditions_of((field, field), max_wait_s=60)
    assert conditions is not None
    assert conditions.known == frozenset(tags[:MAX_TAGS])
    assert conditions.kept_bytes > 2 * len(field[1])


@given(st.lists(st.binary(max_size=40) | st.sampled_from([TAG, b"W/" + TAG, b"*", b" " + OTHER])))
def test_what_is_kept_of_any_field_is_bounded(parts: list[bytes]) -> None:
    """Each kept tag was in the field, and is one that the proxy can have sent."""
    value = b",".join(parts)
    conditions = conditions_of(((b"If-None-Match", value),), max_wait_s=60)
    assert conditions is not None
    assert conditions.known is not None
    assert len(conditions.known) <= MAX_TAGS
    assert all(tag in value and (tag == b"*" or len(tag) == len(TAG)) for tag in conditions.known)
    assert TAG not in parts or TAG in conditions.known
