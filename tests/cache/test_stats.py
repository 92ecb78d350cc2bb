"""The cache's counters."""

from cache import CacheSettings, Caller, MetadataCache
from cache.stats import CacheCounters


def test_counters_start_at_nothing() -> None:
    """A new cache has decided nothing."""
    counters = CacheCounters()
    assert (counters.serves, counters.changes, dict(counters.decisions)) == (0, 0, {})


def test_a_snapshot_does_not_move() -> None:
    """Stats are values: what a scrape read stays what it was."""
    cache = MetadataCache(CacheSettings())
    before = cache.stats(0.0)
    cache.lookup("/a", Caller("user=alice"), 0.0)
    assert sum(before.decisions.values()) == 0
    assert sum(cache.stats(0.0).decisions.values()) == 1
