"""The figures of the room."""

from nncache.invalidation.stats import ChannelStats


def test_polls_are_counted() -> None:
    """An answered poll adds its time; one that found something counts as such."""
    stats = ChannelStats()
    stats.polled(0.5, found=False)
    stats.polled(0.25, found=True)
    assert (stats.polls, stats.polls_found, stats.poll_s) == (2, 1, 0.75)
