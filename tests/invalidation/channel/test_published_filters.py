"""Definitions of the filters in force."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.invalidation.channel.published_filters import (
    FilterTerms,
    encode_published_filter,
    parse_published_filter,
    parse_readers,
)
from nncache.invalidation.errors import CorruptZnodeError
from tests.invalidation.channel.press import PUBLISHED, PUBLISHED_JSON
from tests.invalidation.channel.test_records import changed


def test_a_definition_is_plain_json_under_the_filters_name() -> None:
    """The name is the znode's and not in the JSON, so the two cannot contradict each other."""
    assert encode_published_filter(PUBLISHED) == PUBLISHED_JSON
    assert parse_published_filter("/r/ns1/.filters/joe", PUBLISHED_JSON) == PUBLISHED


def test_a_modified_filter_keeps_its_chain() -> None:
    """A reader of an earlier release takes the id for the chain, and sees a gap."""
    modified = replace(
        PUBLISHED, id="decaf", chain="c0ffee", file_id=16401, replaces=FilterTerms("/old", "ann")
    )
    data = encode_published_filter(modified)
    assert data.endswith(b',"chain":"c0ffee","fileId":16401,"replaces":{"pathGlob":"/old","owner":"ann"}}')
    assert parse_published_filter("/r/ns1/.filters/joe", data) == modified
    assert PUBLISHED.chain == PUBLISHED.id
    assert modified.terms == FilterTerms("/user/joe/*/_SUCCESS", "joe")


@pytest.mark.parametrize(
    ("path", "more", "reason"),
    [
        ("/r/.filters/.joe", {}, "no filter may be called so"),
        ("/r/.filters/zookeeper", {}, "no filter may be called so"),
        ("/r/.filters/joe", {"pathGlob": "user/*"}, "a glob begins with a /"),
        ("/r/.filters/joe", {"pathGlob": "/{"}, "no } closes"),
        ("/r/.filters/joe", {"version": 0}, "version 0: this release reads version 1"),
        ("/r/.filters/joe", {"id": "a b"}, "matching regex"),
        ("/r/.filters/joe", {"since": -1}, ">= 0"),
        ("/r/.filters/joe", {"owner": ...}, "missing required field `owner`"),
        ("/r/.filters/joe", {"allowedSubscribers": "ann"}, "Expected `array`"),
        ("/r/.filters/joe", {"allowedSubscribers": [1]}, "Expected `str`"),
        ("/r/.filters/joe", {"chain": ""}, "matching regex"),
        ("/r/.filters/joe", {"fileId": -1}, ">= 0"),
        ("/r/.filters/joe", {"replaces": {"pathGlob": "/f"}}, "missing required field `owner`"),
        ("/r/.filters/joe", {"replaces": {"pathGlob": "f", "owner": "joe"}}, "a glob begins with a /"),
        ("/r/.filters/joe", {"pathGlob": "/" + 8000 * "a"}, "a glob of 8001 characters: at most 8000"),
    ],
)
def test_a_definition_that_is_odd_is_refused(path: str, more: dict[str, Any], reason: str) -> None:
    """A filter is either served as it was defined, or not at all."""
    with pytest.raises(CorruptZnodeError, match=reason) as caught:
        parse_published_filter(path, changed(PUBLISHED_JSON, **more))
    assert caught.value.path == path


def test_who_may_read_is_read_without_the_glob() -> None:
    """The check of a stranger's request must not compile the glob: a large one takes long."""
    for data in (PUBLISHED_JSON, changed(PUBLISHED_JSON, pathGlob="/{")):
        readers = parse_readers("/r/ns1/.filters/joe", data)
        assert readers == {PUBLISHED.owner, *PUBLISHED.allowed_subscribers}
    with pytest.raises(CorruptZnodeError, match="missing required field"):
        parse_readers("/r/ns1/.filters/joe", changed(PUBLISHED_JSON, owner=...))
