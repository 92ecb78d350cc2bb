"""nncache's own commands, run and shown."""

from pathlib import Path

import pytest

from nncache.demo.commands import nncache_command, run, shown
from nncache.demo.errors import CommandError


def test_the_command_is_called_from_where_one_stands() -> None:
    """Short when it is below, whole when it is elsewhere."""
    python = Path("/src/nncache/.venv/bin/python")
    assert nncache_command(python, Path("/src/nncache")) == ".venv/bin/nncache"
    assert nncache_command(python, Path("/src/other")) == "/src/nncache/.venv/bin/nncache"


def test_a_shell_would_take_it_as_it_is_meant() -> None:
    """A glob is one word."""
    assert shown("filters", "--glob", "/a/*").endswith("nncache filters --glob '/a/*'")


def test_what_a_command_prints_is_returned() -> None:
    """Its standard output."""
    assert "Usage: nncache" in run("--help")


def test_a_command_that_fails_says_why() -> None:
    """In its own words."""
    with pytest.raises(CommandError, match=r"(?s)nncache explain ended with 2: .*--nonsense"):
        run("explain", "--nonsense")
