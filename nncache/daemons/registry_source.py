"""Answers of a proxy to requests about the registry, read from ZooKeeper."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NoReturn

from nncache.admin.registry_page import (
    CONTENT_TYPE,
    HEADERS,
    EntryShown,
    PageLocation,
    entry_page,
    found_page,
    problem_page,
)
from nncache.proxy.errors import ClientError, EntryNotFoundError, RegistryUnavailableError
from nncache.registry import paths
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import (
    InvalidPathnameError,
    InvalidRecordError,
    NoRecordError,
    PathNotFoundError,
    RegistryError,
)
from nncache.registry.follower import RegistryFollower
from nncache.registry.operations import Registry
from nncache.registry.pacing import Slices, apart
from nncache.registry.record import EntryStatus, RegistryEntry
from nncache.registry.record_json import encode_record
from nncache.registry.rest.request import RegistryRequest
from nncache.registry.rest.waits import RegistryPage
from nncache.registry.targets import (
    METRICS_API,
    targets_of,
)
from nncache.registry.tree_reading import MIB, read_tree

MOST_BYTES: Final = 64 * MIB
"""The most bytes of the registry that one request about a subtree holds. Four such requests run at the same time."""


class ZooKeeperRegistry:
    """A `nncache.registry.rest.endpoint.RegistrySource` that reads a registry in ZooKeeper."""

    def __init__(self, registry: Callable[[], Registry | None], follower: RegistryFollower) -> None:
        """Prepare the source; `registry` returns the registry, or None before there is a session."""
        self._registry = registry
        self._follower = follower

    @property
    def gaps(self) -> int:
        """How often changes may have been missed since start."""
        return self._follower.gaps

    async def follow(self, invalidated: Callable[[str | None], None]) -> NoReturn:
        """Report each change; see RegistrySource."""
        await self._follower.run(invalidated)

    async def page(self, registry_request: RegistryRequest) -> RegistryPage:
        """Return the answer to a request; see RegistrySource."""
        if not registry_request.is_html:
            with _translated():
                return await _page(self._connected(), registry_request)
        place = PageLocation(
            path=paths.path_of(*paths.elements_of(registry_request.path)), depth=registry_request.depth
        )
        try:
            with _translated():
                return await _html(self._connected(), place, registry_request)
        except ClientError as error:
            return _as_html(problem_page(place, str(error)), error.status, error.reason)

    def _connected(self) -> Registry:
        registry = self._registry()
        if registry is None:
            raise RegistryUnavailableError("the proxy is not connected to ZooKeeper: ask again")
        return registry


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors of the registry into errors of the proxy."""
    try:
        yield
    except (PathNotFoundError, NoRecordError) as error:
        raise EntryNotFoundError(str(error)) from error
    except InvalidPathnameError as error:
        raise ClientError(str(error)) from error
    except RegistryError as error:
        raise RegistryUnavailableError(str(error)) from error


def _as_html(body: bytes, status: int = 200, reason: str = "OK", read_bytes: int = 0) -> RegistryPage:
    fields = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())
    return RegistryPage(body, CONTENT_TYPE, status, reason, fields, read_bytes)


async def _html(registry: Registry, place: PageLocation, registry_request: RegistryRequest) -> RegistryPage:
    """Return the HTML page of an entry, or of the records that a search finds at and below it."""
    if registry_request.reads_many:
        entries = await _found(
            registry, replace(registry_request, limit=registry_request.limit + 1), registry_request.find
        )
        is_more = len(entries) > registry_request.limit
        found = entries[: registry_request.limit]
        size = sum(each.status.size_bytes for each in found)
        return _as_html(
            await apart(size, found_page, place, found, query=registry_request.find, is_more=is_more)
        )
    path = paths.readable(registry_request.path)
    status = await registry.stat(path)
    record, fault = None, ""
    try:
        record = await registry.resolve(path)
    except NoRecordError:
        pass
    except InvalidRecordError as error:
        fault = error.what
    below, is_more, names_bytes = await _right_below(registry, path, registry_request)
    shown = EntryShown(status=status, record=record, fault=fault, below=below, is_more=is_more)
    size = status.size_bytes
    return _as_html(await apart(size, entry_page, place, shown), read_bytes=size + names_bytes)


async def _right_below(
    registry: Registry, path: str, registry_request: RegistryRequest
) -> tuple[tuple[EntryStatus, ...], bool, int]:
    """Return entries directly below a path, whether there are more, and the size in bytes of all names there."""
    every = await registry.list(path)
    names = [name for name in every if name > paths.name_of(registry_request.after)]
    statuses = await registry.stat_all([paths.below(path, name) for name in names[: registry_request.limit]])
    return statuses, len(names) > registry_request.limit, sum(map(len, every))


async def _page(registry: Registry, registry_request: RegistryRequest) -> RegistryPage:
    if registry_request.is_prometheus:
        return RegistryPage(await _targets(await _found(registry, registry_request, f"api={METRICS_API}")))
    if registry_request.find is not None or registry_request.is_recursive:
        return RegistryPage(await _records(await _found(registry, registry_request, registry_request.find)))
    if registry_request.is_list:
        path = paths.readable(registry_request.path)
        statuses, _, names_bytes = await _right_below(registry, path, registry_request)
        return RegistryPage(_json({"entries": [each.as_json() for each in statuses]}), read_bytes=names_bytes)
    entry = await registry.read(registry_request.path)
    size = entry.status.size_bytes
    return RegistryPage(await apart(size, encode_record, entry.record), read_bytes=size)


async def _found(
    registry: Registry, registry_request: RegistryRequest, query: str | None
) -> tuple[RegistryEntry, ...]:
    """Return the requested entries with their records; with a query, only those that match."""
    wanted = None if query is None else _parsed(query)
    reading = await read_tree(
        registry,
        registry_request.path,
        wanted,
        after=registry_request.after,
        limit=registry_request.limit,
        most_bytes=MOST_BYTES,
    )
    return reading.entries


def _parsed(query: str) -> EndpointQuery:
    try:
        return EndpointQuery.parse(query)
    except ValueError as error:
        raise ClientError(f"find: {query[:64]}: {error}") from error


async def _targets(entries: Iterable[RegistryEntry]) -> bytes:
    """Return the document of scrape targets for Prometheus, written in slices."""
    texts, slices = list[bytes](), Slices()
    for entry in entries:
        texts += map(_json, targets_of(entry))
        await slices.add(entry.status.size_bytes)
    return b"[%s]" % b",".join(texts)


async def _records(entries: Iterable[RegistryEntry]) -> bytes:
    """Return the document of these records, written in slices."""
    texts, slices = list[bytes](), Slices()
    for entry in entries:
        record = await apart(entry.status.size_bytes, encode_record, entry.record)
        texts.append(b'%s,"record":%s}' % (_json(entry.status.as_json())[:-1], record))
        await slices.add(len(record))
    return b'{"entries":[%s]}' % b",".join(texts)


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
