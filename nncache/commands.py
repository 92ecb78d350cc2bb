"""The commands, as `nncache --help` lists them. (nncache/commands.py)"""

import sys

import click

from nncache.explain_command import explain
from nncache.filters_command import filters
from nncache.proxy_command import proxy
from nncache.publisher_command import publisher
from nncache.watch_command import watch


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="nncache")
def nncache() -> None:
    """A WebHDFS proxy that answers GETFILESTATUS from memory and is invalidated by HDFS inotify."""


nncache.add_command(proxy)
nncache.add_command(publisher)
nncache.add_command(explain)
nncache.add_command(filters)
nncache.add_command(watch)


@nncache.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def cluster(arguments: tuple[str, ...]) -> None:
    """Start a real HDFS on this machine for development; prints its addresses as JSON."""
    from testbed.command import run_cluster  # noqa: PLC0415 - a proxy must start where no test bed is

    sys.exit(run_cluster(list(arguments)))
