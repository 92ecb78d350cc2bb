"""What the whole story cost the NameNode."""

import re

from tests.demo.told import Told


def test_the_books_balance_over_the_whole_story(told: Told) -> None:
    """Three counters that do not know each other, and most reads are hits."""
    assert told.came_true("Three counts agree")
    found = re.search(r"Three counts agree: ([\d,]+) reads = ([\d,]+) hits", told.out)
    assert found is not None
    reads, hits = (int(figure.replace(",", "")) for figure in found.groups())
    assert hits > reads / 2
