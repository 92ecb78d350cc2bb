"""The registered proxies, for applications: `nncache.connect`."""

import asyncio
import logging
import random
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from nncache.client.portal import Entered
from nncache.client.registering import OpenRegistry, open_registry
from nncache.clock import boottime
from nncache.coordination.errors import CoordinationError
from nncache.registry.daemon_record import PLACE, WEBHDFS_API
from nncache.registry.errors import RegistryError, RegistryIOError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.tree_watch import Change, Current, Present, Removed, TreeWatch, WatchGap

FAILED_S: Final = 10.0
"""How long `Proxies.url` skips a proxy after a failure, unless all proxies have failed."""

AGAIN_S: Final = 10.0
"""Seconds until the registry is read again after a failure, for example one caused by an ACL."""

SILENT_S: Final = 10.0
"""Seconds to wait for the first read of the registry. While ZooKeeper is connected, the wait is repeated."""

_log = logging.getLogger(__name__)


class NoProxyError(RegistryError):
    """No proxy is registered."""


def connect(*, config: Path | str | None = None, **settings: object) -> "Proxies":
    """Return the registered proxies, for a `with` block. The arguments are the same as for `open_registry`.

    Raises:
        ConfigurationError: a setting is missing or invalid. The message names it and the allowed values.

    Entering the block reads the registry. It raises RegistryIOError if ZooKeeper does not answer or refuses the read.
    """
    return Proxies(open_registry(config=config, **settings))


class Proxies:
    """The registered proxies, kept current inside the block. While ZooKeeper fails or refuses, the last known stay."""

    def __init__(self, registry: OpenRegistry) -> None:
        self._open = registry
        self._blocks = ExitStack()
        self._is_read = threading.Event()  # the first read has succeeded or failed
        self._records: dict[str, ServiceRecord] = {}  # by path; replaced, never mutated: two threads use it
        self._failed_at: dict[str, float] = {}  # by URL

    def __enter__(self) -> Self:
        portal, registry = self._blocks.enter_context(Entered("nncache-proxies", self._open))
        following = portal.start(self._follow(registry))
        self._blocks.callback(following.cancel)
        following.add_done_callback(lambda _: self._is_read.set())
        while not self._is_read.wait(SILENT_S):
            if not registry.zookeeper.is_connected:
                self._blocks.close()
                raise RegistryIOError(PLACE, "ZooKeeper does not answer")
        if following.done():
            error = following.exception()
            self._blocks.close()
            raise RegistryIOError(PLACE, f"cannot be followed: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks.close()

    @property
    def urls(self) -> tuple[str, ...]:
        """The WebHDFS URLs of all registered proxies, such as http://proxy1.example.com:9870/webhdfs/v1."""
        return tuple(url for record in self._records.values() for url in _urls(record))

    def url(self) -> str:
        """Return the WebHDFS URL of a random proxy. Proxies that failed in the last 10 seconds are a last resort.

        Raises:
            NoProxyError: no proxy is registered.
        """
        urls = self.urls
        if not urls:
            raise NoProxyError(
                PLACE,
                f"no proxy is registered in {self._open.root}: start one with --registry, or correct registry_root",
            )
        now = boottime()
        good = [url for url in urls if now - self._failed_at.get(url, -FAILED_S) >= FAILED_S]
        return random.choice(good or urls)  # noqa: S311 - to share the load

    def failed(self, url: str) -> None:
        """Report that a proxy has failed: `url()` skips it for 10 seconds, unless all proxies have failed."""
        self._failed_at = {**self._failed_at, url: boottime()}

    async def _follow(self, registry: Registry) -> None:
        """Follow the registered proxies forever. Raises CoordinationError if the first read fails."""
        session: Any = registry.zookeeper
        watch = TreeWatch(session, registry.root, PLACE)  # one for all runs: the session keeps its watches
        while True:
            try:
                await self._take(watch.changes())
            except CoordinationError as error:
                if not self._is_read.is_set():
                    raise
                _log.warning(
                    "the registered proxies cannot be followed: %s; those last known stay, next attempt in %g s",
                    error,
                    AGAIN_S,
                )
            await asyncio.sleep(AGAIN_S)

    async def _take(self, changes: AsyncIterator[Change]) -> None:
        """Apply the changes of a new run until it ends. At the first Current, remove records that were not reported."""
        seen: set[str] | None = set()
        async for change in changes:
            match change:
                case Present(status, record):
                    self._records = {
                        **self._without(status.path),
                        **({status.path: record} if record else {}),
                    }
                    if seen is not None:
                        seen.add(status.path)
                case Removed(path):
                    self._records = self._without(path)
                case Current():
                    if seen is not None:
                        self._records = {
                            path: record for path, record in self._records.items() if path in seen
                        }
                        seen = None
                    self._is_read.set()
                case WatchGap():
                    pass

    def _without(self, path: str) -> dict[str, ServiceRecord]:
        return {other: record for other, record in self._records.items() if other != path}


def _urls(record: ServiceRecord) -> tuple[str, ...]:
    endpoint = record.external_endpoint(WEBHDFS_API)
    if endpoint is None:
        return ()
    return tuple(uri for address in endpoint.addresses if (uri := address.get("uri")))
