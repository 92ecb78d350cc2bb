"""Change and show the filters in HDFS, for a command line."""

import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import click
from rich.console import Console

from nncache.clock import unix_time
from nncache.commands.filters_store import bar, on_store
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
from nncache.errors import ConfigurationError
from nncache.hadoop.glob_syntax import pitfall
from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.admission import no_room, over_quota, refused_changes, too_general
from nncache.invalidation.filters.definition import Filter, filter_as_json
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.logs import one_line
from nncache.settings.commands import SettingsOfFilters

_ResultT = TypeVar("_ResultT")


class FiltersClient:
    """The filters of one directory of HDFS, as one user; each method ends in words on the terminal.

    Raises:
        ConfigurationError: what was asked for makes no sense; nothing was touched.
        FiltersError: HDFS did not do it; the line says why, and who may.
    """

    def __init__(self, settings: SettingsOfFilters) -> None:
        self._settings = settings

    def add(
        self, name: str, glob: str, owner: str | None, allowed: Sequence[str], *, is_meant: bool = False
    ) -> None:
        """Add a filter; without an owner it belongs to the user who adds it.

        A glob that matches less than it seems to is refused unless it `is_meant`.
        """
        try:
            new = Filter(name, glob, owner or self._settings.namenodes.user, tuple(allowed))
        except FilterError as error:
            raise ConfigurationError(one_line(str(error))) from error
        _see_meant(new.path_glob, is_meant=is_meant)

        async def carry_out(store: FilterStore) -> None:
            names = await store.list()
            if name not in names:  # otherwise that is what is wrong
                await self._see_admitted(store, None, new, len(names))
            await store.add(new)
            await store.sweep(unix_time())

        self._on_store(carry_out)
        who = ", ".join(new.allowed_subscribers) or "none yet"
        _say(f"added filter {name} for {glob}, which belongs to {new.owner}; who may subscribe: {who}")

    def list(self, *, as_json: bool) -> None:
        """Show all filters, and on standard error definitions that are not valid."""

        async def read(store: FilterStore) -> StoredFilters:
            with bar("reading filters") as progress:
                return await store.read_all(progress)

        stored = self._on_store(read)
        refused = refused_changes({}, stored.filters, self._settings.filters)
        if as_json:
            click.echo(all_as_json(stored, refused))
        elif sys.stdout.isatty():
            Console(highlight=False).print(table(stored))
        else:
            click.echo("\n".join(columns(stored)))
        _complain(complaints(stored, refused))
        if not (stored.filters or stored.broken):
            _complain([f"there are no filters in {self._settings.filters.filters_path}"])

    def show(self, name: str, *, as_json: bool) -> None:
        """Show one filter."""
        stored = self._on_store(lambda store: store.get(name))
        lines = [json.dumps(filter_as_json(stored.filter), indent=2)] if as_json else details(stored)
        click.echo("\n".join(lines))
        if stored.distrust is not None:
            _complain([untrusted([name], stored.distrust)])
        _complain(odd_subscribers(name, stored.odd_subscribers))

    def modify(self, name: str, *, glob: str | None, owner: str | None, is_meant: bool = False) -> None:
        """Give a filter another glob, another owner, or both; for `is_meant` see `add`."""
        if glob is None and owner is None:
            raise ConfigurationError("nothing to modify: give --glob, --owner or both")
        if glob is not None:
            _see_meant(glob, is_meant=is_meant)

        async def carry_out(store: FilterStore) -> tuple[Filter, Filter]:
            before = (await store.get(name)).filter
            after = replace(before, path_glob=glob or before.path_glob, owner=owner or before.owner)
            await self._see_admitted(store, before, after, 0)
            await store.change(before, after)
            return before, after

        before, after = self._on_store(carry_out)
        if before == after:
            _say(f"filter {name} is so already")
            return
        _say(f"modified filter {name}: {'; '.join(differences(before, after))}")

    def remove(self, name: str) -> None:
        """Remove a filter."""

        async def carry_out(store: FilterStore) -> None:
            await store.remove(name)
            await store.sweep(unix_time())

        self._on_store(carry_out)
        _say(f"removed filter {name}")

    def allow(self, name: str, users: Sequence[str]) -> None:
        """Let users subscribe."""
        changed = self._on_store(lambda store: store.allow(name, users))
        for user in sorted(set(users)):
            _say(f"filter {name}: {user} may subscribe" + ("" if user in changed else " already"))

    def deny(self, name: str, users: Sequence[str]) -> None:
        """Let users subscribe no longer."""
        changed = self._on_store(lambda store: store.deny(name, users))
        for user in sorted(set(users)):
            _say(
                f"filter {name}: {user} "
                + ("may subscribe no longer" if user in changed else "was not allowed")
            )

    async def _see_admitted(
        self, store: FilterStore, before: Filter | None, after: Filter, filters: int
    ) -> None:
        """See that a filter is within the limits, beside so many if it is new, before anything is written.

        Raises:
            FilterError: it is not.
        """
        limits = self._settings.filters
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

    def _on_store(self, act: Callable[[FilterStore], Awaitable[_ResultT]]) -> _ResultT:
        return on_store(self._settings, act)


def _see_meant(glob: str, *, is_meant: bool) -> None:
    """Name what a glob matches less than it seems to.

    Raises:
        ConfigurationError: it does, and was not meant.
    """
    if trouble := pitfall(glob):
        if not is_meant:
            raise ConfigurationError(one_line(f"{trouble}; nothing was changed: --yes takes it all the same"))
        _complain([one_line(trouble)])


def _say(line: str) -> None:
    click.echo(one_line(line))


def _complain(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
