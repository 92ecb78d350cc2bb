"""The commands, as `nncache --help` lists them."""

import os
import sys

import click
from click.shell_completion import get_completion_class

from nncache.commands.advise import advise
from nncache.commands.audit import audit
from nncache.commands.check import check
from nncache.commands.daemons import dns, proxy, publisher
from nncache.commands.explain import explain
from nncache.commands.filters import filters
from nncache.commands.proxies import proxies
from nncache.commands.purge import purge
from nncache.commands.registry import registry
from nncache.commands.top import top
from nncache.commands.watch import watch
from nncache.errors import ConfigurationError, StartError
from nncache.settings.clear_secrets import in_environment, unread
from nncache.settings.commands import KEYS

PROGRAM = "nncache"
VARIABLE = "_NNCACHE_COMPLETE"
"""With it in its environment the program answers the shell's questions (click's own convention)."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion of a shell.

    For bash: nncache completion bash > ~/.local/share/bash-completion/completions/nncache. For zsh and fish see
    the page Commands of the documentation.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(context.find_root().command, {}, PROGRAM, VARIABLE).source())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="nncache")
@click.pass_context
def nncache(context: click.Context) -> None:
    """A WebHDFS proxy that answers GETFILESTATUS from memory and is invalidated by HDFS inotify."""
    if faults := in_environment(os.environ, KEYS):
        raise ConfigurationError(*faults)
    if context.invoked_subcommand != check.name:  # which has a line for it
        for line in unread(os.environ, {*KEYS, "config"}):
            click.echo(f"nncache: warning: {line}", err=True)


nncache.add_command(proxy)
nncache.add_command(publisher)
nncache.add_command(check)
nncache.add_command(explain)
nncache.add_command(purge)
nncache.add_command(audit)
nncache.add_command(advise)
nncache.add_command(top)
nncache.add_command(filters)
nncache.add_command(watch)
nncache.add_command(registry)
nncache.add_command(proxies)
nncache.add_command(dns)
nncache.add_command(completion)


@nncache.command(
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    short_help="Start HDFS on this machine, for development: a real one, or --light without Java.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cluster(arguments: tuple[str, ...]) -> None:
    """Start HDFS on this machine for development; prints its addresses as JSON.

    A real cluster, which needs a checkout; or, with --light, one process without Java (docs/light-cluster.md), which
    takes --port PORT and --directory DIRECTORY.
    """
    try:
        from nncache.testbed.command import run_cluster  # noqa: PLC0415 - a proxy must start where no test bed is
    except ModuleNotFoundError as exc:
        if exc.name != "nncache.testbed":
            raise
        raise StartError(
            "the test bed is part of a checkout, not of an installed nncache: "
            "clone the repository and run `make .venv/.secured && .venv/bin/nncache cluster` in it, "
            "or run `nncache cluster --light`, which needs neither a checkout nor Java"
        ) from exc
    sys.exit(run_cluster(list(arguments)))
