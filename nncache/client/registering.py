"""The service registry for applications: `nncache.open_registry`."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from nncache.client.portal import BlockingPortal, Entered, session_of, settings_of
from nncache.clock import boottime
from nncache.coordination.errors import ConnectionLostError
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import RegistryIOError
from nncache.registry.operations import Registry
from nncache.registry.pacing import Pace
from nncache.registry.record import EntryStatus, RegistryEntry, ServiceRecord
from nncache.registry.tree_reading import read_tree
from nncache.registry.tree_watch import Change, TreeWatch
from nncache.settings.commands import REGISTRY, SettingsOfRegistry


def open_registry(*, config: Path | str | None = None, **settings: object) -> "OpenRegistry":
    """Return the service registry, for a `with` block (a BlockingRegistry) or `async with` (a Registry).

    Args:
        config: the path of a TOML file with settings.
        settings: settings of `nncache registry` (docs/settings.md), which take precedence over the file. Only
            `zookeeper` is required if ZooKeeper needs no login.

    Raises:
        ConfigurationError: a setting is missing or invalid. The message names it and the allowed values.

    Entering the block connects. It raises RegistryIOError if ZooKeeper does not answer within the session timeout.
    """
    return OpenRegistry(settings_of(REGISTRY, config, settings))


class OpenRegistry:
    """The registry that `open_registry` returns. It is connected inside a `with` or `async with` block."""

    def __init__(self, settings: SettingsOfRegistry) -> None:
        self._settings = settings
        self._close = AsyncExitStack()
        self._blocks = ExitStack()  # for callers without an event loop

    @property
    def root(self) -> str:
        """The path of the registry's root znode."""
        return self._settings.registry.registry_root

    async def __aenter__(self) -> Registry:
        settings, zookeeper = self._settings.registry, self._settings.zookeeper
        session = session_of(zookeeper, self._settings.kerberos, log_name="registry")
        await self._close.enter_async_context(session)
        try:
            await session.wait_connected(zookeeper.zookeeper_session_timeout_s)
        except BaseException as error:
            await self._close.aclose()
            if isinstance(error, ConnectionLostError):
                servers = ", ".join(zookeeper.zookeeper)
                raise RegistryIOError("/", f"ZooKeeper {servers} does not answer: {error}") from error
            raise
        pace = Pace(self._settings.updates.registry_updates_per_s, boottime)
        return Registry(session, settings.registry_root, settings.access, pace)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close.aclose()

    def __enter__(self) -> "BlockingRegistry":
        portal, registry = self._blocks.enter_context(Entered("nncache-registry", self))
        return BlockingRegistry(registry, portal)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks.close()


class BlockingRegistry:
    """The operations of `nncache.registry.operations.Registry`, for callers without an event loop.

    Each method blocks until the operation is done, and raises the errors that `Registry` documents.
    """

    def __init__(self, registry: Registry, portal: BlockingPortal) -> None:
        self._registry = registry
        self._portal = portal

    def mknode(self, path: str, *, create_parents: bool = False) -> bool:
        """Create an entry without a record. Return False if the entry already exists."""
        return self._portal.wait_for(self._registry.mknode(path, create_parents=create_parents))

    def bind(
        self, path: str, record: ServiceRecord, *, overwrite: bool = False, version: int | None = None
    ) -> None:
        """Bind a record to a path. `overwrite` replaces any existing record, `version` only this version of it."""
        self._portal.wait_for(self._registry.bind(path, record, overwrite=overwrite, version=version))

    def update(self, path: str, change: Callable[[ServiceRecord], ServiceRecord]) -> ServiceRecord:
        """Replace a record with the result of `change`, which runs in another thread, and return the new record."""
        return self._portal.wait_for(self._registry.update(path, change))

    def resolve(self, path: str) -> ServiceRecord:
        """Return the record at a path."""
        return self._portal.wait_for(self._registry.resolve(path))

    def read(self, path: str) -> RegistryEntry:
        """Return the entry at a path: its record, and its status with the version."""
        return self._portal.wait_for(self._registry.read(path))

    def stat(self, path: str) -> EntryStatus:
        """Return the status of an entry, without its record."""
        return self._portal.wait_for(self._registry.stat(path))

    def exists(self, path: str) -> bool:
        """Return whether an entry exists."""
        return self._portal.wait_for(self._registry.exists(path))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names of the entries directly below a path, sorted."""
        return self._portal.wait_for(self._registry.list(path))

    def delete(self, path: str, *, recursive: bool = False, version: int | None = None) -> bool:
        """Delete an entry, with `recursive` also all entries below it. Return whether the entry existed."""
        return self._portal.wait_for(self._registry.delete(path, recursive=recursive, version=version))

    def add_write_accessor(self, user: str, password: str) -> bool:
        """Grant a digest identity all rights to later entries. Return False (no effect) if the registry is open."""
        return self._registry.add_write_accessor(user, password)

    def clear_write_accessors(self) -> None:
        """Remove all write accessors. The ACLs of existing entries do not change."""
        self._registry.clear_write_accessors()

    def find(self, query: str, path: str = "/") -> tuple[RegistryEntry, ...]:
        """Return the entries at and below a path with an endpoint that matches FIELD=VALUE (api=org.apache.hbase).

        Raises:
            ValueError: the query is invalid. The message states the allowed form.
        """
        reading = self._portal.wait_for(read_tree(self._registry, path, EndpointQuery.parse(query)))
        return reading.entries

    def changes(self, path: str = "/") -> Iterator[Change]:
        """Yield the entries at and below a path, then each change to them; see `nncache.registry.tree_watch`."""
        session: Any = self._registry.zookeeper
        changes = TreeWatch(session, self._registry.root, path).changes()
        while True:
            yield self._portal.wait_for(_next(changes))


async def _next(changes: Any) -> Change:  # noqa: ANN401 - an async generator; `anext` is not a coroutine
    found: Change = await anext(changes)
    return found
