"""What is chosen is held, and matches the filter that was named."""

import pytest

from nncache.admin.proxy_pages import SampleError
from nncache.daemons.held_paths import HeldPaths
from tests.cache.cases import fill, make_cache


def held() -> HeldPaths:
    """Return those of a cache with two filters; chance goes by every place."""
    cache = make_cache()
    cache.set_filters({"id1": "/w/*", "id2": "/v/*"})
    for path in ("/w/a", "/w/b", "/v/c"):
        fill(cache, path)
    numbers = iter(range(10_000))
    return HeldPaths(cache, lambda: {"id1": "ours"}, lambda: (next(numbers) % 100) / 100)


def test_all_or_those_of_a_filter() -> None:
    """By name or glob."""
    assert sorted(held().sample(9, None)) == ["/v/c", "/w/a", "/w/b"]
    assert sorted(held().sample(9, "ours")) == ["/w/a", "/w/b"]
    assert held().sample(9, "/v/*") == ("/v/c",)
    assert len(held().sample(1, None)) == 1


def test_a_filter_that_is_not_in_force_is_no_empty_sample() -> None:
    """It is misspelled more likely."""
    with pytest.raises(SampleError, match="no filter 'mine' is in force; in force: /v/\\*, ours"):
        held().sample(9, "mine")
