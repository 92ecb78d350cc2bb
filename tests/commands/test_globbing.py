"""A glob that the shell has expanded is found out."""

import pytest
from click.testing import CliRunner

from nncache.commands.group import nncache


@pytest.mark.parametrize("command", [("proxy",), ("filters", "add", "--name", "a")])
@pytest.mark.parametrize("glob", [("--glob", "/usr"), ("--glob=/usr",)])
def test_an_expanded_glob_says_quote_it(command: tuple[str, ...], glob: tuple[str, ...]) -> None:
    """The shell has made several arguments of it."""
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
def test_other_mistakes_are_told_as_ever(arguments: tuple[str, ...]) -> None:
    """No glob, or nothing extra."""
    result = CliRunner().invoke(nncache, arguments)
    assert result.exit_code == 2
    assert "quote it" not in result.output
