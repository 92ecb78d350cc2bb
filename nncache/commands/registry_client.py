"""What `nncache registry` does with a registry."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

import click
import uvloop

from nncache.clock import boottime
from nncache.commands import registry_view
from nncache.coordination.errors import ConnectionLostError, CoordinationError
from nncache.coordination.sasl import login_of
from nncache.coordination.session import Session
from nncache.errors import ConfigurationError, RegistryCommandError, RegistryNotReadError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.logs import LogSettings, set_up_logs
from nncache.net.setting_error import SettingError
from nncache.registry import paths
from nncache.registry.auditing import audit_tree
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import InvalidRecordError, NoRecordError, PathNotFoundError, RegistryError
from nncache.registry.operations import Registry
from nncache.registry.pacing import Pace
from nncache.registry.purge_plan import plan_purge
from nncache.registry.record_json import encode_record, parse_record
from nncache.registry.tree_reading import read_tree
from nncache.registry.tree_watch import TreeWatch
from nncache.settings.commands import SettingsOfRegistry

Work = Callable[[Registry, Session], Coroutine[Any, Any, None]]


class RegistryClient:
    """One registry, as the settings name it; each call connects, works and prints.

    All calls raise RegistryCommandError where ZooKeeper does not answer or the registry refuses, ConfigurationError
    where the login cannot be made.
    """

    def __init__(self, settings: SettingsOfRegistry) -> None:
        set_up_logs(LogSettings(log_level="error"))  # the error says what is wrong
        self._settings = settings

    def list(self, path: str, *, recursive: bool, as_json: bool) -> None:
        """Print the entries right below a path, or all of them."""

        async def work(registry: Registry, _: Session) -> None:
            top = paths.readable(path)
            if recursive:
                reading = await read_tree(registry, top)
                found = [entry.status for entry in reading.entries] + list(reading.bare)
                statuses = tuple(sorted(found, key=lambda status: paths.in_order(status.path)))
            else:
                names = await registry.list(top)
                statuses = await registry.stat_all([paths.below(top, name) for name in names])
            for line in registry_view.statuses(statuses, as_json=as_json):
                click.echo(line)

        self._run(work)

    def resolve(self, path: str, *, raw: bool) -> None:
        """Print a record."""

        async def work(registry: Registry, _: Session) -> None:
            record = await registry.resolve(path)
            data = encode_record(record)
            click.echo(data if raw else registry_view.indented(data))

        self._run(work)

    def mknode(self, path: str, *, parents: bool) -> None:
        """Make an entry."""

        async def work(registry: Registry, _: Session) -> None:
            await registry.mknode(path, create_parents=parents)

        self._run(work)

    def bind(self, path: str, file: Path, *, overwrite: bool, version: int | None) -> None:
        """Bind the record of a file.

        Raises:
            ConfigurationError: the file cannot be read, or holds no record.
        """
        try:
            data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
            record = parse_record(str(file), data)
        except OSError as error:
            raise ConfigurationError(f"{file}: {error.strerror}") from error
        except (NoRecordError, InvalidRecordError) as error:
            raise ConfigurationError(str(error)) from error

        async def work(registry: Registry, _: Session) -> None:
            await registry.bind(path, record, overwrite=overwrite, version=version)

        self._run(work)

    def remove(self, path: str, *, recursive: bool) -> None:
        """Remove an entry."""

        async def work(registry: Registry, _: Session) -> None:
            if not await registry.delete(path, recursive=recursive):
                await see_root(registry)

        self._run(work)

    def find(self, path: str, query: EndpointQuery, *, limit: int | None, after: str, as_json: bool) -> None:
        """Print the records with an endpoint that is searched for."""

        async def work(registry: Registry, _: Session) -> None:
            reading = await read_tree(registry, path, query, after=after, limit=limit)
            for line in registry_view.found(reading.entries, query, as_json=as_json):
                click.echo(line)
            _complain(f"{broken.path}: not searched: {broken.why}" for broken in reading.unreadable)

        self._run(work)

    def watch(self, path: str, *, as_json: bool) -> None:
        """Print what is below a path and how it changes, until SIGTERM or SIGINT."""

        async def work(registry: Registry, session: Session) -> None:
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            assert task is not None
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, task.cancel)
            await see_root(registry)
            try:
                async for change in TreeWatch(session, registry.root, path).changes():
                    click.echo(registry_view.change(change, as_json=as_json))
            except asyncio.CancelledError:
                return

        self._run(work)

    def check(self, path: str, *, as_json: bool) -> None:
        """Print what is wrong below a path.

        Raises:
            RegistryNotReadError: it could not be read.
            SystemExit: 1 if anything is wrong.
        """
        faults: dict[str, tuple[str, ...]] = {}

        async def work(registry: Registry, _: Session) -> None:
            faults.update(await audit_tree(registry, path))

        try:
            self._run(work)
        except RegistryCommandError as error:
            raise RegistryNotReadError(str(error)) from error
        if as_json:
            click.echo(json.dumps(faults))
        for line in () if as_json else registry_view.faults(faults):
            click.echo(line)
        if faults:
            sys.exit(1)

    def purge(self, path: str, yarn_id: str, policy: str, *, delete: bool) -> None:
        """Delete what goes with something of YARN that has ended, or print what would be deleted."""

        async def work(registry: Registry, _: Session) -> None:
            reading = await read_tree(registry, path)
            unreadable = [broken.path for broken in reading.unreadable]
            plan = plan_purge(reading.records, unreadable, yarn_id, policy)
            versions = {entry.path: entry.status.version for entry in reading.entries}
            for doomed in plan.delete:
                if delete:
                    await registry.delete(doomed, version=versions.get(doomed))
                click.echo(f"{'deleted' if delete else 'would delete'} {doomed}")
            _complain(f"{kept.path}: kept: {kept.why}" for kept in plan.kept)

        self._run(work)

    def _run(self, work: Work) -> None:
        with_registry(self._settings, work)


def with_registry(settings: SettingsOfRegistry, work: Work) -> None:
    """Connect, and work with the registry that the settings name.

    Raises:
        RegistryCommandError: ZooKeeper does not answer, or the registry refuses.
        ConfigurationError: the login cannot be made.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(in_registry(settings, work))


async def in_registry(settings: SettingsOfRegistry, work: Work) -> None:
    """Do the same on a loop that runs. Raises as `with_registry`."""
    try:
        login = login_of(settings.zookeeper, identity_of(settings.kerberos, boottime))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    session = Session(settings.zookeeper, boottime, log_name="registry", login=login)
    try:
        async with session:
            await session.wait_connected(settings.zookeeper.zookeeper_session_timeout_s)
            pace = Pace(settings.updates.registry_updates_per_s, boottime)
            registry = Registry(session, settings.registry.registry_root, settings.registry.access, pace)
            try:
                await work(registry, session)
            except PathNotFoundError as error:
                await see_root(registry, error)
                raise
    except ConnectionLostError as error:
        raise RegistryCommandError(
            f"ZooKeeper {', '.join(settings.zookeeper.zookeeper)} does not answer: {error}"
        ) from error
    except (RegistryError, CoordinationError) as error:
        raise RegistryCommandError(str(error)) from error


async def see_root(registry: Registry, cause: PathNotFoundError | None = None) -> None:
    """See that there is a registry.

    Raises:
        RegistryCommandError: there is no registry at its root.
    """
    if not await registry.exists(paths.ROOT):
        raise RegistryCommandError(
            f"there is no registry at {registry.root} in ZooKeeper: correct registry_root (hadoop.registry.zk.root), "
            "or make one: nncache registry mknode --parents /services"
        ) from cause


def _complain(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line, err=True)
