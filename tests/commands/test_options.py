"""Each setting is an option; only options that were given count."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from nncache.commands.daemons import ESSENTIAL_OF_PROXY, ESSENTIAL_OF_PUBLISHER, proxy, publisher
from nncache.commands.group import nncache
from nncache.commands.options import given, with_settings
from nncache.errors import ConfigurationError
from nncache.settings.commands import PROXY, PUBLISHER
from nncache.settings.forms import Form
from nncache.settings.keys import keys_of
from tests.settings.test_keys import Engine


def run(*arguments: str) -> dict[str, object]:
    """Return the options that a command was given."""
    seen: dict[str, object] = {}

    @with_settings(keys_of([Engine]))
    @click.command()
    def command(**flags: object) -> None:
        seen.update(given(flags))

    command.main(list(arguments), standalone_mode=False)
    return seen


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ([], {}),
        (["--power-w", "7"], {"power_w": "7"}),
        (["--power-w=-7"], {"power_w": "-7"}),
        (["--loud"], {"loud": True}),
        (["--no-loud"], {"loud": False}),
        (["--glob", "/{a,b}", "--glob", "/c"], {"glob": ("/{a,b}", "/c")}),
        (["--namenode-http", "a:1,b:2"], {"namenode_http": ("a:1,b:2",)}),
    ],
)
def test_only_what_was_given_counts(arguments: list[str], seen: dict[str, object]) -> None:
    """A default is no flag: the settings file takes precedence over defaults, flags over the file."""
    assert run(*arguments) == seen


def test_the_file_may_be_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container gets the path of its file this way."""
    monkeypatch.setenv("NNCACHE_CONFIG", "/a.toml")
    assert run() == {"config": Path("/a.toml")}
    assert run("--config", "/b.toml") == {"config": Path("/b.toml")}


def test_help_shows_meaning_choices_and_default() -> None:
    """--help has everything that docs/settings.md says of a key."""

    @with_settings(keys_of([Engine]))
    @click.command()
    def command() -> None:
        """Run."""

    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "--idle-s DURATION Seconds. [default: 1.5]" in text
    assert "--fuel coal|wood What it burns. [default: coal]" in text
    assert "--user TEXT Who. [default: whoever starts it]" in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Settings with a secret."""

    code_file: str = field(default="", metadata={"help": "Where the code is."})


def test_a_flag_with_a_secret_is_refused_and_not_shown() -> None:
    """Every process list would show it, so --help does not offer it."""

    @with_settings(keys_of([Door]))
    @click.command()
    def command(**_: object) -> None:
        """Open."""

    done = CliRunner().invoke(command, ["--code", "hidden"])
    assert isinstance(done.exception, ConfigurationError)
    assert str(done.exception).startswith("--code: a secret must not stand on the command line")
    assert "hidden" not in str(done.exception) + done.output
    assert "--code " not in CliRunner().invoke(command, ["--help"]).output
    assert CliRunner().invoke(command, ["--code-file", "f"]).exit_code == 0


@pytest.mark.parametrize("command", [("proxy",), ("filters", "add", "--name", "a")])
@pytest.mark.parametrize("glob", [("--glob", "/usr"), ("--glob=/usr",)])
def test_an_expanded_glob_says_quote_it(command: tuple[str, ...], glob: tuple[str, ...]) -> None:
    """The shell has expanded it to several arguments."""
    result = CliRunner().invoke(nncache, [*command, *glob, "/etc", "/var"])
    assert result.exit_code == 2
    assert (
        "Got unexpected extra arguments (/etc /var): a shell expands a glob that is not quoted"
        in result.output
    )
    assert "quote it, as in --glob '/user/*/_SUCCESS'." in result.output


@pytest.mark.parametrize(
    "arguments", [("proxy", "x"), ("proxy", "--glob", "/a", "--nonsense"), ("filters", "add", "--glob", "/a")]
)
def test_other_mistakes_are_reported_as_ever(arguments: tuple[str, ...]) -> None:
    """The hint is absent without a glob or without extra arguments."""
    result = CliRunner().invoke(nncache, arguments)
    assert result.exit_code == 2
    assert "quote it" not in result.output


@pytest.mark.parametrize("words", [("filters", "add"), ("filters", "estimate"), ("registry", "ls")])
def test_help_shows_all_settings_where_there_is_no_help_all(words: tuple[str, ...]) -> None:
    """Only the daemons have so many settings that they need --help-all."""
    text = CliRunner().invoke(nncache, [*words, "--help"]).output
    assert "--hadoop-conf-dir" in text
    assert "--help-all" not in text


@pytest.mark.parametrize(
    ("command", "form", "essential"),
    [(proxy, PROXY, ESSENTIAL_OF_PROXY), (publisher, PUBLISHER, ESSENTIAL_OF_PUBLISHER)],
)
def test_help_all_is_complete(command: click.Command, form: Form[Any], essential: Collection[str]) -> None:
    """--help-all has every key of a daemon; --help has the essential ones."""
    brief = CliRunner().invoke(command, ["--help"]).output
    assert len(brief.splitlines()) < 120
    assert all(form.keys[name].flag in brief for name in essential)
    text = " ".join(CliRunner().invoke(command, ["--help-all"]).output.split())
    for key in form.keys.values():
        assert key.flag in text
