"""The figures that are counted are the figures that are shown."""

from dataclasses import asdict, fields

from invalidation.publisher.stats import OutputCounters, OutputStats, PublisherCounters, PublisherStats


def test_each_counter_is_shown() -> None:
    """Nothing is counted in vain."""
    shown = {field.name for field in fields(PublisherStats)}
    assert {field.name for field in fields(PublisherCounters)} <= shown
    assert PublisherStats(**asdict(PublisherCounters())) == PublisherStats()
    assert OutputCounters(writes=3, write_s=0.5).stats() == OutputStats(writes=3, write_s=0.5)
