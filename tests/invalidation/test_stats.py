"""The figures of the room."""

from dataclasses import fields

from invalidation.stats import (
    ChannelStats,
    PollCounters,
    RecordCounters,
    RecordStats,
    StreamCounters,
    StreamStats,
)


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
    not_polls = {"poll_charged_s", "poll_budget_s", "records", "session"}
    assert names(ChannelStats) - names(PollCounters) == not_polls
    assert names(RecordStats) - names(RecordCounters) == {"corrupt_znodes", "foreign_znodes"}


def test_records_are_counted() -> None:
    """What was read is shown with what was found among the znodes."""
    stats = RecordCounters(records_read=3, filters=2, resumes=1).stats(corrupt_znodes=4, foreign_znodes=5)
    assert stats == RecordStats(records_read=3, filters=2, resumes=1, corrupt_znodes=4, foreign_znodes=5)
