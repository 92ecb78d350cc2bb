"""Whether nncache takes a command line, without running it."""

from collections.abc import Sequence

import click

from nncache.commands.group import nncache


def parameters_of(words: Sequence[str]) -> dict[str, object]:
    """Return what the command reads from the words after `nncache`.

    Raises:
        click.ClickException: it does not take them.
        KeyError: there is no such command.
    """
    command: click.Command = nncache
    rest = list(words)
    while isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    return dict(command.make_context("typed", rest).params)
