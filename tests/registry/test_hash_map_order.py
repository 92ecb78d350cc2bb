"""The order of Java's HashMap; test_hadoop_client compares it with Java's own."""

import pytest

from nncache.registry.hash_map_order import in_hash_map_order, java_hash


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("yarn:id", 0xACD17511),
        ("Aa", 2112),
        ("BB", 2112),
        ("\U0001f600", 0x1B0D63),
        ("\ud800", 0xD800),
    ],
)
def test_a_string_has_javas_hash(text: str, hashed: int) -> None:
    """Over the units of UTF-16, surrogates each by itself."""
    assert java_hash(text) == hashed


def test_the_order_is_that_of_the_bins() -> None:
    """Seen of Hadoop 3.5.0, which had been given them in another order."""
    seen = ["yarn:id", "big", "e", "x", "y", "z", "l"]
    assert in_hash_map_order(["yarn:id", "x", "y", "z", "l", "big", "e"]) == seen


def test_names_of_one_bin_stay_in_the_order_in_which_they_were_put_there() -> None:
    """Both have the same hash."""
    assert in_hash_map_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert in_hash_map_order(["BB", "Aa"]) == ["BB", "Aa"]


def test_the_table_grows_with_the_names() -> None:
    """Beyond three quarters of it: with three names it has four bins, with four eight."""
    assert in_hash_map_order([]) == []
    assert in_hash_map_order(["d", "e", "c"]) == ["d", "e", "c"]  # 100, 101, 99: bins 0, 1, 3
    assert in_hash_map_order(["d", "e", "c", "h"]) == ["h", "c", "d", "e"]  # bins 0, 3, 4, 5
