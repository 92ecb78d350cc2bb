"""Fixtures of most cache tests."""

import pytest

from nncache.cache import MetadataCache
from nncache.cache.store import CacheStore
from tests.cache.cases import make_cache


@pytest.fixture
def cache() -> MetadataCache:
    """Return a cache whose filters match up to six levels, with its stream open and covered as of 0."""
    return make_cache()


@pytest.fixture
def store() -> CacheStore:
    """Return a store whose bounds no test reaches."""
    return CacheStore(max_bytes=10**9, max_items=10**9)
