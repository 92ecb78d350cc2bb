"""The service registry: requests and entries whose cost is out of proportion."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import nncache
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.registry.operations import Registry
from nncache.registry.record import Endpoint, ServiceRecord, uri_endpoint
from nncache.registry.record_json import MAX_READ_BYTES, encode_record
from tests.http_client import request
from tests.overload import places
from tests.overload.attack import Aim, Tally
from tests.overload.attacks.sending import HEAD_BYTES, again, keep_asking, padded

REGISTRY: Final = "/v1/registry"
HELD: Final = 300
MANY: Final = 10_000
LEVELS: Final = 2_500

_AT_ONCE: Final = 500
"""Maximum number of operations in one transaction."""

_WEB: Final = encode_record(
    ServiceRecord(external=(uri_endpoint("org.apache.hadoop.webhdfs", "REST", "http://h/"),))
)
_WAITING: Final = "Prefer: wait=50"


def ask(target: str, *fields: str) -> bytes:
    """Return a GET of the registry."""
    return request("GET", REGISTRY + target, *fields)


async def deep_paths(aim: Aim, tally: Tally) -> None:
    """Hold requests for the deepest path that fits a head, and for the deepest entries, amid changes."""
    targets = [padded("", "/a", HEAD_BYTES - 100), *(f"/a{number}{'/a' * 63}" for number in range(1, HELD))]
    async with _registry(aim) as registry, asyncio.TaskGroup() as tasks:
        for target in targets:
            tally.connections += 1
            tasks.create_task(keep_asking(aim, tally, again(ask(target, _WAITING)), 0.5))
        tasks.create_task(_change(registry, 0.1))


async def removals(aim: Aim, tally: Tally) -> None:
    """Create ten thousand entries, and remove them together, while a request waits for a change."""
    async with _registry(aim) as registry, asyncio.TaskGroup() as tasks:
        tasks.create_task(keep_asking(aim, tally, again(ask("/services/not-there", _WAITING)), 0.5))
        entries = [f"/services/many/e{number}" for number in range(MANY)]
        while True:
            await registry.mknode("/services/many", create_parents=True)
            await _commit(registry, [CreateOp(registry.znode(path), _WEB) for path in entries])
            await asyncio.sleep(2.0)  # for the proxy to follow them
            await _commit(registry, [DeleteOp(registry.znode(path)) for path in entries])
            tally.requests += 2 * MANY


async def large_records(aim: Aim, tally: Tally) -> None:
    """Write the largest record that ZooKeeper stores and the largest that is read, and request both."""
    addresses = tuple({"host": "h", "port": "1"} for _ in range(300))
    most = tuple(
        Endpoint(api=f"a{number}", protocol="p", address_type="host/port", addresses=addresses)
        for number in range(110)
    )
    large, least = ServiceRecord(external=most), ServiceRecord(external=most[:28])
    data = {"/services/large": encode_record(large), "/services/most": encode_record(least)}
    assert len(data["/services/most"]) <= MAX_READ_BYTES < len(data["/services/large"])
    async with _registry(aim) as registry, asyncio.TaskGroup() as tasks:
        await _commit(registry, [CreateOp(registry.znode(path), b"") for path in data])
        for number, (path, form) in enumerate(
            (path, form) for path in data for form in ("?format=json", "?format=html", "?recursive")
        ):
            asking, source = again(ask(path + form)), places.ATTACKERS[number]
            tasks.create_task(keep_asking(aim, tally, asking, 0.05, source=source))
        while True:
            for path, each in data.items():
                await _commit(registry, [SetDataOp(registry.znode(path), each)])
            await asyncio.sleep(0.5)


async def chain(aim: Aim, tally: Tally) -> None:
    """Search a chain of entries that is thousands of levels deep."""
    async with _registry(aim) as registry, asyncio.TaskGroup() as tasks:
        levels = [f"/services{'/c' * (number + 1)}" for number in range(LEVELS)]
        await _commit(registry, [CreateOp(registry.znode(path), _WEB) for path in levels], at_once=50)
        for number, form in enumerate(
            ("?recursive", "?find=api=org.apache.hadoop.webhdfs", "?format=prometheus")
        ):
            asking, source = again(ask(form)), places.ATTACKERS[number]
            tasks.create_task(keep_asking(aim, tally, asking, 0.25, source=source))


@asynccontextmanager
async def _registry(aim: Aim) -> AsyncIterator[Registry]:
    async with nncache.open_registry(**aim.registry, registry_updates_per_s=1e6) as registry:
        await registry.make_root()
        yield registry


async def _change(registry: Registry, every_s: float) -> None:
    while True:
        await registry.mknode("/services/changing")
        await registry.delete("/services/changing")
        await asyncio.sleep(every_s)


async def _commit(registry: Registry, operations: Sequence[ZnodeOp], at_once: int = _AT_ONCE) -> None:
    for start in range(0, len(operations), at_once):
        await registry.zookeeper.commit(operations[start : start + at_once])
