"""Figures as they are told. (demo/figures.py)"""

from collections.abc import Sequence

_EXACT_BELOW_MS = 10


def spoken(seconds: float) -> str:
    """Return a time as a reader wants it: "0.4 ms", "12 ms", "2.9 s"."""
    if not seconds:
        return "0 ms"
    milliseconds = seconds * 1000
    if milliseconds < _EXACT_BELOW_MS:
        return f"{milliseconds:.1f} ms"
    return f"{milliseconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share (0 to 1) of all values does not exceed (nearest rank).

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)  # rounded up
    return ordered[max(rank, 1) - 1]


def spread(seconds: Sequence[float]) -> str:
    """Return "p50 8.1 ms, max 21 ms"."""
    return f"p50 {spoken(percentile(seconds, 0.5))}, max {spoken(max(seconds))}"


def counted(number: int, noun: str) -> str:
    """Return "1 read" or "1,200 reads"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
