"""Where a proxy finds what clients ask of the registry. (nncache/daemons/registry_source.py)"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from nncache.proxy.errors import ClientError, EntryNotFoundError, RegistryUnavailableError
from nncache.proxy.registry_endpoint import RegistryPage
from nncache.proxy.registry_wish import RegistryWish
from nncache.registry import paths
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.entry import Entry, EntryStatus
from nncache.registry.errors import (
    InvalidPathnameError,
    NoRecordError,
    PathNotFoundError,
    RegistryError,
)
from nncache.registry.operations import Registry
from nncache.registry.record_json import encode_record
from nncache.registry.targets import METRICS_API, targets_of
from nncache.registry.tree_reading import TreeReading, read_tree


class ZooKeeperRegistry:
    """A `nncache.proxy.registry_endpoint.RegistrySource` over a registry; `registry` returns it, None before."""

    def __init__(self, registry: Callable[[], Registry | None]) -> None:
        self._registry = registry

    async def page(self, wish: RegistryWish) -> RegistryPage:
        """Return what is asked for; see RegistrySource."""
        registry = self._registry()
        if registry is None:
            raise RegistryUnavailableError("the proxy is not connected to ZooKeeper: ask again")
        try:
            return RegistryPage(await _body(registry, wish))
        except (PathNotFoundError, NoRecordError) as error:
            raise EntryNotFoundError(str(error)) from error
        except InvalidPathnameError as error:
            raise ClientError(str(error)) from error
        except RegistryError as error:
            raise RegistryUnavailableError(str(error)) from error


async def _body(registry: Registry, wish: RegistryWish) -> bytes:
    if wish.is_prometheus:
        found = await _found(registry, wish, f"api={METRICS_API}")
        return _json(list(targets_of(found.page(after=wish.after, limit=wish.limit))))
    if wish.find is not None:
        found = await _found(registry, wish, wish.find)
        return _json({"entries": _records(found.page(after=wish.after, limit=wish.limit))})
    if wish.is_recursive:
        everything = await read_tree(registry, wish.path)
        return _json({"entries": _records(everything.page(after=wish.after, limit=wish.limit))})
    if wish.is_list:
        top = paths.readable(wish.path)
        names = [name for name in await registry.list(top) if name > paths.name_of(wish.after)]
        statuses = await registry.stat_all([paths.below(top, name) for name in names[: wish.limit]])
        return _json({"entries": list(map(_status, statuses))})
    return encode_record(await registry.resolve(wish.path))


async def _found(registry: Registry, wish: RegistryWish, query: str) -> TreeReading:
    try:
        return await read_tree(registry, wish.path, EndpointQuery.parse(query))
    except ValueError as error:
        raise ClientError(f"find: {query[:64]}: {error}") from error


def _records(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [{**_status(entry.status), "record": json.loads(encode_record(entry.record))} for entry in entries]


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
