"""Pollers ask for a file that is not there yet."""

from dataclasses import replace

import pytest

from nncache.demo.accounts import Accounts
from nncache.demo.chapters.waiting import judge
from nncache.demo.sightings import MISSING, Question, Record, Sighting, View
from tests.demo.told import Told

QUESTION = Question("bob", "/w/f")
BOOKS = Accounts(reads=100, hits_seen=97, hits=97, joined=0, calls=3)


def record(view: View = MISSING, *, is_hit: bool = True) -> Record:
    """Return a record of one read that took 0.4 ms."""
    return Record(QUESTION, (Sighting(view=view, is_hit=is_hit, started_at=1.0, ended_at=1.0004),))


@pytest.mark.parametrize(
    ("books", "records", "came_true"),
    [
        (BOOKS, (record(),), True),
        (replace(BOOKS, calls=5), (record(),), True),
        (replace(BOOKS, calls=6), (record(),), False),  # the NameNode is asked too often
        (BOOKS, (record(), record(View(200))), False),  # an answer that is not true
        (BOOKS, (record(), record(View(0))), False),  # a reader who is let down
        (BOOKS, (record(is_hit=False),), False),  # nothing from memory
        (BOOKS, (), False),
    ],
)
def test_the_truth_from_memory_at_few_calls(
    books: Accounts, records: tuple[Record, ...], came_true: bool
) -> None:
    """All three are needed."""
    assert judge(books, records).came_true is came_true


def test_what_it_cost_is_told() -> None:
    """Reads, hits and how long one takes, calls, and what was wrong."""
    assert judge(BOOKS, (record(),)).seen == "100 reads, 97 hits (p50 0.4 ms), 3 calls"
    assert judge(BOOKS, (record(View(503)),)).seen.endswith("; 1 read not 404, such as 503")


def test_it_comes_true_with_and_without_invalidation(told: Told, told_by_the_deaf: Told) -> None:
    """Nothing changes in it."""
    assert told.came_true("A missing file, from memory")
    assert told_by_the_deaf.came_true("A missing file, from memory")
