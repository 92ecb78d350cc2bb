"""A subscriber's stream may begin only where all later events are known to be in it."""

import pytest

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.errors import GapKind
from nncache.invalidation.subscriber.starting_point import NoStart, find_start

PUBLISHED = PublishedFilter(
    name="joe", id="now", path_glob="/joe/*", since_txid=100, owner="joe", allowed_subscribers=()
)
"""The filter matches from 101 on; its last record is of 150, and everything up to 170 is published."""


def start(position: int | None, chain: str | None = None) -> int | NoStart:
    """Return the start of a stream of this filter, or why there is none."""
    return find_start(PUBLISHED, 150, position=position, chain=chain, through_txid=170)


def test_without_a_position_it_begins_at_the_end() -> None:
    """The stream has the events of transactions after the last record."""
    assert start(None) == 150


@pytest.mark.parametrize("chain", [None, "now"])
@pytest.mark.parametrize("position", [100, 101, 149, 150, 151, 170])
def test_a_position_in_the_stream_is_a_start(position: int, chain: str | None) -> None:
    """A position after the last record is one too, if nothing is known to have matched since."""
    assert start(position, chain) == position


@pytest.mark.parametrize(
    ("position", "chain", "first_txid", "kind", "go_on_after"),
    [
        *(
            pytest.param(
                90, chain, 91, GapKind.OTHER, 100, id=f"before the filter was there, of chain {chain}"
            )
            for chain in (None, "now", "before")
        ),
        pytest.param(120, "before", None, GapKind.WENT_BACK, 100, id="in another log"),
        pytest.param(
            171, None, None, GapKind.WENT_BACK, 150, id="not published: none can have reached it here"
        ),
    ],
)
def test_what_is_missing_is_named_and_where_it_goes_on(
    position: int, chain: str | None, first_txid: int | None, kind: GapKind, go_on_after: int
) -> None:
    """GapFlush: the position may belong to a log that no longer exists."""
    found = start(position, chain)
    assert isinstance(found, NoStart)
    failure = found.failure
    assert (failure.first_txid, failure.kind, found.go_on_after) == (first_txid, kind, go_on_after)
    assert failure.last_txid == (None if first_txid is None else 100)


def test_a_filter_made_again_at_the_position_goes_on_there() -> None:
    """Nothing was published between its two runs, so nothing is missing."""
    assert start(100, "before") == 100
