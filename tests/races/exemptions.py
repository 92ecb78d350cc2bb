"""Places of the listed modules where no race is held, by `Place.key`; the files give the reasons.

A key without a place fails the run, and so does a key of a place that "never waits" where a task did wait.
In the files a reason precedes its keys, each of which follows "- ".
"""

from pathlib import Path
from typing import Final


def _keys(file: str) -> frozenset[str]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return frozenset(line.removeprefix("- ") for line in lines if line.startswith("- "))


NEVER_WAITS: Final = _keys("never_waits.txt")
OFF_THE_PATH: Final = _keys("off_the_path.txt")
NOT_IN_THE_MODEL: Final = _keys("not_in_the_model.txt")
