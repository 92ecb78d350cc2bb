"""`nncache filters`: which paths matter, and to whom.

HDFS decides who may: only an administrator adds and removes, a filter's owner says who may subscribe to it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nncache.commands.options import GlobCommand, given, with_settings
from nncache.errors import FiltersError, NotComparedError
from nncache.settings.commands import FILTERS, load_settings

if TYPE_CHECKING:
    from nncache.commands.filters_client import FiltersClient
    from nncache.commands.filters_files import FilterFiles

_with_surroundings = with_settings(FILTERS.keys.values())
_with_config = click.option(
    "--config", type=click.Path(path_type=Path), help="TOML file of settings; flags win over it."
)
_with_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_with_file = click.argument("file")
_with_prune = click.option("--prune", is_flag=True, help="Remove the filters that are not in FILE, too.")
_with_yes = click.option(
    "--yes", is_flag=True, help="Take a glob that matches less than it seems to, such as /user/**."
)
_with_name = click.argument("name")
_with_users = click.argument("users", metavar="USER[,USER]...", nargs=-1, required=True)


@click.group()
def filters() -> None:
    """Say which paths matter, and to whom.

    Filters are kept in HDFS; a publisher follows them, and all proxies follow the publisher.
    """


@_with_surroundings
@filters.command(cls=GlobCommand)
@click.option("--name", required=True, help="Its name: letters, digits and ._- only.")
@click.option("--glob", required=True, help="Which paths, in the syntax of hdfs dfs -ls.")
@click.option("--owner", metavar="USER", help="Who says who may subscribe.  [default: the --user]")
@click.option("--allow", multiple=True, metavar="USER[,USER]...", help="Who may subscribe.")
@_with_yes
@_with_config
def add(
    name: str,
    glob: str,
    owner: str | None,
    allow: tuple[str, ...],
    *,
    yes: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Add a filter.

    Only administrators of HDFS may.
    """
    _client(config, flags).add(name, glob, owner, parts(allow), is_meant=yes)


@_with_surroundings
@filters.command("list")
@_with_json
@_with_config
def list_(as_json: bool, config: Path | None, **flags: object) -> None:  # noqa: FBT001 - a flag of the command
    """List all filters."""
    _client(config, flags).list(as_json=as_json)


@_with_surroundings
@filters.command()
@_with_name
@_with_json
@_with_config
def show(name: str, as_json: bool, config: Path | None, **flags: object) -> None:  # noqa: FBT001 - as above
    """Show one filter."""
    _client(config, flags).show(name, as_json=as_json)


@_with_surroundings
@filters.command(cls=GlobCommand)
@_with_name
@click.option("--glob", help="Which paths from now on, in the syntax of hdfs dfs -ls.")
@click.option("--owner", metavar="USER", help="Who says from now on who may subscribe.")
@_with_yes
@_with_config
def modify(
    name: str, glob: str | None, owner: str | None, *, yes: bool, config: Path | None, **flags: object
) -> None:
    """Give a filter another glob or owner.

    Only administrators of HDFS may. Its subscribers stay; their stream names the transaction from which it holds.
    """
    _client(config, flags).modify(name, glob=glob, owner=owner, is_meant=yes)


@_with_surroundings
@filters.command()
@_with_name
@_with_config
def remove(name: str, config: Path | None, **flags: object) -> None:
    """Remove a filter.

    Only administrators of HDFS may. The streams of its subscribers end and say why.
    """
    _client(config, flags).remove(name)


@_with_surroundings
@filters.command()
@_with_name
@_with_users
@_with_config
def allow(name: str, users: tuple[str, ...], config: Path | None, **flags: object) -> None:
    """Let users subscribe to a filter.

    Its owner may, and administrators of HDFS.
    """
    _client(config, flags).allow(name, parts(users))


@_with_surroundings
@filters.command()
@_with_name
@_with_users
@_with_config
def deny(name: str, users: tuple[str, ...], config: Path | None, **flags: object) -> None:
    """Let users subscribe no longer.

    The filter's owner may, and administrators of HDFS.
    """
    _client(config, flags).deny(name, parts(users))


@_with_surroundings
@filters.command(cls=GlobCommand)
@click.option("--glob", required=True, help="Which paths, in the syntax of hdfs dfs -ls.")
@click.option(
    "--transactions",
    type=click.IntRange(1, 10_000_000),
    default=100_000,
    show_default=True,
    help="Of the edit log, the last so many.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    help="How long to read.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0),
    default=1000.0,
    show_default=True,
    help="The publisher's max_events_per_s_per_filter.",
)
@_with_json
@_with_config
def estimate(
    glob: str,
    *,
    transactions: int,
    max_seconds: float,
    limit: float,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Say how much a glob would match.

    Reads the NameNode's latest edits, as a publisher does, and changes nothing. Only a superuser of HDFS may.
    """
    settings = load_settings(FILTERS, config, given(dict(flags)))
    from nncache.commands.filters_estimate import estimate_filter  # noqa: PLC0415 - as below

    estimate_filter(
        settings, glob, transactions=transactions, max_s=max_seconds, limit_per_s=limit, as_json=as_json
    )


@_with_surroundings
@filters.command("apply")
@_with_file
@_with_prune
@click.option("--dry-run", is_flag=True, help="Only say what would be done, as diff does.")
@_with_yes
@_with_json
@_with_config
def apply_(
    file: str,
    *,
    prune: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    config: Path | None,
    **flags: object,
) -> None:
    """Make the filters those of a file.

    The whole file is checked before anything is changed. What an entry leaves out (owner, subscribers) stays as it is.
    After an interruption, or an error of HDFS, apply the file again: what was done stays. Only administrators of HDFS
    may.
    """
    files = _files(config, flags)
    if dry_run:
        files.diff(file, prune=prune, as_json=as_json)
    else:
        files.apply(file, prune=prune, is_meant=yes, as_json=as_json)


@_with_surroundings
@filters.command()
@_with_file
@_with_prune
@_with_json
@_with_config
def diff(file: str, *, prune: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Print what applying a file would do.

    Lines with + are added, ~ changed, - removed. The exit code is that of diff(1): 0 for no difference, 1 for some, 2
    where they could not be compared.
    """
    try:
        is_different = _files(config, flags).diff(file, prune=prune, as_json=as_json)
    except FiltersError as error:
        raise NotComparedError(str(error)) from error
    if is_different:
        sys.exit(1)


@_with_surroundings
@filters.command()
@click.argument("file", default="-")
@_with_config
def export(file: str, config: Path | None, **flags: object) -> None:
    """Write all filters as a file.

    `apply` and `diff` read it. It is sorted, so that it can be kept in git. Without FILE, or with -, it goes to
    standard output.
    """
    _files(config, flags).export(file)


def parts(given_at_once: tuple[str, ...]) -> tuple[str, ...]:
    """Return the users of "a,b" "c"."""
    return tuple(user for each in given_at_once for part in each.split(",") if (user := part.strip()))


def _files(config: Path | None, flags: Mapping[str, object]) -> "FilterFiles":
    settings = load_settings(FILTERS, config, given(dict(flags)))
    from nncache.commands.filters_files import FilterFiles  # noqa: PLC0415 - as below

    return FilterFiles(settings)


def _client(config: Path | None, flags: Mapping[str, object]) -> "FiltersClient":
    settings = load_settings(FILTERS, config, given(dict(flags)))
    from nncache.commands.filters_client import FiltersClient  # noqa: PLC0415 - --help and a wrong setting load no client

    return FiltersClient(settings)
