"""What is judged of a subscription."""

import pytest

from nncache.demo.chapters.subscribing import MARK, cost, told

CREATE, CLOSE = {"type": "CREATE", "path": MARK}, {"type": "CLOSE", "path": MARK}


@pytest.mark.parametrize(
    ("events", "seen_after_s", "came_true"),
    [
        ((CREATE, CLOSE), 0.01, True),
        ((CREATE, CLOSE), 3.5, False),
        ((CREATE,), None, False),
        ((CREATE, CLOSE, CLOSE), 0.01, False),
        ((CREATE, CLOSE, {"type": "RENAME", "srcPath": "/a", "dstPath": "/b"}), 0.01, False),
        ((), None, False),
    ],
)
def test_a_subscriber_is_told_what_its_filter_matches_and_nothing_else(
    events: tuple[dict[str, str], ...], seen_after_s: float | None, came_true: bool
) -> None:
    """Each event once, in order, within the bound."""
    assert told(events, seen_after_s).came_true is came_true


@pytest.mark.parametrize(("writes", "came_true"), [(1, True), (10, True), (11, False), (0, False)])
def test_writes_grow_with_time_and_not_with_edits(writes: int, came_true: bool) -> None:
    """None at all would mean that nothing was published."""
    assert cost(transactions=100, writes=writes).came_true is came_true
