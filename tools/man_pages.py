"""Write a man page for each command of nncache. (tools/man_pages.py)

Usage: python man_pages.py DIRECTORY VERSION.
tools/release/build.sh runs it with click-man in the environment of the release's nncache.
"""

import sys

import click
from click_man.core import write_man_pages

from nncache.commands.group import nncache

directory, version = sys.argv[1:]
for summarized, listed in list(nncache.commands.items()):  # a LazyGroup holds only names and summaries
    name, command, _ = nncache.resolve_command(click.Context(nncache), [summarized])
    assert name is not None
    assert command is not None
    command.short_help = listed.short_help
    nncache.commands[name] = command
write_man_pages("nncache", nncache, version=version, target_dir=directory)
