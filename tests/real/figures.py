"""How figures are summed up and shown."""

import math
from collections.abc import Iterable, Sequence


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value that this share of them does not exceed (nearest rank); 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def percent(share: float) -> str:
    """Return a share as it is printed."""
    return f"{100 * share:.1f} %"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(" ".join(cell.split()) for cell in line) + " |" for line in lines]
