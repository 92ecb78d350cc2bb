"""Numbers as a reader wants them. (bench/report/rounding.py)"""

import math
from typing import Final

NONE: Final = "\N{EN DASH}"
"""Stands where there is no number."""

_DIGITS: Final = 3
_EXACT_FROM: Final = 1000
_LEAST: Final = 0.001
_LEAST_SHARE: Final = 0.0001
_IN_SECONDS_FROM: Final = 0.9995


def number(value: float) -> str:
    """Return three significant digits and, of greater numbers, all before the point; `NONE` for NaN."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if abs(value) >= _EXACT_FROM or not value:
        return f"{value:,.0f}"
    rounded = float(f"{value:.{_DIGITS}g}")
    if abs(rounded) < _LEAST:
        return f"<{_LEAST}" if value > 0 else f">-{_LEAST}"
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def percent(share: float) -> str:
    """Return a share as hundredths with two decimals; only all is "100 %", and only nothing is "0 %"."""
    if math.isnan(share):
        return NONE
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    if 1 - _LEAST_SHARE < share < 1:
        return ">99.99 %"
    if 0 < share < _LEAST_SHARE:
        return "<0.01 %"
    return f"{share * 100:,.2f} %"


def milliseconds(seconds: float) -> str:
    """Return a time in ms, without the unit."""
    return number(seconds * 1e3)


def duration(seconds: float) -> str:
    """Return a time with its unit: ms below a second, else s."""
    if math.isnan(seconds):
        return NONE
    return f"{number(seconds)} s" if seconds >= _IN_SECONDS_FROM else f"{number(seconds * 1e3)} ms"


def seconds_of(period_s: float) -> str:
    """Return a time from the settings, as it was given: `5 s`, `0.5 s`."""
    return f"{period_s:,g} s"


def mebibytes(size: float) -> str:
    """Return a size in MiB, without the unit."""
    return number(size / 2**20)


def counted(count: int, thing: str) -> str:
    """Return `1 wrong answer`, `2,000 wrong answers`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def ratio(dividend: float, divisor: float) -> float:
    """Return the quotient; NaN where nothing can be divided by."""
    return dividend / divisor if divisor else math.nan
