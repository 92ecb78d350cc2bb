"""What programs in Python come in by: settings, a session with ZooKeeper, an event loop for callers that have none."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Generic, TypeVar

from nncache.clock import boottime
from nncache.coordination.sasl import login_of
from nncache.coordination.session import Session
from nncache.coordination.settings import ZooKeeperSettings
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.net.setting_error import SettingError
from nncache.settings.commands import load_settings
from nncache.settings.forms import Form, SettingsT

_T = TypeVar("_T")


def settings_of(form: Form[SettingsT], config: Path | str | None, settings: dict[str, object]) -> SettingsT:
    """Return the settings of a command that a program gives, over those of a file; None is not given.

    Raises:
        ConfigurationError: a setting is missing or wrong; it says which, and what is allowed.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    if unknown := sorted(given.keys() - form.keys):
        raise ConfigurationError(
            f"{', '.join(unknown)}: no setting of `nncache {form.command}` (docs/settings.md)"
        )
    if isinstance(servers := given.get("zookeeper"), str):
        given["zookeeper"] = tuple(servers.split(","))
    return load_settings(form, None if config is None else Path(config), given)


def session_of(zookeeper: ZooKeeperSettings, kerberos: KerberosSettings, *, log_name: str) -> Session:
    """Return a session with ZooKeeper that is not entered yet.

    Raises:
        ConfigurationError: the login cannot be made.
    """
    try:
        login = login_of(zookeeper, identity_of(kerberos, boottime))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    return Session(zookeeper, boottime, log_name=log_name, login=login)


class Portal:
    """An event loop in a thread of its own, which runs coroutines for callers that block."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def wait_for(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return its result; whatever interrupts the caller, such as Ctrl-C, cancels it."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Begin it; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End what is still under way, the loop and its thread."""
        self.wait_for(_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Entered(Generic[_T]):
    """Keeps an asynchronous context entered for a caller that blocks; gives its portal, and what entering returned.

    It is no generator: one that a program never leaves would wait, when it is collected, for a thread that may be gone.
    """

    def __init__(self, name: str, context: AbstractAsyncContextManager[_T]) -> None:
        self._portal = Portal(name)
        self._context = context

    def __enter__(self) -> tuple[Portal, _T]:
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
    """Cancel the other tasks, and close generators that were not read to their end, as asyncio.Runner does."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
