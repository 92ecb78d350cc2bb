"""How far something is, where somebody watches."""

import sys

import pytest

from nncache.commands.progress_bar import bar
from tests.commands.a_terminal import on_a_terminal


def test_no_bar_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    """Not in a file, however long it takes."""
    with bar("reading") as tell:
        tell(1, 2)
        tell(2, 2)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_on_a_terminal_when_it_takes_long() -> None:
    """And taken away at the end."""
    code = (
        "from nncache.commands import progress_bar\n"
        "progress_bar.PATIENCE_S = 0.0\n"
        "with progress_bar.bar('reading filters') as tell:\n"
        "    tell(1, 1000)\n"
        "print('the end')\n"
    )
    shown = on_a_terminal(sys.executable, "-c", code)
    assert "reading filters" in shown
    assert "1/1000" in shown
    assert shown.rstrip().endswith("the end")
