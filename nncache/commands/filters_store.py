"""Access the filters in HDFS for one command, and translate its errors for the terminal."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import aiohttp
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from nncache.clock import boottime
from nncache.commands.options import given
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.errors import FilterError, FilterStoreError
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.logs import one_line
from nncache.net.setting_error import SettingError
from nncache.settings.commands import FILTERS, SettingsOfFilters, load_settings

PATIENCE_S: Final = 0.5
"""Seconds after which a progress bar is shown."""


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal if the work takes long. Yields a function of the done and the total number."""
    console = Console(stderr=True)
    began = time.monotonic()
    shown = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True
    )
    task = shown.add_task(what)
    is_started = False

    def tell(done: int, of: int) -> None:
        nonlocal is_started
        if not is_started and console.is_terminal and time.monotonic() - began > PATIENCE_S:
            shown.start()
            is_started = True
        shown.update(task, completed=done, total=of)

    try:
        yield tell
    finally:
        if is_started:
            shown.stop()


TIMEOUT_S: Final = 15.0
"""Timeout in seconds of one call to HDFS."""


def filter_settings(config: Path | None, flags: dict[str, object]) -> SettingsOfFilters:
    """Return the settings of a command. `flags` are its options for settings."""
    return load_settings(FILTERS, config, given(flags))


async def read_all(store: FilterStore) -> StoredFilters:
    """Return all filters, and show the progress of reading them."""
    with bar("reading filters") as progress:
        return await store.read_all(progress)


def complain(lines: Iterable[str]) -> None:
    """Print lines on standard error."""
    for line in lines:
        click.echo(line, err=True)


_ResultT = TypeVar("_ResultT")


def on_store(settings: SettingsOfFilters, act: Callable[[FilterStore], Awaitable[_ResultT]]) -> _ResultT:
    """Return the result of `act`, called with the filters. Raises as `on_hdfs`."""
    path, own_user = settings.filters.filters_path, settings.kerberos.acts_as(settings.namenodes.user)
    return on_hdfs(settings, lambda hdfs, _: act(FilterStore(hdfs, path, own_user=own_user)))


def on_hdfs(
    settings: SettingsOfFilters, act: Callable[[WebHdfs, KerberosIdentity | None], Awaitable[_ResultT]]
) -> _ResultT:
    """Return the result of `act`, called with a client of HDFS and its Kerberos identity, if there is one.

    Raises:
        ConfigurationError: the request is invalid; nothing was changed.
        FiltersError: HDFS did not carry out the request. The line gives the reason, and the users who may.
    """
    namenodes = settings.namenodes

    async def carry_out(identity: KerberosIdentity | None, web: NameNodeWeb) -> _ResultT:
        first, *others = map(web.url, namenodes.namenode_http)
        async with WebHdfs(
            first,
            namenodes.user,
            others=others,
            timeout_s=TIMEOUT_S,
            keeps_connections=True,
            identity=identity,
            web=web,
        ) as hdfs:
            return await act(hdfs, identity)

    try:
        return asyncio.run(
            carry_out(identity_of(settings.kerberos, boottime), NameNodeWeb(settings.namenode_tls))
        )
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    except FilterError as error:
        raise ConfigurationError(one_line(str(error))) from error
    except FilterStoreError as error:
        advice = ""
        if isinstance(error.__cause__, aiohttp.ClientError | TimeoutError | NoActiveNameNodeError):
            advice = "; --namenode-http names the NameNodes' HTTP addresses"
        raise FiltersError(one_line(str(error)) + advice) from error
