"""Reach the filters in HDFS for one command, and say why where that fails. (nncache/commands/filters_store.py)"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import aiohttp

from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import FilterError
from nncache.invalidation.filters.errors import FilterStoreError
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.logs import one_line
from nncache.settings.commands import SettingsOfFilters

TIMEOUT_S: Final = 15.0
"""For one call to HDFS."""

_ResultT = TypeVar("_ResultT")


def on_store(settings: SettingsOfFilters, act: Callable[[FilterStore], Awaitable[_ResultT]]) -> _ResultT:
    """Return what `act` makes of the filters; for errors see `on_hdfs`."""
    return on_hdfs(settings, lambda hdfs: act(FilterStore(hdfs, settings.filters.filters_path)))


def on_hdfs(settings: SettingsOfFilters, act: Callable[[WebHdfs], Awaitable[_ResultT]]) -> _ResultT:
    """Return what `act` makes of HDFS.

    Raises:
        ConfigurationError: what was asked for makes no sense; nothing was touched.
        FiltersError: HDFS did not do it; the line says why, and who may.
    """
    namenodes = settings.namenodes
    first, *others = (f"http://{address}" for address in namenodes.namenode_http)

    async def carry_out() -> _ResultT:
        async with WebHdfs(
            first, namenodes.user, others=others, timeout_s=TIMEOUT_S, keeps_connections=True
        ) as hdfs:
            return await act(hdfs)

    try:
        return asyncio.run(carry_out())
    except FilterError as error:
        raise ConfigurationError(one_line(str(error))) from error
    except FilterStoreError as error:
        advice = ""
        if isinstance(error.__cause__, aiohttp.ClientError | TimeoutError | NoActiveNameNodeError):
            advice = "; --namenode-http names the NameNodes' HTTP addresses"
        raise FiltersError(one_line(str(error)) + advice) from error
