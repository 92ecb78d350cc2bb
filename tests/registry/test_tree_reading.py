"""Searches and lists of a subtree."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nncache.coordination.acl import ZnodeAclEntry, ZnodePerms
from nncache.coordination.errors import ConnectionLostError, NotAllowedError
from nncache.coordination.zookeeper import CreateOp, DeleteOp
from nncache.registry import tree_reading
from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.errors import (
    InvalidPathnameError,
    InvalidRecordError,
    PathNotFoundError,
    RegistryIOError,
    TooMuchDataError,
)
from nncache.registry.operations import PER_CALL, REFUSED, Registry
from nncache.registry.pacing import SLICE_BYTES, at_once
from nncache.registry.paths import MAX_ELEMENTS, TOO_DEEP
from nncache.registry.record import EntryStatus, RegistryEntry, ServiceRecord, Unreadable, uri_endpoint
from nncache.registry.record_json import MAX_READ_BYTES, encode_record, parse_record
from nncache.registry.tree_reading import ENTRY_BYTES, read_tree
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.registry.samples import WEBHDFS, fake_registry, registry_over

HBASE = ServiceRecord(external=(uri_endpoint("org.apache.hbase", "REST", "http://h/"),))
BROKEN = b'{"type":"JSONServiceRecord","x":"org.apache.hbase"'
OF_HBASE = ["/users/joe/hbase/demo1", "/users/joe/hbase-demo"]


def paths_of(found: Sequence[RegistryEntry | EntryStatus | Unreadable]) -> list[str]:
    """Return the paths of the results."""
    return [each.path for each in found]


@pytest.fixture
async def registry() -> Registry:
    """Return a registry with entries of all kinds."""
    made = fake_registry()
    await made.make_root()
    await made.mknode("/users/joe/hbase", create_parents=True)
    await made.bind("/users/joe/hbase/demo1", HBASE)
    await made.bind("/users/joe/hbase-demo", HBASE)
    await made.bind("/services/hdfs", WEBHDFS)
    await made.zookeeper.commit([CreateOp(made.znode("/services/x"), BROKEN)])
    return made


async def test_everything_below_a_path_in_the_order_of_paths(registry: Registry) -> None:
    """The result has records, entries without one, and unreadable entries."""
    reading = await read_tree(registry, "/")
    assert paths_of(reading.entries) == ["/services/hdfs", *OF_HBASE]
    assert paths_of(reading.bare) == ["/", "/services", "/users", "/users/joe", "/users/joe/hbase"]
    assert paths_of(reading.unreadable) == ["/services/x"]
    assert reading.records["/users"] is None
    assert reading.records["/services/hdfs"] == WEBHDFS
    below = await read_tree(registry, "/users/joe/hbase/")
    assert list(below.records) == ["/users/joe/hbase", "/users/joe/hbase/demo1"]


async def test_a_search_finds_records_alone(registry: Registry) -> None:
    """Broken records that might match are named."""
    reading = await read_tree(registry, "/", EndpointQuery("api", "org.apache.hbase"))
    assert (paths_of(reading.entries), reading.bare) == (OF_HBASE, ())
    assert paths_of(reading.unreadable) == ["/services/x"]
    other = await read_tree(registry, "/", EndpointQuery("api", "org.apache.hadoop.webhdfs"))
    assert (paths_of(other.entries), other.unreadable) == (["/services/hdfs"], ())


async def test_pages_follow_each_other(registry: Registry) -> None:
    """A page begins after the last path, which may have been deleted."""

    async def page(**which: Any) -> list[str]:
        return paths_of((await read_tree(registry, "/", **which)).entries)

    assert await page(limit=1) == ["/services/hdfs"]
    assert await page(after="/services/hdfs", limit=1) == ["/users/joe/hbase/demo1"]
    assert await page(after="/users/joe/hbase/a") == OF_HBASE
    assert await page(after="/users/joe/hbase-demo") == []
    assert len(await page()) == 3
    assert await page(query=EndpointQuery("api", "org.apache.hbase"), limit=1) == OF_HBASE[:1]


async def test_what_is_beyond_a_page_costs_nothing(registry: Registry) -> None:
    """Entries beyond it are not parsed: broken ones there are not even detected."""
    assert (await read_tree(registry, "/", limit=1)).unreadable == ()
    assert (await read_tree(registry, "/", after="/services/x")).unreadable == ()
    assert len((await read_tree(registry, "/", limit=2)).unreadable) == 1


async def test_others_run_while_records_are_parsed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree of many records must not stall the event loop."""
    number = 3 * SLICE_BYTES // len(encode_record(WEBHDFS))
    await at_once(lambda each: registry.bind(f"/services/many{each}", WEBHDFS), range(number))
    parsed, during = 0, list[int]()

    def parse(path: str, data: bytes) -> ServiceRecord:
        nonlocal parsed
        parsed += 1
        return parse_record(path, data)

    async def other() -> None:
        while True:
            during.append(parsed)
            await asyncio.sleep(0)

    monkeypatch.setattr(tree_reading, "parse_record", parse)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(other())
        await read_tree(registry, "/services")
        task.cancel()
    assert parsed > number
    assert len({each for each in during if 0 < each < number}) == 2


async def test_a_path_that_is_not_there_is_an_error(registry: Registry) -> None:
    """An invalid path is an error as well."""
    with pytest.raises(PathNotFoundError):
        await read_tree(registry, "/services/yarn")
    with pytest.raises(InvalidPathnameError):
        await read_tree(registry, "/services/..")


FOR_YARN = (ZnodeAclEntry("sasl", "yarn", ZnodePerms.READ),)


async def test_what_may_not_be_read_is_named(registry: Registry) -> None:
    """All other entries are read, in any batch; nothing below the entry is revealed."""
    await at_once(lambda number: registry.bind(f"/users/joe/i{number}", HBASE), range(2 * PER_CALL))
    secrets = ["/users/joe/hbase", "/users/joe/i7"]
    before = await read_tree(registry, "/")
    for path in secrets:
        await registry.zookeeper.set_acl(registry.znode(path), FOR_YARN, 0)
    reading = await read_tree(registry, "/")
    assert reading.unreadable == (*before.unreadable, *(Unreadable(path, REFUSED) for path in secrets))
    gone = {*secrets, "/users/joe/hbase/demo1"}
    assert reading.entries == tuple(entry for entry in before.entries if entry.path not in gone)
    assert paths_of(reading.bare) == ["/", "/services", "/users", "/users/joe"]
    search = await read_tree(registry, "/users", EndpointQuery("api", "org.apache.hbase"))
    assert (len(search.entries), paths_of(search.unreadable)) == (2 * PER_CALL, secrets)
    assert paths_of((await read_tree(registry, "/", after="/users/joe/hbase")).unreadable) == secrets[1:]


async def test_a_path_that_may_not_be_read_is_an_error(registry: Registry) -> None:
    """The client gets the reason."""
    await registry.zookeeper.set_acl("/registry/services", FOR_YARN, 0)
    with pytest.raises(RegistryIOError, match="ACL refuses"):
        await read_tree(registry, "/services")
    assert "/users" in (await read_tree(registry, "/")).records


class Listed(FakeSession):
    """A session in which an ACL denies a list."""

    async def children(self, path: str) -> tuple[str, ...]:
        """Deny one list."""
        if path == "/registry/users":
            raise NotAllowedError(path)
        return await super().children(path)


async def test_what_may_not_be_listed_is_named() -> None:
    """Its ACL changed after it was read."""
    registry = await registry_over(Listed(FakeZooKeeper(asyncio.get_running_loop().time)))
    await registry.mknode("/users/joe")
    reading = await read_tree(registry, "/")
    assert paths_of(reading.bare) == ["/", "/services", "/users"]
    assert reading.unreadable == (Unreadable("/users", REFUSED),)


async def test_what_may_not_be_read_costs_each_entry_one_more_read(registry: Registry) -> None:
    """That is the limit for any number of denied entries; the named entries also count as held data."""
    await registry.zookeeper.commit(
        [CreateOp(f"/registry/services/i{number}", b"", acl=FOR_YARN) for number in range(PER_CALL)]
    )
    session = registry.zookeeper
    assert isinstance(session, FakeSession)
    before = session.stats().calls  # the fake counts each znode of a batch
    entries = len((await read_tree(registry, "/services")).unreadable) + 2
    assert entries == PER_CALL + 3
    assert session.stats().calls - before <= 2 * entries
    with pytest.raises(TooMuchDataError):
        await read_tree(registry, "/services", most_bytes=PER_CALL * ENTRY_BYTES)


class Cut(FakeSession):
    """A session whose connection is lost during a list."""

    async def children(self, path: str) -> tuple[str, ...]:
        """Raise the error."""
        raise ConnectionLostError(path)


async def test_a_lost_connection_is_one_error() -> None:
    """Any number of calls may be in flight."""
    registry = await registry_over(Cut(FakeZooKeeper(asyncio.get_running_loop().time)))
    with pytest.raises(RegistryIOError, match="could not be read"):
        await read_tree(registry, "/")


class Vanishing(FakeSession):
    """A session in which an entry is deleted before a list."""

    async def children(self, path: str) -> tuple[str, ...]:
        """Let another client delete it first."""
        if path == "/registry/users":
            await self.commit([DeleteOp("/registry/users/joe"), DeleteOp("/registry/users")])
        return await super().children(path)


async def test_what_goes_meanwhile_is_passed_over() -> None:
    """The entry existed, and has no children."""
    registry = await registry_over(Vanishing(FakeZooKeeper(asyncio.get_running_loop().time)))
    await registry.mknode("/users/joe")
    reading = await read_tree(registry, "/")
    assert paths_of(reading.bare) == ["/", "/services", "/users"]


async def chain(registry: Registry, levels: int) -> str:
    """Create a chain of entries, and return the path of the last one."""
    path = "/services"
    await registry.make_root()
    for _ in range(levels):
        path += "/c"
        await registry.zookeeper.commit([CreateOp(registry.znode(path), encode_record(HBASE))])
    return path


async def test_a_chain_of_entries_is_read_to_a_depth() -> None:
    """Deeper entries are reported as not read, with and without a search; the whole chain can be removed."""
    made = fake_registry()
    last = await chain(made, 1_500)
    for query in (None, EndpointQuery("api", "org.apache.hbase")):
        reading = await read_tree(made, "/", query)
        assert len(reading.entries) == MAX_ELEMENTS - 1
        assert reading.unreadable == (Unreadable(f"/services{'/c' * (MAX_ELEMENTS - 1)}", TOO_DEEP),)
    assert await made.delete("/services/c", recursive=True)
    assert not await made.exists(last)
    assert await made.list("/services") == ()


async def test_a_large_record_is_not_parsed(registry: Registry) -> None:
    """Each reader reports it with its size; a search that cannot match it does not."""
    data = b'{"type":"JSONServiceRecord","external":[],"x":"%s"}' % (b"x" * MAX_READ_BYTES)
    await registry.zookeeper.commit([CreateOp(registry.znode("/services/large"), data)])
    why = f"the record has {len(data)} bytes; it is not read, since more than {MAX_READ_BYTES} are"
    assert Unreadable("/services/large", why) in (await read_tree(registry, "/")).unreadable
    with pytest.raises(InvalidRecordError, match="it is not read"):
        await registry.resolve("/services/large")
    search = await read_tree(registry, "/services", EndpointQuery("api", "org.apache.hadoop.webhdfs"))
    assert "/services/large" not in paths_of(search.unreadable)


async def test_a_reading_holds_no_more_than_it_may(registry: Registry) -> None:
    """Beyond the limit the error has advice; records that a search cannot match are not held."""
    for number in range(20):
        await registry.bind(f"/services/i{number}", replace(HBASE, description="x" * 1_000))
    with pytest.raises(TooMuchDataError, match="ask about a path further down"):
        await read_tree(registry, "/services", most_bytes=20_000)
    search = EndpointQuery("api", "org.apache.hadoop.webhdfs")
    assert len((await read_tree(registry, "/services", search, most_bytes=20_000)).entries) == 1
    assert len((await read_tree(registry, "/services", most_bytes=60_000)).entries) == 21
