"""What a `with` block starts and ends."""

import pytest

from nncache.testbed.errors import StartError
from nncache.testbed.running import Running


class Noted(Running):
    """Notes what is done to it."""

    def __init__(self, *, fails: bool = False) -> None:
        self.done: list[str] = []
        self._fails = fails

    def start(self) -> None:
        """Start, or fail."""
        self.done.append("start")
        if self._fails:
            raise StartError("no")

    def close(self) -> None:
        """End."""
        self.done.append("close")


def test_it_ends_with_its_block() -> None:
    """Started before the block, closed after it."""
    with Noted() as noted:
        assert noted.done == ["start"]
    assert noted.done == ["start", "close"]


def test_a_start_that_fails_leaves_nothing() -> None:
    """The block is not entered, so nothing else would close it."""
    noted = Noted(fails=True)
    with pytest.raises(StartError), noted:
        pytest.fail("the block was entered")
    assert noted.done == ["start", "close"]
