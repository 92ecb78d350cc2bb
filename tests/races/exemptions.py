"""Places of the listed modules at which no race is held, by `Place.key`; the files say why.

A key of a place that is not there fails the run, and so does one that says that nobody waits at a place where somebody
did. In the files a reason stands above the keys that it is for, each of them behind "- ".
"""

from pathlib import Path
from typing import Final


def _keys(file: str) -> frozenset[str]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return frozenset(line.removeprefix("- ") for line in lines if line.startswith("- "))


NEVER_WAITS: Final = _keys("never_waits.txt")
OFF_THE_PATH: Final = _keys("off_the_path.txt")
NOT_IN_THE_MODEL: Final = _keys("not_in_the_model.txt")
