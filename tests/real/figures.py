"""Aggregation and formatting of figures."""

import math
from collections.abc import Iterable, Sequence


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value that this share of the values does not exceed (nearest rank); 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def percent(share: float) -> str:
    """Return a share as a percentage text."""
    return f"{100 * share:.1f} %"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(" ".join(cell.split()) for cell in line) + " |" for line in lines]
