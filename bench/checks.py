"""What the figures of a run must be at least. (bench/checks.py)"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One demand on a run: what was wanted, what was measured, and whether that is enough."""

    name: str
    wanted: str
    measured: str
    is_met: bool
