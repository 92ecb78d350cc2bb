"""What most tests of the cache begin with."""

import pytest

from nncache.cache import MetadataCache
from nncache.cache.store import Store
from tests.cache.cases import make_cache


@pytest.fixture
def cache() -> MetadataCache:
    """Return a cache that keeps everything of up to six levels, with its stream open and covered as of 0."""
    return make_cache()


@pytest.fixture
def store() -> Store:
    """Return a store without a bound that a test could reach."""
    return Store(max_bytes=10**9, max_items=10**9)
