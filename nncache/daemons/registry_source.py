"""Where a proxy finds what clients ask of the registry."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NoReturn

from nncache.admin.registry_page import (
    CONTENT_TYPE,
    HEADERS,
    EntryShown,
    Place,
    entry_page,
    found_page,
    problem_page,
)
from nncache.daemons.registry_follower import RegistryFollower
from nncache.proxy.errors import ClientError, EntryNotFoundError, RegistryUnavailableError
from nncache.proxy.registry_waits import Followed, RegistryPage
from nncache.proxy.registry_wish import RegistryWish
from nncache.registry import paths
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import (
    InvalidPathnameError,
    InvalidRecordError,
    NoRecordError,
    PathNotFoundError,
    RegistryError,
)
from nncache.registry.operations import Registry
from nncache.registry.pacing import Slices, apart
from nncache.registry.record import Entry, EntryStatus
from nncache.registry.record_json import encode_record
from nncache.registry.targets import (
    METRICS_API,
    targets_of,
)
from nncache.registry.tree_reading import MIB, read_tree

MOST_BYTES: Final = 64 * MIB
"""That are held of the registry for one question about a subtree; four of them are answered at the same time."""


class ZooKeeperRegistry:
    """A `nncache.proxy.registry_endpoint.RegistrySource` over a registry."""

    def __init__(self, registry: Callable[[], Registry | None], follower: RegistryFollower) -> None:
        """Begin; `registry` returns it, None before there is a session."""
        self._registry = registry
        self._follower = follower

    @property
    def gaps(self) -> int:
        """How often changes may have been missed."""
        return self._follower.gaps

    async def follow(self, followed: Followed) -> NoReturn:
        """Tell of each change; see RegistrySource."""
        await self._follower.run(followed)

    async def page(self, wish: RegistryWish) -> RegistryPage:
        """Return what is asked for; see RegistrySource."""
        if not wish.is_html:
            with _translated():
                return await _page(self._connected(), wish)
        place = Place(path=paths.path_of(*paths.elements_of(wish.path)), depth=wish.depth)
        try:
            with _translated():
                return await _html(self._connected(), place, wish)
        except ClientError as error:
            return _as_html(problem_page(place, str(error)), error.status, error.reason)

    def _connected(self) -> Registry:
        registry = self._registry()
        if registry is None:
            raise RegistryUnavailableError("the proxy is not connected to ZooKeeper: ask again")
        return registry


@contextmanager
def _translated() -> Iterator[None]:
    """Raise what the registry raises as errors of the proxy."""
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


async def _html(registry: Registry, place: Place, wish: RegistryWish) -> RegistryPage:
    """Return the page of an entry, or of all records below it that are searched for."""
    if wish.reads_many:
        entries = await _found(registry, replace(wish, limit=wish.limit + 1), wish.find)
        is_more = len(entries) > wish.limit
        return _as_html(found_page(place, entries[: wish.limit], query=wish.find, is_more=is_more))
    path = paths.readable(wish.path)
    status = await registry.stat(path)
    record, fault = None, ""
    try:
        record = await registry.resolve(path)
    except NoRecordError:
        pass
    except InvalidRecordError as error:
        fault = error.what
    below = await _right_below(registry, path, replace(wish, limit=wish.limit + 1))
    shown = EntryShown(
        status=status,
        record=record,
        fault=fault,
        below=below[: wish.limit],
        is_more=len(below) > wish.limit,
    )
    return _as_html(entry_page(place, shown), read_bytes=status.size_bytes)


async def _right_below(registry: Registry, path: str, wish: RegistryWish) -> tuple[EntryStatus, ...]:
    names = [name for name in await registry.list(path) if name > paths.name_of(wish.after)]
    return await registry.stat_all([paths.below(path, name) for name in names[: wish.limit]])


async def _page(registry: Registry, wish: RegistryWish) -> RegistryPage:
    if wish.is_prometheus:
        return RegistryPage(await _targets(await _found(registry, wish, f"api={METRICS_API}")))
    if wish.find is not None or wish.is_recursive:
        return RegistryPage(await _records(await _found(registry, wish, wish.find)))
    if wish.is_list:
        statuses = await _right_below(registry, paths.readable(wish.path), wish)
        return RegistryPage(_json({"entries": list(map(_status, statuses))}))
    entry = await registry.read(wish.path)
    size = entry.status.size_bytes
    return RegistryPage(await apart(size, encode_record, entry.record), read_bytes=size)


async def _found(registry: Registry, wish: RegistryWish, query: str | None) -> tuple[Entry, ...]:
    """Return the records that are asked for, those alone that a query matches."""
    wanted = None if query is None else _parsed(query)
    reading = await read_tree(
        registry, wish.path, wanted, after=wish.after, limit=wish.limit, most_bytes=MOST_BYTES
    )
    return reading.entries


def _parsed(query: str) -> EndpointQuery:
    try:
        return EndpointQuery.parse(query)
    except ValueError as error:
        raise ClientError(f"find: {query[:64]}: {error}") from error


async def _targets(entries: Iterable[Entry]) -> bytes:
    """Return a document of what Prometheus scrapes, written a slice at a time."""
    texts, slices = list[bytes](), Slices()
    for entry in entries:
        texts += map(_json, targets_of(entry))
        await slices.add(entry.status.size_bytes)
    return b"[%s]" % b",".join(texts)


async def _records(entries: Iterable[Entry]) -> bytes:
    """Return a document of these records, written a slice at a time."""
    texts, slices = list[bytes](), Slices()
    for entry in entries:
        record = await apart(entry.status.size_bytes, encode_record, entry.record)
        texts.append(b'%s,"record":%s}' % (_json(_status(entry.status))[:-1], record))
        await slices.add(len(record))
    return b'{"entries":[%s]}' % b",".join(texts)


def _status(status: EntryStatus) -> dict[str, Any]:
    return {
        "path": status.path,
        "time": status.time_ms,
        "size": status.size_bytes,
        "children": status.children,
        "version": status.version,
    }


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
