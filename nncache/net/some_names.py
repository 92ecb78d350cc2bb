"""A text that names a few of possibly thousands of items, for log lines, errors and tables."""

from collections.abc import Sequence
from typing import Final

SHOWN: Final = 20
"""Default number of names in a log line."""


def some_names(names: Sequence[str], *, shown: int = SHOWN, total: int | None = None) -> str:
    """Return the first names, separated by commas, and the number of the others: "a, b and 3 more".

    Args:
        names: the names, in the order of the text.
        shown: maximum number of names in the text.
        total: total number of items, if `names` is not complete.

    Returns:
        The text; "" if there are none.
    """
    first = names[:shown]
    more = (len(names) if total is None else total) - len(first)
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")
