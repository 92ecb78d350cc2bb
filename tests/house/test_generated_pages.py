"""The generated pages match the code."""

import json

import click
import pytest

from nncache.commands.group import nncache
from tests.house.test_words import unwanted_in
from tests.house.tree import ROOT
from tools.docs.json_shapes import shapes
from tools.docs.made import KEPT, OF_THE_SITE, commands_page, leaves

EXAMPLES = dict(shapes())
LEAVES = tuple(leaves(nncache, ()))
COMMANDS = commands_page()


@pytest.mark.parametrize("name", sorted(KEPT))
def test_a_generated_page_is_current(name: str) -> None:
    """`make docs` would change nothing."""
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == KEPT[name](), "run `make docs`"


def test_a_page_is_the_same_for_each_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that depends on the user is described in words."""
    page = KEPT["settings.md"]()
    monkeypatch.setenv("LOGNAME", "somebody-else")
    assert KEPT["settings.md"]() == page


@pytest.mark.parametrize("name", sorted(OF_THE_SITE))
def test_a_page_of_the_site_is_plain(name: str) -> None:
    """The words are checked as in the committed pages."""
    assert unwanted_in(OF_THE_SITE[name]()) == []


def test_each_command_with_json_has_an_example() -> None:
    """Commands without --json have none."""
    with_json = {
        " ".join(words) for words, each in LEAVES if any("--json" in one.opts for one in each.params)
    }
    assert set(EXAMPLES) == with_json


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_json(name: str) -> None:
    """An example is one object or list, or one object per line."""
    example = EXAMPLES[name]
    for text in example.splitlines() if name.endswith("watch") else [example]:
        assert isinstance(json.loads(text), dict | list)


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
def test_each_command_is_on_its_page_with_its_options(words: tuple[str, ...], command: click.Command) -> None:
    """Each has a section with all options, including settings."""
    _, _, rest = COMMANDS.partition(f"\n## nncache {' '.join(words)}\n")
    section, _, _ = rest.partition("\n## ")
    options = [option.opts[0] for option in command.params if isinstance(option, click.Option)]
    assert section
    assert [option for option in options if f"`{option}" not in section] == []


def test_each_command_that_has_settings_takes_a_file() -> None:
    """The only exceptions are commands without settings."""
    without = {" ".join(words) for words, each in LEAVES if "config" not in {one.name for one in each.params}}
    assert without == {"advise", "cluster", "completion", "datanode", "fsck", "namenode"}
