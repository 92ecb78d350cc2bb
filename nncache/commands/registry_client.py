"""Access a registry for one command, and translate its errors for the terminal."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from typing import Any

import click
import uvloop

from nncache.client.registering import OpenRegistry
from nncache.coordination.errors import ConnectionLostError, CoordinationError
from nncache.errors import RegistryCommandError
from nncache.logs import one_line, show_errors
from nncache.registry import paths
from nncache.registry.errors import PathNotFoundError, RegistryError, RegistryIOError
from nncache.registry.operations import Registry
from nncache.settings.commands import SettingsOfRegistry

Work = Callable[[Registry], Coroutine[Any, Any, None]]


def with_registry(settings: SettingsOfRegistry, work: Work) -> None:
    """Connect to the registry that the settings name, and run `work` with it.

    Raises:
        RegistryCommandError: ZooKeeper does not answer, or the registry refuses.
        ConfigurationError: the login at ZooKeeper cannot be set up.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(in_registry(settings, work))


async def in_registry(settings: SettingsOfRegistry, work: Work) -> None:
    """Do the same in a running event loop. Raises as `with_registry`."""
    show_errors()  # the raised error names the fault
    async with AsyncExitStack() as opened:
        try:
            registry = await opened.enter_async_context(OpenRegistry(settings))
        except RegistryIOError as error:
            raise RegistryCommandError(error.what) from error
        try:
            try:
                await work(registry)
            except PathNotFoundError as error:
                await check_root(registry, error)
                raise
        except ConnectionLostError as error:
            servers = ", ".join(settings.zookeeper.zookeeper)
            raise RegistryCommandError(f"ZooKeeper {servers} does not answer: {error}") from error
        except (RegistryError, CoordinationError) as error:
            raise RegistryCommandError(str(error)) from error


async def check_root(registry: Registry, cause: PathNotFoundError | None = None) -> None:
    """Check that there is a registry.

    Raises:
        RegistryCommandError: there is no registry at its root.
    """
    if not await registry.exists(paths.ROOT):
        raise RegistryCommandError(
            f"there is no registry at {registry.root} in ZooKeeper: correct registry_root (hadoop.registry.zk.root), "
            "or make one: nncache registry mknode --parents /services"
        ) from cause


def complain(lines: Iterable[str]) -> None:
    """Print lines on standard error, with control characters escaped: other clients write the registry."""
    for line in lines:
        click.echo(one_line(line), err=True)
