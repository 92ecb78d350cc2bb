"""`nncache purge`: make a proxy forget a path, a subtree or everything that a filter may match."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from nncache.commands.admin_client import admin_port
from nncache.commands.options import with_settings
from nncache.logs import one_line
from nncache.settings.commands import PURGE


def with_what(command: Callable[..., None]) -> Callable[..., None]:
    """Add the click parameters that say what to purge."""
    for parameter in (
        click.option(
            "--filter",
            "filter_",
            metavar="NAME|GLOB",
            help="Forget all that this filter may match, instead of a PATH: everything from its first wildcard down.",
        ),
        click.option(
            "--subtree",
            is_flag=True,
            help="Also forget everything below PATH, and the callers' rights there.",
        ),
        click.argument("path", required=False),
    ):
        command = parameter(command)
    return command


def target_of(path: str | None, filter_: str | None, *, subtree: bool) -> str:
    """Return the target of the POST request. Raises click.UsageError."""
    if (path is None) == (filter_ is None):
        raise click.UsageError("give a PATH or --filter NAME|GLOB, one of the two")
    if subtree and path is None:
        raise click.UsageError(
            "--subtree goes with a PATH: a filter is purged from its first wildcard down anyway"
        )
    wanted = (
        {"filter": filter_} if path is None else {"path": path} | ({"subtree": "true"} if subtree else {})
    )
    return "/purge?" + urlencode(wanted, errors="surrogateescape")


@with_settings(PURGE.keys.values())
@click.command()
@with_what
@click.option("--json", "as_json", is_flag=True, help="Print the answer unchanged.")
def purge(
    path: str | None,
    filter_: str | None,
    *,
    subtree: bool,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Make a running proxy forget PATH, so that the next read asks the NameNode. Safe for all callers."""
    answer = admin_port(PURGE, config, flags).ask(target_of(path, filter_, subtree=subtree), "POST")
    click.echo(json.dumps(answer, indent=2) if as_json else "\n".join(readable(answer)))


def readable(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield an answer as lines for people."""
    for each in answer["purged"]:
        what = each["path"] + (" and everything below" if each["is_subtree"] else "")
        yield one_line(f"forgotten: {what}" if each["was_held"] else f"nothing was cached: {what}")
