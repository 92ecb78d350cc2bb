"""Numbers formatted for readers."""

import math
from typing import Final

NONE: Final = "\N{EN DASH}"  # shown instead of a missing number

_WHOLE_FROM: Final = 99.95
_LEAST_SHARE: Final = 0.0001
_IN_SECONDS_FROM: Final = 0.9995


def number(value: float | None) -> str:
    """Return three significant digits, or all integer digits if there are more; `NONE` for no number."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:,.0f}" if not value or abs(value) >= _WHOLE_FROM else f"{value:#.3g}"


def percent(share: float | None) -> str:
    """Return a share as a percentage with two decimals; only 1 is "100 %", and only 0 is "0 %"."""
    if share is None or math.isnan(share):
        return NONE
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    if 1 - _LEAST_SHARE < share < 1:
        return ">99.99 %"
    return "<0.01 %" if 0 < share < _LEAST_SHARE else f"{share * 100:,.2f} %"


def saved(share: float | None) -> str:
    """Return `94.14 % saved`, or `121.25 % more`; `NONE` for no number."""
    if share is None or math.isnan(share):
        return NONE
    return f"{percent(-share)} more" if share < 0 else f"{percent(share)} saved"


def duration(seconds: float | None) -> str:
    """Return a time with its unit: ms below a second, else s; `NONE` for no number."""
    if seconds is None or math.isnan(seconds):
        return NONE
    return f"{number(seconds)} s" if seconds >= _IN_SECONDS_FROM else f"{number(seconds * 1e3)} ms"


def counted(count: int, thing: str) -> str:
    """Return `1 wrong answer`, `2,000 wrong answers`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def ratio(dividend: float | None, divisor: float) -> float:
    """Return the quotient; NaN if the divisor is 0, or there is no dividend."""
    return dividend / divisor if divisor and dividend is not None else math.nan
