"""The cache's figures."""

from nncache.cache import CacheSettings, Caller, MetadataCache


def test_a_snapshot_does_not_move() -> None:
    """What a scrape read stays what it was."""
    cache = MetadataCache(CacheSettings())
    before = cache.stats(0.0)
    cache.lookup("/a", Caller("user=alice"), 0.0)
    assert sum(before.decisions.values()) == 0
    assert sum(cache.stats(0.0).decisions.values()) == 1
