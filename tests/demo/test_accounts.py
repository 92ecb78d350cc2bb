"""The same reads counted by three who do not know each other."""

from dataclasses import replace

import pytest

from nncache.demo.accounts import Accounts, Answered, accounts, balance
from nncache.demo.sightings import MISSING, Question, Record, Sighting

BOOKS = Accounts(reads=100, hits_seen=90, hits=90, joined=3, calls=7)


def sighting(*, is_hit: bool) -> Sighting:
    """Return a read."""
    return Sighting(view=MISSING, is_hit=is_hit, started_at=0.0, ended_at=0.0)


def test_a_stretch_is_the_difference_of_its_ends() -> None:
    """What was counted before it is no part of it."""
    question = Question("bob", "/w/f")
    records = (
        Record(question, (sighting(is_hit=False), sighting(is_hit=True))),
        Record(question, (sighting(is_hit=True),)),
    )
    books = accounts(records, (Answered(10, 1), Answered(12, 1)), (50, 51))
    assert books == Accounts(reads=3, hits_seen=2, hits=2, joined=0, calls=1)
    assert balance(books, own_at_most=0).came_true


@pytest.mark.parametrize(
    ("books", "own_at_most", "came_true"),
    [
        (BOOKS, 0, True),
        (replace(BOOKS, calls=9), 2, True),  # it asked twice by itself
        (replace(BOOKS, calls=9), 1, False),
        (replace(BOOKS, calls=6), 5, False),  # a read that nobody answered
        (replace(BOOKS, hits=91, calls=6), 0, False),  # metrics and Cache-Status disagree
        (Accounts(reads=0, hits_seen=0, hits=0, joined=0, calls=0), 0, False),
    ],
)
def test_each_read_was_a_hit_or_a_call(books: Accounts, own_at_most: int, came_true: bool) -> None:
    """But for what the proxy may ask by itself before a creation."""
    assert balance(books, own_at_most=own_at_most).came_true is came_true


def test_the_sum_is_shown() -> None:
    """A reader can check it."""
    assert (
        balance(replace(BOOKS, calls=9), own_at_most=2).seen == "100 reads = 90 hits + 3 shared + 9 calls - 2"
    )
    assert (
        balance(replace(BOOKS, joined=0, calls=9), own_at_most=0).seen == "100 reads = 90 hits + 9 calls + 1"
    )
    assert "by Cache-Status 89 hits" in balance(replace(BOOKS, hits_seen=89), own_at_most=0).seen
