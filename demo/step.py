"""One sentence of the story, and whether it came true. (demo/step.py)"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What should be seen, and what was.

    Attributes:
        title: what it is about, a few words.
        expected, seen: for a reader who has not seen the code.
    """

    title: str
    expected: str
    seen: str
    came_true: bool


def exit_code(steps: tuple[Step, ...]) -> int:
    """Return 0 when there are steps and all came true, else 1."""
    return 0 if steps and all(step.came_true for step in steps) else 1
