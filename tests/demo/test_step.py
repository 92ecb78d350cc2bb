"""Steps, and what they mean for the exit code."""

import pytest

from nncache.demo.step import Step, exit_code

TRUE = Step(title="a", expected="b", seen="b", came_true=True)
UNTRUE = Step(title="a", expected="b", seen="c", came_true=False)


@pytest.mark.parametrize(
    ("steps", "code"),
    [((TRUE,), 0), ((TRUE, TRUE), 0), ((TRUE, UNTRUE), 1), ((UNTRUE, TRUE), 1), ((), 1)],
)
def test_only_a_story_that_came_true_from_end_to_end_is_a_success(steps: tuple[Step, ...], code: int) -> None:
    """A story without steps shows nothing."""
    assert exit_code(steps) == code
