"""`nncache registry reaper`: delete the records of YARN applications, attempts and containers that have ended."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import click
from yarl import URL

from nncache.clock import boottime
from nncache.commands import registry_view
from nncache.commands.registry_client import in_registry, with_registry
from nncache.daemons.daemon import Signals, run_until_signal
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.net.setting_error import SettingError
from nncache.net.tls_client import client_context
from nncache.registry.errors import RegistryError
from nncache.registry.operations import Registry
from nncache.registry.purge_plan import KeptEntry
from nncache.registry.reaping import Reaping, reap
from nncache.registry.resource_manager import TIMEOUT_S, ResourceManagers
from nncache.settings.commands import SettingsOfReaper


class Reaper:
    """Deletes records of one registry by the states in one YARN cluster."""

    def __init__(self, settings: SettingsOfReaper, top: str, *, as_json: bool) -> None:
        """Prepare to check the entries at and below `top`.

        Raises:
            ConfigurationError: the certificate authorities or the Kerberos identity cannot be used.
        """
        self._settings = settings
        self._top = top
        self._as_json = as_json
        self._kept: Sequence[KeptEntry] = ()  # the kept entries of the last run
        try:
            self._tls: ssl.SSLContext | None = client_context("yarn_ca", settings.reaper.yarn_ca)
            self._identity = identity_of(settings.kerberos, boottime)
        except SettingError as error:
            raise ConfigurationError(str(error)) from error

    def run(self, *, delete: bool, every_s: float | None) -> None:
        """Check once, or every `every_s` seconds until SIGTERM or SIGINT.

        Raises:
            RegistryCommandError: ZooKeeper does not answer, no ResourceManager answers, or the registry refuses; with
                `every_s` only if the first connection fails.
            ConfigurationError: the login at ZooKeeper cannot be set up.
        """

        async def once(registry: Registry) -> None:
            async with self._managers() as managers:
                await self._look(registry, managers, delete=delete)

        if every_s is None:
            with_registry(self._settings, once)
            return

        async def again(registry: Registry) -> None:
            async with self._managers() as managers:
                while True:
                    try:
                        await self._look(registry, managers, delete=delete)
                    except RegistryError as error:
                        click.echo(f"nothing more is deleted this time: {error}", err=True)
                    await asyncio.sleep(every_s)

        async def serve(signals: Signals) -> None:
            await _until(signals.stop, in_registry(self._settings, again))

        run_until_signal(serve, "nothing more is deleted")

    @asynccontextmanager
    async def _managers(self) -> AsyncIterator[ResourceManagers]:
        """Yield the ResourceManagers on one HTTP session, which logs in once if they ask for Kerberos."""
        reaper = self._settings.reaper
        addresses = [URL(url).authority for url in reaper.yarn_rm]
        logins = () if self._identity is None else (WebLogin(self._identity, addresses, timeout_s=TIMEOUT_S),)
        async with aiohttp.ClientSession(middlewares=logins, cookie_jar=aiohttp.DummyCookieJar()) as http:
            yield ResourceManagers(http, reaper.yarn_rm, user=reaper.yarn_user, tls=self._tls)

    async def _look(self, registry: Registry, managers: ResourceManagers, *, delete: bool) -> None:
        found = await reap(registry, managers, self._top, self._settings.reaper.terms, delete=delete)
        self._print(found, is_done=delete)

    def _print(self, reaping: Reaping, *, is_done: bool) -> None:
        """Print the entries to delete, and the kept entries that the last run did not print."""
        if self._as_json:
            click.echo(registry_view.reaping_as_json(reaping, is_done=is_done))
            return
        for line in registry_view.gone(reaping, is_done=is_done):
            click.echo(line)
        before, self._kept = self._kept, reaping.kept
        for line in registry_view.kept(each for each in reaping.kept if each not in before):
            click.echo(line, err=True)


async def _until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Run work that only an error ends, until the event is set."""
    try:
        async with asyncio.TaskGroup() as tasks:
            doing = tasks.create_task(work)
            await stop.wait()
            doing.cancel()
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
