"""Many filters are changed with bounded concurrency, and an interrupted change is resumed."""

import asyncio

import pytest

from nncache.invalidation.errors import FiltersUnavailableError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import FilePlan, plan_file
from nncache.invalidation.filters.filter_file import FileEntry
from nncache.invalidation.filters.hdfs_bulk import AT_ONCE, Done, carry_out
from nncache.invalidation.filters.hdfs_store import FilterStore
from tests.invalidation.filters.fake_hdfs import FakeHdfs, Place

PATH = "/filters"
ENTRIES = tuple(
    FileEntry(
        name=f"f{number:03}", path_glob=f"/t/{number}/*", owner="ann", allowed_subscribers=("bob", "joe")
    )
    for number in range(100)
)


async def planned(store: FilterStore, *entries: FileEntry, prune: bool = False) -> FilePlan:
    """Return the plan against the present filters."""
    return plan_file(entries, await store.read_all(), user="root", prune=prune)


async def test_what_is_planned_is_done(place: Place) -> None:
    """Additions, changes and removals are each counted; afterwards nothing is left to do."""
    await place.add("f000", "old")
    await place.put("f001", b'{"name": "f001", "pathGlob": "/by/hand"}', users=("bob", "eve"))
    plan, done = await planned(place.store, *ENTRIES[:5], prune=True), Done()
    reported: list[tuple[int, int]] = []
    await carry_out(plan, place.store, done, lambda finished, of: reported.append((finished, of)))
    assert done == Done(added=3, changed=2, removed=1)
    assert reported == [(number, 6) for number in range(1, 7)]
    again = await planned(place.store, *ENTRIES[:5], prune=True)
    assert (again.is_empty, again.unchanged) == (True, 5)
    assert await place.names() == [f"f{number:03}" for number in range(5)]


async def test_a_bounded_number_is_under_way(hdfs: FakeHdfs) -> None:
    """A file of thousands of filters does not make thousands of concurrent calls; each filter takes few calls."""
    store, done = FilterStore(hdfs, PATH), Done()
    await carry_out(await planned(store, *ENTRIES), store, done)
    assert done.added == 100
    assert hdfs.most_under_way == AT_ONCE
    assert hdfs.count("create") == 0, "a DataNode would start a client for each"
    assert len(hdfs.calls) <= 100 * 5 + 10 + AT_ONCE, "the first ones ask to whom belongs what they make"


async def test_what_was_interrupted_is_gone_on_with(hdfs: FakeHdfs) -> None:
    """No filter is left incomplete, and no work is repeated."""
    store, done = FilterStore(hdfs, PATH), Done()

    async def fail(call: str, _: str) -> None:
        if done.added >= 40:
            raise TimeoutError

    hdfs.before = fail
    with pytest.raises(FiltersUnavailableError):
        await carry_out(await planned(store, *ENTRIES), store, done)
    hdfs.before = FakeHdfs().before
    rest = await planned(store, *ENTRIES)
    assert rest.unchanged == 100 - len(rest.added) == done.added
    assert not rest.broken
    await carry_out(rest, store, Done())
    assert (await planned(store, *ENTRIES)).is_empty


async def test_a_cancelled_application_leaves_no_drafts() -> None:
    """An application may be cancelled by Ctrl-C."""
    hdfs, reached = FakeHdfs(), asyncio.Event()
    store = FilterStore(hdfs, PATH)

    async def wait(call: str, _: str) -> None:
        if call == "set_owner":
            reached.set()
            await asyncio.Event().wait()

    hdfs.before = wait
    plan = await planned(store, *ENTRIES)
    async with asyncio.TaskGroup() as tasks:
        applying = tasks.create_task(carry_out(plan, store, Done()))
        await reached.wait()
        applying.cancel()
    assert hdfs.children(PATH) == []


async def test_what_somebody_else_has_removed_is_not_counted() -> None:
    """A filter that is already gone is no error, and is not counted as removed."""
    store, done = FilterStore(FakeHdfs(), PATH), Done()
    await carry_out(FilePlan(removed=("gone",), broken={}), store, done)
    assert done == Done()


async def test_removals_come_last(hdfs: FakeHdfs, store: FilterStore) -> None:
    """A path whose filter is renamed always has a filter."""
    await store.add(Filter("old", "/t/0/*", "ann"))
    hdfs.calls.clear()
    await carry_out(await planned(store, *ENTRIES[:3], prune=True), store, Done())
    ends = [call for call, path in hdfs.calls if call == "rename_to" or path == f"{PATH}/old"]
    assert ends[-1] == "delete"
    assert ends.count("rename_to") == 3
