"""Apply, compare and write files of filters, for a command line."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from nncache.clock import unix_time
from nncache.commands.filters_store import TIMEOUT_S, bar, on_hdfs, on_store
from nncache.commands.filters_view import (
    complaints,
    fault_lines,
    plan_as_json,
    plan_lines,
    remarks,
    summary,
)
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.webhdfs import WebHdfs
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
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.net.some_names import some_names
from nncache.settings.commands import SettingsOfFilters

STANDARD: Final = "-"
"""Standard input, or standard output."""


class FilterFiles:
    """Files that say which filters there should be, for one directory of HDFS, as one user.

    Raises:
        ConfigurationError: the file can't be read or does not say it; all that is wrong was printed.
        FiltersError: HDFS did not do it, or not all of it.
    """

    def __init__(self, settings: SettingsOfFilters) -> None:
        self._settings = settings

    def diff(self, file: str, *, prune: bool, as_json: bool) -> bool:
        """Print what `apply` would do; tell whether that is anything."""
        entries = read_file(file)
        plan = on_store(self._settings, lambda store: self._plan(store, entries, prune=prune))
        _print_plan(plan, as_json=as_json)
        return not plan.is_empty

    def apply(self, file: str, *, prune: bool, as_json: bool, is_meant: bool = False) -> None:
        """Make the filters in HDFS those of the file, and print what was done.

        Globs that match less than they seem to are taken only if that `is_meant`.
        """
        entries = read_file(file)
        done, plan = Done(), FilePlan(broken={})

        async def act(hdfs: WebHdfs, identity: KerberosIdentity | None) -> None:
            nonlocal plan
            path, user = self._settings.filters.filters_path, self._settings.namenodes.user
            own_user = self._settings.kerberos.acts_as(user)
            plan = await self._plan(FilterStore(hdfs, path, own_user=own_user), entries, prune=prune)
            if plan.is_empty or plan.refused or (plan.pitfalls and not is_meant):
                return
            async with quick(hdfs, user, timeout_s=TIMEOUT_S, identity=identity) as changing:
                with bar("applying filters") as progress:
                    await carry_out(plan, FilterStore(changing, path), done, progress)
                await FilterStore(changing, path).sweep(unix_time())

        try:
            on_hdfs(self._settings, act)
        except (FiltersError, KeyboardInterrupt) as error:
            _print_done(plan, done, as_json=as_json)
            reason = str(error) if isinstance(error, FiltersError) else "interrupted"
            raise FiltersError(f"{reason}; what was done stays: apply the file again to go on") from error
        _print_done(plan, done, as_json=as_json)
        if plan.refused:
            raise FiltersError(f"refused, so nothing was changed: {some_names(tuple(plan.refused))}")
        if plan.pitfalls and not is_meant:
            raise ConfigurationError("nothing was changed: --yes takes such globs all the same")
        if plan.broken:
            raise FiltersError(f"filters that are broken, and were left alone: {', '.join(plan.broken)}")

    def export(self, file: str) -> None:
        """Write all filters as a file that `apply` reads; a file that is there is replaced as a whole."""
        stored = on_store(self._settings, _read_all)
        try:
            with click.open_file(file, "w", encoding="utf-8", atomic=file != STANDARD) as written:
                written.write(encode_filters(stored.filters.values()))
        except OSError as error:
            raise ConfigurationError(f"{file}: {error.strerror or error}") from error
        _complain(complaints(stored))
        if stored.broken:
            raise FiltersError(f"filters that are broken are not in the file: {', '.join(stored.broken)}")

    async def _plan(self, store: FilterStore, entries: Iterable[FileEntry], *, prune: bool) -> FilePlan:
        stored = await _read_all(store)
        limits = self._settings.filters
        return plan_file(entries, stored, user=self._settings.namenodes.user, prune=prune, limits=limits)


def read_file(file: str) -> tuple[FileEntry, ...]:
    """Return what a file, or standard input, says; prints all that is wrong with it.

    Raises:
        ConfigurationError: something is.
    """
    name = "standard input" if file == STANDARD else file
    try:
        data = sys.stdin.buffer.read() if file == STANDARD else Path(file).read_bytes()
        return parse_filters(data.decode())
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name}: is not UTF-8: {error.reason} at byte {error.start}") from error
    except BadFilterFileError as error:
        _complain(fault_lines(name, error))
        count = len(error.faults)
        raise ConfigurationError(f"{name}: {count} error{'s' * (count > 1)}: nothing was changed") from error


async def _read_all(store: FilterStore) -> StoredFilters:
    with bar("reading filters") as progress:
        return await store.read_all(progress)


def _print_plan(plan: FilePlan, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plan_as_json(plan), indent=2))
        return
    for line in plan_lines(plan):
        click.echo(line)
    _complain(remarks(plan))


def _print_done(plan: FilePlan, done: Done, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plan_as_json(plan, done), indent=2))
        return
    click.echo(summary(done, plan.unchanged))
    _complain(remarks(plan))


def _complain(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
