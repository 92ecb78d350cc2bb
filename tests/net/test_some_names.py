"""A few names, and the number of those left out."""

import pytest

from nncache.net.some_names import SHOWN, some_names


@pytest.mark.parametrize(
    ("names", "shown", "text"),
    [
        ((), 2, ""),
        (("a",), 2, "a"),
        (("a", "b"), 2, "a, b"),
        (("a", "b", "c"), 2, "a, b and 1 more"),
        (["a", "b", "c", "d"], 1, "a and 3 more"),
    ],
)
def test_the_first_are_named_and_the_others_counted(names: tuple[str, ...], shown: int, text: str) -> None:
    """They keep their order."""
    assert some_names(names, shown=shown) == text


def test_names_may_be_a_part_of_what_is_counted() -> None:
    """For example, a page of names and their total number."""
    assert some_names(["a", "b"], total=5) == "a, b and 3 more"
    assert some_names(["a", "b"], total=2) == "a, b"


def test_a_line_has_a_length_that_can_be_read() -> None:
    """A default limit applies if the caller sets none."""
    assert some_names([str(number) for number in range(5_000)]).endswith(
        f"{SHOWN - 1} and {5_000 - SHOWN} more"
    )
