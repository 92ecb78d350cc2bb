"""The commands, as `nncache --help` lists them."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click
from click.shell_completion import get_completion_class

from nncache.errors import ConfigurationError
from nncache.settings.clear_secrets import in_environment, unread
from nncache.settings.keys import ENVIRONMENT

PROGRAM: Final = "nncache"
VARIABLE: Final = "_NNCACHE_COMPLETE"
"""If this variable is set, the program prints completions for the shell (click's convention)."""

_MODULES: Final = {
    "datanode": "namenode",
    "fsck": "namenode",
    "dns": "daemons",
    "proxy": "daemons",
    "publisher": "daemons",
}
"""The modules of the commands that are not in the module of their name."""

_SUMMARIES: Final[Mapping[str, str]] = {
    "advise": "Read audit logs: what would nncache save, and with which filters?",
    "audit": "Compare answers from memory with the NameNode's own.",
    "check": "Try a daemon's settings, before its start or beside it.",
    "cluster": "Start HDFS on this machine, for development: a real one, or --light without Java.",
    "datanode": "Keep blocks of a namespace in ZooKeeper.",
    "dns": "Serve the service registry as DNS.",
    "explain": "Say why PATH is or is not answered from memory.",
    "filters": "Say which paths matter, and to whom.",
    "fleet": "Ask all registered proxies at once, or have them forget PATH.",
    "fsck": "Audit a namespace in ZooKeeper.",
    "namenode": "Serve a namespace in ZooKeeper, one of any number of NameNodes.",
    "proxies": "List the registered proxies and publishers.",
    "proxy": "Serve WebHDFS in front of a NameNode until SIGTERM or SIGINT.",
    "publisher": "Publish changes of filtered paths in ZooKeeper.",
    "purge": "Have a running proxy forget PATH.",
    "registry": "Find services by name, and register them.",
    "top": "Show a running proxy's hottest paths and callers.",
    "watch": "Print what happens to the paths of FILTER.",
}


class LazyGroup(click.Group):
    """A group that imports a command when it runs. No command loads another's libraries, and `--help` loads none.

    Source: click's manual, "Lazily Loading Subcommands".
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command, the command itself, and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in _SUMMARIES:
            command = getattr(import_module(f"nncache.commands.{_MODULES.get(name, name)}"), name)
        return name, command, rest


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="nncache")
@click.pass_context
def nncache(context: click.Context) -> None:
    """A WebHDFS proxy that answers GETFILESTATUS from memory and is invalidated by HDFS inotify."""
    variables = [name for name in os.environ if name.startswith(ENVIRONMENT)]
    if not variables:
        return
    from nncache.settings.commands import KEYS  # noqa: PLC0415 - most starts need not know the keys of all commands

    if faults := in_environment(variables, KEYS):
        raise ConfigurationError(*faults)
    if context.invoked_subcommand != "check":  # which reports them itself
        for line in unread(variables, {*KEYS, "config"}):
            click.echo(f"nncache: warning: {line}", err=True)


for _name, _summary in _SUMMARIES.items():
    nncache.add_command(click.Command(_name, short_help=_summary))


@nncache.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    For bash: nncache completion bash > ~/.local/share/bash-completion/completions/nncache. For zsh and fish see
    the page Commands of the documentation.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source())
