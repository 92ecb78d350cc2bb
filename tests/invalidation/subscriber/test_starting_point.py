"""Where a subscriber's stream may begin: where everything that follows is known to be in it, and nowhere else."""

import pytest

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.errors import GapKind
from nncache.invalidation.subscriber.starting_point import NoStart, Start, StartAfter, find_start

PUBLISHED = PublishedFilter(
    name="joe", id="now", path_glob="/joe/*", since_txid=100, owner="joe", allowed_subscribers=()
)
"""Matched behind 100; the last record is one of 150, and everything up to 170 is published."""


def start(position: int | None, chain: str | None = None) -> Start:
    """Find the start of a stream of this filter."""
    return find_start(PUBLISHED, 150, position=position, chain=chain, through_txid=170)


def test_without_a_wish_it_begins_at_the_end() -> None:
    """Events from now on: those of transactions behind the last record."""
    assert start(None) == StartAfter(150)


@pytest.mark.parametrize("chain", [None, "now"])
@pytest.mark.parametrize("position", [100, 101, 149, 150, 151, 170])
def test_a_position_in_the_stream_is_a_start(position: int, chain: str | None) -> None:
    """Also one behind the last record, as far as it is known that nothing matched since."""
    assert start(position, chain) == StartAfter(position)


@pytest.mark.parametrize("chain", [None, "now", "before"])
def test_before_the_filter_was_there_nothing_was_matched(chain: str | None) -> None:
    """GapFlush: what is missing is named, and the stream goes on where matching began."""
    match start(90, chain):
        case NoStart(failure, go_on_after):
            assert (failure.first_txid, failure.last_txid, go_on_after) == (91, 100, 100)
        case other:
            pytest.fail(f"{other} is no start")


def test_a_position_in_another_filter_life_is_refused() -> None:
    """GapFlush: its transactions may be those of a log that is no more."""
    match start(120, "before"):
        case NoStart(failure, go_on_after):
            assert (failure.kind, go_on_after) == (GapKind.WENT_BACK, 100)
        case other:
            pytest.fail(f"{other} is no start")


def test_a_filter_made_anew_at_the_position_goes_on_there() -> None:
    """Nothing was published between its two runs: nothing is missing."""
    assert start(100, "before") == StartAfter(100)


def test_an_unpublished_position_is_of_another_log() -> None:
    """GapFlush: nobody can have reached it here."""
    match start(171):
        case NoStart(failure, go_on_after):
            assert (failure.kind, go_on_after) == (GapKind.WENT_BACK, 150)
            assert "171 is yet to be published" in str(failure)
        case other:
            pytest.fail(f"{other} is no start")
