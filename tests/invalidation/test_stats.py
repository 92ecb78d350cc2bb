"""The figures of the room."""

from dataclasses import fields

from invalidation.stats import ChannelStats, PollCounters, StreamCounters, StreamStats


def test_polls_are_counted() -> None:
    """An answered poll adds its time; one that found something counts as such."""
    counters = PollCounters()
    counters.polled(0.5, found=False)
    counters.polled(0.25, found=True)
    stats = counters.stats(charged_s=0.3, budget_s=1.5)
    assert (stats.polls, stats.polls_found, stats.poll_s) == (2, 1, 0.75)
    assert (stats.poll_charged_s, stats.poll_budget_s) == (0.3, 1.5)


def test_counters_and_figures_have_the_same_names() -> None:
    """What is counted is shown, under the same name."""

    def names(shape: type) -> set[str]:
        return {field.name for field in fields(shape)}

    assert names(StreamStats) - names(StreamCounters) == {"channel"}
    assert names(StreamCounters) < names(StreamStats)
    assert names(ChannelStats) - names(PollCounters) == {"poll_charged_s", "poll_budget_s"}
