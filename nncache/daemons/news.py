"""A change of a daemon's state that its log tells of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class News:
    """One line.

    Attributes:
        text: what happened, what follows from it, and of what is bad what to do.
        is_bad: a bad state begins; the end of one is no longer bad.
    """

    text: str
    is_bad: bool = False
