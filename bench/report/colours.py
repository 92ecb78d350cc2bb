"""One colour for each mode and each process, the same everywhere. (bench/report/colours.py)

Source: M. Okabe, K. Ito, "Color Universal Design", 2008: eight colours that all eyes can tell apart.
"""

from typing import Final

BLACK: Final = "#000000"
ORANGE: Final = "#E69F00"
SKY_BLUE: Final = "#56B4E9"
GREEN: Final = "#009E73"
YELLOW: Final = "#F0E442"
BLUE: Final = "#0072B2"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"

QUIET: Final = "#555555"
"""For what is there to be looked up, not to be looked at."""

PALE: Final = "#D9D9D9"

_MODES: Final = {"direct": BLACK, "nncache": BLUE, "nginx": VERMILLION}
_PROCESSES: Final = {
    "namenode": PURPLE,
    "proxy": SKY_BLUE,
    "publisher": GREEN,
    "nginx": ORANGE,
    "generator": PALE,
    "changer": YELLOW,
}


def of_mode(mode: str) -> str:
    """Return a mode's colour."""
    return _MODES.get(mode, GREEN)


def of_process(process: str) -> str:
    """Return a process's colour."""
    return _PROCESSES.get(process, QUIET)
