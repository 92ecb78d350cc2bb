"""A text that names a few of what may be thousands, for log lines, errors and tables."""

from collections.abc import Sequence
from typing import Final

SHOWN: Final = 20
"""How many names a line of the log shows, if its caller does not choose."""


def some_names(names: Sequence[str], *, shown: int = SHOWN, total: int | None = None) -> str:
    """Return the first names, separated by commas, and how many more there are: "a, b and 3 more".

    Args:
        names: in the order in which they are to stand.
        shown: how many of them at most.
        total: how many there are, where `names` are not all of them.

    Returns:
        The text; "" if there are none.
    """
    first = names[:shown]
    more = (len(names) if total is None else total) - len(first)
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")
