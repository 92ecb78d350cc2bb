"""docs/commands.md names every command with its options."""

from pathlib import Path

import click
import pytest

from nncache.commands.group import nncache
from nncache.commands.reference import PAGE, commands_page, leaves, write
from nncache.errors import (
    AdminError,
    ConfigurationError,
    FiltersError,
    NotComparedError,
    StartError,
    WatchError,
)
from tests.house.tree import ROOT

LEAVES = tuple(leaves(nncache, ()))


def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    """`make docs` writes it."""
    write(tmp_path)
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == (ROOT / "docs" / PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
def test_each_command_has_its_options(words: tuple[str, ...], command: click.Command) -> None:
    """In its own section, settings among them."""
    _, _, rest = commands_page().partition(f"\n## nncache {' '.join(words)}\n")
    section, _, _ = rest.partition("\n## ")
    assert section
    for option in command.params:
        assert not isinstance(option, click.Option) or f"`{option.opts[0]}" in section


def test_each_command_that_has_settings_takes_a_file() -> None:
    """All but those that are told nothing of their surroundings."""
    without = {" ".join(words) for words, each in LEAVES if "config" not in {one.name for one in each.params}}
    assert without == {"cluster", "completion"}


def test_exit_codes_are_those_of_the_errors() -> None:
    """Two kinds, and that of diff(1)."""
    codes = {kind: kind.exit_code for kind in (StartError, AdminError, FiltersError, WatchError)}
    assert set(codes.values()) == {1}
    assert ConfigurationError.exit_code == NotComparedError.exit_code == 2
