"""A row says what a figure is called, where it is read, and who has it."""

from nncache.metrics.metric import counter, gauge


def test_a_counter_is_named_as_one() -> None:
    """Prometheus wants `_total`."""
    metric = counter("pool.probes", "namenode_probes", "probes", "Probes.")
    assert (metric.name, metric.kind, metric.room) == ("nncache_namenode_probes_total", "counter", "pool")
    assert metric.daemons == ("proxy", "publisher")


def test_a_gauge_is_not() -> None:
    """It comes and goes."""
    metric = gauge("cache.entries", "cache_entries", "entries", "Entries.")
    assert (metric.name, metric.kind, metric.labels) == ("nncache_cache_entries", "gauge", ())
    assert metric.daemons == ("proxy",)
