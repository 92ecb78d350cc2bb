"""`nncache filters apply`, `diff` and `export`: files that define all filters."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from nncache.clock import unix_time
from nncache.commands.filters_store import (
    TIMEOUT_S,
    bar,
    complain,
    filter_settings,
    on_hdfs,
    on_store,
    read_all,
)
from nncache.commands.filters_view import (
    complaints,
    fault_lines,
    plan_as_json,
    plan_lines,
    remarks,
    summary,
)
from nncache.commands.options import with_json, with_settings
from nncache.errors import ConfigurationError, FiltersError, NotComparedError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.file_plan import FilePlan, plan_file
from nncache.invalidation.filters.filter_file import (
    BadFilterFileError,
    FileEntry,
    encode_filters,
    parse_filters,
)
from nncache.invalidation.filters.hdfs_bulk import Done, carry_out
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.quick_hdfs import quick
from nncache.net.some_names import some_names
from nncache.settings.commands import FILTERS, SettingsOfFilters

STANDARD: Final = "-"
"""The file name for standard input or standard output."""

_with_surroundings = with_settings(FILTERS.keys.values())
_with_file = click.argument("file")
_with_prune = click.option("--prune", is_flag=True, help="Also remove filters that are not in FILE.")


@_with_surroundings
@click.command("apply")
@_with_file
@_with_prune
@click.option("--dry-run", is_flag=True, help="Only print the changes, as diff does.")
@click.option(
    "--yes", is_flag=True, help="Accept a glob that matches less than it seems to, such as /user/**."
)
@with_json
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
    """Apply the filters of a file.

    The whole file is checked before any filter changes. Fields that an entry omits (owner, subscribers) do not change.
    After an interruption, or an error of HDFS, apply the file again: completed changes stay. Only administrators of
    HDFS may do this.
    """
    settings = filter_settings(config, flags)
    if dry_run:
        _differs(settings, file, prune=prune, as_json=as_json)
        return
    entries = read_file(file)
    done, plan = Done(), FilePlan(broken={})

    async def act(hdfs: WebHdfs, identity: KerberosIdentity | None) -> None:
        nonlocal plan
        path, user = settings.filters.filters_path, settings.namenodes.user
        own_user = settings.kerberos.acts_as(user)
        plan = await _plan(settings, FilterStore(hdfs, path, own_user=own_user), entries, prune=prune)
        if plan.is_empty or plan.refused or (plan.pitfalls and not yes):
            return
        async with quick(hdfs, user, timeout_s=TIMEOUT_S, identity=identity) as changing:
            with bar("applying filters") as progress:
                await carry_out(plan, FilterStore(changing, path), done, progress)
            await FilterStore(changing, path).sweep(unix_time())

    try:
        on_hdfs(settings, act)
    except (FiltersError, KeyboardInterrupt) as error:
        _print_done(plan, done, as_json=as_json)
        reason = str(error) if isinstance(error, FiltersError) else "interrupted"
        raise FiltersError(f"{reason}; what was done stays: apply the file again to go on") from error
    _print_done(plan, done, as_json=as_json)
    if plan.refused:
        raise FiltersError(f"refused, so nothing was changed: {some_names(tuple(plan.refused))}")
    if plan.pitfalls and not yes:
        raise ConfigurationError("nothing was changed: --yes takes such globs all the same")
    if plan.broken:
        raise FiltersError(f"filters that are broken, and were left alone: {', '.join(plan.broken)}")


@_with_surroundings
@click.command()
@_with_file
@_with_prune
@with_json
def diff(file: str, *, prune: bool, as_json: bool, config: Path | None, **flags: object) -> None:
    """Print the changes that applying a file would make.

    Lines begin with + for an added filter, ~ for a changed one, - for a removed one. The exit code is as in diff(1): 0
    for no difference, 1 for some, 2 if the file could not be compared.
    """
    try:
        is_different = _differs(filter_settings(config, flags), file, prune=prune, as_json=as_json)
    except FiltersError as error:
        raise NotComparedError(str(error)) from error
    if is_different:
        sys.exit(1)


@_with_surroundings
@click.command()
@click.argument("file", default="-")
def export(file: str, config: Path | None, **flags: object) -> None:
    """Write all filters to a file.

    `apply` and `diff` read the file. It is sorted, so that it can be kept in git. Without FILE, or with -, it is
    written to standard output.
    """
    stored = on_store(filter_settings(config, flags), read_all)
    try:  # an existing file is replaced atomically
        with click.open_file(file, "w", encoding="utf-8", atomic=file != STANDARD) as written:
            written.write(encode_filters(stored.filters.values()))
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from error
    complain(complaints(stored))
    if stored.broken:
        raise FiltersError(f"filters that are broken are not in the file: {', '.join(stored.broken)}")


def _differs(settings: SettingsOfFilters, file: str, *, prune: bool, as_json: bool) -> bool:
    """Print the changes that `apply` would make. Return whether there are any."""
    entries = read_file(file)
    plan = on_store(settings, lambda store: _plan(settings, store, entries, prune=prune))
    if as_json:
        click.echo(json.dumps(plan_as_json(plan), indent=2))
        return not plan.is_empty
    for line in plan_lines(plan):
        click.echo(line)
    complain(remarks(plan))
    return not plan.is_empty


async def _plan(
    settings: SettingsOfFilters, store: FilterStore, entries: Iterable[FileEntry], *, prune: bool
) -> FilePlan:
    stored = await read_all(store)
    user = settings.namenodes.user
    return plan_file(entries, stored, user=user, prune=prune, limits=settings.filters)


def read_file(file: str) -> tuple[FileEntry, ...]:
    """Return the entries of a file or of standard input. Print all its errors.

    Raises:
        ConfigurationError: the file cannot be read, or has errors.
    """
    name = "standard input" if file == STANDARD else file
    try:
        data = sys.stdin.buffer.read() if file == STANDARD else Path(file).read_bytes()
        return parse_filters(data.decode("utf-8-sig"))  # Windows editors put a BOM before it
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name}: is not UTF-8: {error.reason} at byte {error.start}") from error
    except BadFilterFileError as error:
        complain(fault_lines(name, error))
        count = len(error.faults)
        raise ConfigurationError(f"{name}: {count} error{'s' * (count > 1)}: nothing was changed") from error


def _print_done(plan: FilePlan, done: Done, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plan_as_json(plan, done), indent=2))
        return
    click.echo(summary(done, plan.unchanged))
    complain(remarks(plan))
