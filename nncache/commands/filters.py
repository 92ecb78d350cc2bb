"""`nncache filters`: manage the filters, their owners and their subscribers.

HDFS checks the permissions: only an administrator adds and removes filters, and a filter's owner manages its
subscribers. Every command raises ConfigurationError for an invalid request, and FiltersError if HDFS did not carry it
out; the line gives the reason, and the users who may.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from nncache.clock import unix_time
from nncache.commands.filters_estimate import estimate
from nncache.commands.filters_files import apply_, diff, export
from nncache.commands.filters_store import complain, filter_settings, on_store, read_all
from nncache.commands.filters_view import (
    all_as_json,
    columns,
    complaints,
    details,
    differences,
    odd_subscribers,
    table,
    untrusted,
)
from nncache.commands.options import GlobCommand, with_json, with_settings
from nncache.errors import ConfigurationError
from nncache.hadoop.glob_syntax import pitfall
from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.admission import no_room, over_quota, refused_changes, too_general
from nncache.invalidation.filters.definition import Filter, filter_as_json
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.settings import FilterSettings
from nncache.logs import one_line
from nncache.settings.commands import FILTERS

_with_surroundings = with_settings(FILTERS.keys.values())
_with_yes = click.option(
    "--yes", is_flag=True, help="Accept a glob that matches less than it seems to, such as /user/**."
)
_with_name = click.argument("name")
_with_users = click.argument("users", metavar="USER[,USER]...", nargs=-1, required=True)


@click.group()
def filters() -> None:
    """Manage filters: which paths are cached and published, and who may subscribe to them.

    Filters are stored in HDFS. A publisher follows them, and all proxies follow the publisher.
    """


for _command in (apply_, diff, estimate, export):
    filters.add_command(_command)


@_with_surroundings
@filters.command(cls=GlobCommand)
@click.option("--name", required=True, help="Name of the filter: letters, digits and ._- only.")
@click.option("--glob", required=True, help="Paths to match, in the syntax of hdfs dfs -ls.")
@click.option(
    "--owner", metavar="USER", help="User who decides who may subscribe.  [default: that of --user]"
)
@click.option("--allow", multiple=True, metavar="USER[,USER]...", help="Users who may subscribe.")
@_with_yes
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

    Only administrators of HDFS may do this.
    """
    settings = filter_settings(config, flags)
    try:
        new = Filter(name, glob, owner or settings.namenodes.user, parts(allow))
    except FilterError as error:
        raise ConfigurationError(one_line(str(error))) from error
    _check_meant(new.path_glob, is_meant=yes)

    async def carry_out(store: FilterStore) -> None:
        names = await store.names()
        if name not in names:  # otherwise `add` refuses the name
            await _check_admitted(store, settings.filters, None, new, len(names))
        await store.add(new)
        await store.sweep(unix_time())

    on_store(settings, carry_out)
    who = ", ".join(new.allowed_subscribers) or "none yet"
    _say(f"added filter {name} for {glob}, which belongs to {new.owner}; who may subscribe: {who}")


@_with_surroundings
@filters.command("list")
@with_json
def list_(*, as_json: bool, config: Path | None, **flags: object) -> None:
    """List all filters."""
    settings = filter_settings(config, flags)
    stored = on_store(settings, read_all)
    refused = refused_changes({}, stored.filters, settings.filters)
    if as_json:
        click.echo(all_as_json(stored, refused))
    elif sys.stdout.isatty():
        Console(highlight=False).print(table(stored))
    else:
        click.echo("\n".join(columns(stored)))
    complain(complaints(stored, refused))
    if not (stored.filters or stored.broken):
        complain([f"there are no filters in {settings.filters.filters_path}"])


@_with_surroundings
@filters.command()
@_with_name
@with_json
def show(name: str, *, as_json: bool, config: Path | None, **flags: object) -> None:
    """Show one filter."""
    stored = on_store(filter_settings(config, flags), lambda store: store.get(name))
    lines = [json.dumps(filter_as_json(stored.filter), indent=2)] if as_json else details(stored)
    click.echo("\n".join(lines))
    if stored.distrust is not None:
        complain([untrusted([name], stored.distrust)])
    complain(odd_subscribers(name, stored.odd_subscribers))


@_with_surroundings
@filters.command(cls=GlobCommand)
@_with_name
@click.option("--glob", help="New glob, in the syntax of hdfs dfs -ls.")
@click.option("--owner", metavar="USER", help="New owner, who decides who may subscribe.")
@_with_yes
def modify(
    name: str, glob: str | None, owner: str | None, *, yes: bool, config: Path | None, **flags: object
) -> None:
    """Change the glob or the owner of a filter.

    Only administrators of HDFS may do this. Subscribers stay; their stream names the last transaction before a change.
    """
    settings = filter_settings(config, flags)
    if glob is None and owner is None:
        raise ConfigurationError("nothing to modify: give --glob, --owner or both")
    if glob is not None:
        _check_meant(glob, is_meant=yes)

    async def carry_out(store: FilterStore) -> tuple[Filter, Filter]:
        before = (await store.get(name)).filter
        after = replace(before, path_glob=glob or before.path_glob, owner=owner or before.owner)
        await _check_admitted(store, settings.filters, before, after, 0)
        await store.change(before, after)
        return before, after

    before, after = on_store(settings, carry_out)
    if before == after:
        _say(f"filter {name} is so already")
    else:
        _say(f"modified filter {name}: {'; '.join(differences(before, after))}")


@_with_surroundings
@filters.command()
@_with_name
def remove(name: str, config: Path | None, **flags: object) -> None:
    """Remove a filter.

    Only administrators of HDFS may do this. The streams of its subscribers end, and report the reason.
    """

    async def carry_out(store: FilterStore) -> None:
        await store.remove(name)
        await store.sweep(unix_time())

    on_store(filter_settings(config, flags), carry_out)
    _say(f"removed filter {name}")


@_with_surroundings
@filters.command()
@_with_name
@_with_users
def allow(name: str, users: tuple[str, ...], config: Path | None, **flags: object) -> None:
    """Allow users to subscribe to a filter.

    The filter's owner and administrators of HDFS may do this.
    """
    wanted = parts(users)
    changed = on_store(filter_settings(config, flags), lambda store: store.allow(name, wanted))
    for user in sorted(set(wanted)):
        _say(f"filter {name}: {user} may subscribe" + ("" if user in changed else " already"))


@_with_surroundings
@filters.command()
@_with_name
@_with_users
def deny(name: str, users: tuple[str, ...], config: Path | None, **flags: object) -> None:
    """Revoke the right of users to subscribe to a filter.

    The filter's owner and administrators of HDFS may do this.
    """
    unwanted = parts(users)
    changed = on_store(filter_settings(config, flags), lambda store: store.deny(name, unwanted))
    for user in sorted(set(unwanted)):
        _say(
            f"filter {name}: {user} " + ("may subscribe no longer" if user in changed else "was not allowed")
        )


def parts(given_at_once: tuple[str, ...]) -> tuple[str, ...]:
    """Return the users in arguments such as "a,b" "c"."""
    return tuple(user for each in given_at_once for part in each.split(",") if (user := part.strip()))


async def _check_admitted(
    store: FilterStore, limits: FilterSettings, before: Filter | None, after: Filter, filters: int
) -> None:
    """Check a filter against the limits before anything is written; `filters` is the number of existing filters.

    Raises:
        FilterError: the filter exceeds a limit.
    """
    reason = ""
    if before is None or before.path_glob != after.path_glob:
        reason = too_general(after.path_glob, limits)
    if before is None:
        reason = reason or no_room(filters, limits)
    is_owned = before is not None and before.owner == after.owner
    if not reason and limits.max_filters_per_owner and not is_owned:
        stored = await store.read_all()
        owned = sum(each.owner == after.owner for each in stored.filters.values())
        reason = over_quota(after.owner, owned, limits)
    if reason:
        raise FilterError(f"filter {after.name} is refused: {reason}")


def _check_meant(glob: str, *, is_meant: bool) -> None:
    """Warn if a glob matches less than it seems to.

    Raises:
        ConfigurationError: the glob does, and `is_meant` is false.
    """
    if trouble := pitfall(glob):
        if not is_meant:
            raise ConfigurationError(one_line(f"{trouble}; nothing was changed: --yes takes it all the same"))
        complain([one_line(trouble)])


def _say(line: str) -> None:
    click.echo(one_line(line))
