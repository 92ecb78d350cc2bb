"""Reach the filters in HDFS for one command, and say why where that fails."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import aiohttp

from nncache.clock import boottime
from nncache.errors import ConfigurationError, FiltersError
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.namenode_web import NameNodeWeb
from nncache.hadoop.webhdfs import WebHdfs
from nncache.invalidation.errors import FilterStoreError
from nncache.invalidation.filters.definition import FilterError
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.logs import one_line
from nncache.net.setting_error import SettingError
from nncache.settings.commands import SettingsOfFilters

TIMEOUT_S: Final = 15.0
"""For one call to HDFS."""

_ResultT = TypeVar("_ResultT")


def on_store(settings: SettingsOfFilters, act: Callable[[FilterStore], Awaitable[_ResultT]]) -> _ResultT:
    """Return what `act` makes of the filters; for errors see `on_hdfs`."""
    path, own_user = settings.filters.filters_path, settings.kerberos.acts_as(settings.namenodes.user)
    return on_hdfs(settings, lambda hdfs, _: act(FilterStore(hdfs, path, own_user=own_user)))


def on_hdfs(
    settings: SettingsOfFilters, act: Callable[[WebHdfs, KerberosIdentity | None], Awaitable[_ResultT]]
) -> _ResultT:
    """Return what `act` makes of HDFS; it is given the identity as which HDFS is asked, if there is one.

    Raises:
        ConfigurationError: what was asked for makes no sense; nothing was touched.
        FiltersError: HDFS did not do it; the line says why, and who may.
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
