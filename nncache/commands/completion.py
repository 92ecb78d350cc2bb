"""`nncache completion SHELL`: print what makes a shell complete the commands."""

import click
from click.shell_completion import get_completion_class

PROGRAM = "nncache"
VARIABLE = "_NNCACHE_COMPLETE"
"""With it in its environment the program answers the shell's questions (click's own convention)."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion of a shell.

    For bash: nncache completion bash > ~/.local/share/bash-completion/completions/nncache. For zsh and fish see
    docs/commands.md.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source())
