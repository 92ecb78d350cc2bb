"""The parts that the Python API shares: settings, a ZooKeeper session, an event loop for callers without one."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Generic, TypeVar

from nncache.clock import boottime
from nncache.coordination.sasl import login_of
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.net.setting_error import SettingError
from nncache.settings.commands import load_settings
from nncache.settings.forms import Form, SettingsT

_T = TypeVar("_T")


def settings_of(form: Form[SettingsT], config: Path | str | None, settings: dict[str, object]) -> SettingsT:
    """Return a command's settings. `settings` take precedence over the file `config`; None means not set.

    Raises:
        ConfigurationError: a setting is unknown, missing or invalid. The message names it and the allowed values.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    if unknown := sorted(given.keys() - form.keys):
        raise ConfigurationError(
            f"{', '.join(unknown)}: no setting of `nncache {form.command}` (docs/settings.md)"
        )
    if isinstance(servers := given.get("zookeeper"), str):
        given["zookeeper"] = tuple(servers.split(","))
    return load_settings(form, None if config is None else Path(config), given)


def session_of(zookeeper: ZooKeeperSettings, kerberos: KerberosSettings, *, log_name: str) -> KazooSession:
    """Return a ZooKeeper session that is not entered yet.

    Raises:
        ConfigurationError: the login at ZooKeeper cannot be set up: no identity, or an unusable file.
    """
    try:
        login = login_of(zookeeper, identity_of(kerberos, boottime))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    return KazooSession(zookeeper, boottime, log_name=log_name, login=login)


class BlockingPortal:
    """An event loop in its own thread, which runs coroutines for blocking callers."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def wait_for(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine and return its result. An interrupt of the caller, such as Ctrl-C, cancels the coroutine."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Start a coroutine. Cancelling the returned future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel all tasks, then stop the loop and its thread."""
        self.wait_for(_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Entered(Generic[_T]):
    """An asynchronous context for a blocking caller. Entering returns the portal and the value of `__aenter__`.

    This is not a generator: an unfinished one, when collected, would wait for a thread that may no longer exist.
    """

    def __init__(self, name: str, context: AbstractAsyncContextManager[_T]) -> None:
        self._portal = BlockingPortal(name)
        self._context = context

    def __enter__(self) -> tuple[BlockingPortal, _T]:
        try:
            return self._portal, self._portal.wait_for(_begun(self._context))
        except BaseException:
            self._portal.close()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._portal.wait_for(_left(self._context))
        finally:
            self._portal.close()


async def _begun(context: AbstractAsyncContextManager[_T]) -> _T:
    return await context.__aenter__()


async def _left(context: AbstractAsyncContextManager[_T]) -> None:
    await context.__aexit__(None, None, None)


async def _ended() -> None:
    """Cancel all other tasks and close unfinished asynchronous generators, as asyncio.Runner does."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
