"""A filter is added completely or not at all, HDFS decides who may change it, and each refusal says what to do."""

import asyncio
from dataclasses import replace
from http import HTTPStatus

import aiohttp
import pytest

from nncache.hadoop.errors import RemoteExceptionError
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.paths import ancestors, name
from nncache.invalidation.errors import (
    BrokenFilterError,
    FilterError,
    FilterExistsError,
    FilterStoreError,
    FiltersUnavailableError,
    NoSuchFilterError,
)
from nncache.invalidation.filters.definition import (
    ATTRIBUTE,
    DEFINITION,
    SUBSCRIBERS,
    Filter,
    encode_definition,
)
from nncache.invalidation.filters.hdfs_reader import StoredFilter
from nncache.invalidation.filters.hdfs_store import DRAFT_AGE_S, FilterStore
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from tests.invalidation.filters.fake_hdfs import FakeHdfs, Place, failing, refusal

PATH = "/filters"
JOE = Filter("joe", "/user/joe/*/_SUCCESS", "joe", ("bob", "alice"))


async def test_what_is_added_is_there(place: Place) -> None:
    """The directory is created for administrators only; the list of subscribers belongs to the owner."""
    await place.store.add(JOE)
    assert await place.store.get("joe") == StoredFilter(JOE, ())
    assert (await place.store.read_all()).filters == {"joe": JOE}
    assert await place.names() == ["joe"]
    assert (await place.hdfs.status(f"{place.path}/joe/{SUBSCRIBERS}")).owner == "joe"
    for path in (place.path, f"{place.path}/joe", f"{place.path}/joe/{SUBSCRIBERS}"):
        assert (await place.hdfs.status(path)).permission == "755"


async def test_all_that_is_there_is_listed_by_one_call(place: Place) -> None:
    """The names are sorted, and include broken filters."""
    assert await place.store.names() == ()
    await place.add("b", "a")
    await place.put("c", b"")
    assert await place.store.names() == ("a", "b", "c")


async def test_a_name_is_given_once(place: Place) -> None:
    """The refusal names the owner; the existing filter stays, and no draft is left."""
    await place.store.add(JOE)
    with pytest.raises(
        FilterExistsError,
        match=r"there is a filter joe in .* already, joe's for /user/joe/\*/_SUCCESS: remove it first",
    ):
        await place.store.add(Filter("joe", "/user/ann/*", "ann"))
    await place.put("bad", b"")
    with pytest.raises(FilterExistsError, match=r"there is a filter bad in .* already: remove it first"):
        await place.store.add(Filter("bad", "/user/ann/*", "ann"))
    assert (await place.store.get("joe")).filter == JOE
    assert await place.names() == ["bad", "joe"]


async def test_of_those_who_add_at_once_one_wins(place: Place) -> None:
    """The others are refused; definition, owner and subscribers are all the winner's."""
    everyone = [Filter("f", f"/user/u{number}/*", f"u{number}", (f"s{number}",)) for number in range(6)]
    results = await asyncio.gather(*map(place.store.add, everyone), return_exceptions=True)
    winners = [each for each, result in zip(everyone, results, strict=True) if result is None]
    assert [type(result) for result in results if result is not None] == [FilterExistsError] * 5
    assert [(await place.store.get("f")).filter] == winners
    assert await place.names() == ["f"]


async def test_a_removed_filter_makes_room(place: Place) -> None:
    """Everything that belongs to it is deleted, also if it is broken."""
    await place.store.add(JOE)
    await place.put("bad", None)
    await place.store.remove("joe")
    await place.store.remove("bad")
    assert await place.names() == []
    await place.store.add(JOE)


async def test_an_unknown_name_leads_to_the_nearest(place: Place) -> None:
    """Every command that takes a name suggests the nearest one."""
    with pytest.raises(NoSuchFilterError, match=r"there is no filter jo in .*; there are no filters"):
        await place.store.remove("jo")
    await place.add("ann", "joe")
    for asked in (place.store.get("jo"), place.store.remove("jo"), place.store.allow("jo", ["x"])):
        with pytest.raises(NoSuchFilterError, match=r"there is no filter jo in .*; the nearest is joe$"):
            await asked
    with pytest.raises(NoSuchFilterError):
        await place.store.deny("jo", ["x"])
    assert await place.names() == ["ann", "joe"]


async def test_a_broken_filter_says_why(place: Place) -> None:
    """The error of each command has the reason why the filter is broken."""
    await place.put("bad", b"", owner=None)
    says = r"filter bad in .* is broken: it has no directory subscribers"
    for asked in (place.store.get("bad"), place.store.allow("bad", ["x"])):
        with pytest.raises(BrokenFilterError, match=says):
            await asked


async def test_subscribers_come_and_go(place: Place) -> None:
    """A subscriber that is already allowed, or already missing, is no error; a directory with a user's name counts."""
    await place.store.add(JOE)
    assert await place.store.allow("joe", ["carol", "bob", "carol"]) == ("carol",)
    assert await place.store.deny("joe", ["alice", "dave"]) == ("alice",)
    await place.hdfs.mkdirs(f"{place.path}/joe/{SUBSCRIBERS}/eve")
    assert (await place.store.get("joe")).filter.allowed_subscribers == ("bob", "carol", "eve")
    assert await place.store.deny("joe", ["eve"]) == ("eve",)


async def test_what_makes_no_sense_touches_nothing(hdfs: FakeHdfs, store: FilterStore) -> None:
    """Names are validated before they become paths."""
    for bad in ("..", ".tmp-1", "a/b", ""):
        for call in (store.get(bad), store.remove(bad), store.allow(bad, ["x"]), store.deny(bad, ["x"])):
            with pytest.raises(FilterError, match=r"^name: "):
                await call
    for user in ("..", "a/b", ""):
        for call in (store.allow("joe", ["ok", user]), store.deny("joe", [user])):
            with pytest.raises(FilterError, match=r"^subscriber: "):
                await call
    assert hdfs.calls == []


def kind_of(call: str, path: str) -> tuple[str, str]:
    """Return a call of an addition and its file's name, with the draft's name replaced."""
    last = name(path)
    return call, "draft" if last.startswith(".tmp-") else last


async def calls_of_an_addition() -> list[tuple[str, str]]:
    """Return all calls of one addition."""
    hdfs = FakeHdfs()
    await FilterStore(hdfs, PATH).add(JOE)
    return [kind_of(call, path) for call, path in hdfs.calls]


@pytest.mark.parametrize("is_carried_out", [False, True])
async def test_an_interrupted_addition_leaves_nothing(is_carried_out: bool) -> None:
    """Any call may get no answer, carried out or not: no draft is left, and the message is true."""
    calls = await calls_of_an_addition()
    assert len(calls) == 13
    found_missing = (("status", "joe"), ("status", "filters"))  # only the first time
    for lost in [each for each in calls if not (is_carried_out and each in found_missing)]:
        hdfs = FakeHdfs()

        async def lose(call: str, path: str, lost: tuple[str, str] = lost) -> None:
            if kind_of(call, path) == lost:
                raise aiohttp.ServerDisconnectedError

        if is_carried_out:
            hdfs.after = lose
        else:
            hdfs.before = lose
        store = FilterStore(hdfs, PATH)
        is_added = is_carried_out and lost == ("rename_to", "draft")
        if is_added:
            await store.add(JOE)
        else:
            with pytest.raises(
                FiltersUnavailableError,
                match=r"^filter joe cannot be added: it closed the connection without an answer",
            ):
                await store.add(JOE)
        assert hdfs.children(PATH) == ([f"{PATH}/joe"] if is_added else [])


async def test_what_is_made_belongs_to_the_owner_of_the_directory() -> None:
    """The superuser that adds it does not matter. New directories above it belong to the root's owner."""
    hdfs = FakeHdfs(user="ann")
    store = FilterStore(hdfs, "/apps/nncache/filters")
    await store.add(JOE)
    place = "/apps/nncache/filters/joe"
    owners = {path: node.owner for path, node in hdfs.nodes.items() if path in ancestors(f"{place}/x")}
    assert owners == dict.fromkeys(ancestors(f"{place}/x"), "hdfs")
    assert hdfs.nodes[f"{place}/{SUBSCRIBERS}"].owner == "joe"
    assert not (await store.read_all()).untrusted
    hdfs.before = failing(refusal("UnsupportedOperationException"), "set_xattr")
    hdfs.nodes["/apps/nncache/filters"].owner = "nncache"
    store = FilterStore(hdfs, "/apps/nncache/filters", own_user="nncache")
    for name_ in ("bob", "eve"):
        await store.add(replace(JOE, name=name_))
    assert list((await store.read_all()).untrusted) == []
    assert hdfs.nodes["/apps/nncache/filters/eve/definition.json"].owner == "nncache"


async def test_a_cancelled_addition_leaves_nothing() -> None:
    """An addition may be cancelled by Ctrl-C, during any of its calls."""
    for waits_at in ("create", "set_xattr", "set_owner", "rename_to"):
        hdfs = FakeHdfs()
        reached = asyncio.Event()

        async def wait(
            call: str, path: str, waits_at: str = waits_at, reached: asyncio.Event = reached
        ) -> None:
            if call == waits_at:
                reached.set()
                await asyncio.Event().wait()

        hdfs.before = wait
        async with asyncio.TaskGroup() as tasks:
            adding = tasks.create_task(FilterStore(hdfs, PATH).add(JOE))
            await reached.wait()
            adding.cancel()
        assert adding.cancelled()
        assert hdfs.children(PATH) == []


async def test_without_hdfs_a_draft_stays_that_nobody_reads(hdfs: FakeHdfs) -> None:
    """Nothing can delete it; the error says that the outcome is unknown."""

    async def die(call: str, path: str) -> None:
        if call in ("rename_to", "delete"):
            raise TimeoutError

    hdfs.before = die
    store = FilterStore(hdfs, PATH)
    with pytest.raises(
        FiltersUnavailableError, match=r"^it is not known whether filter joe was added: no answer in time$"
    ):
        await store.add(JOE)
    assert len(hdfs.children(PATH)) == 1
    assert (await store.names(), (await store.read_all()).broken) == ((), {})


async def test_a_name_that_is_taken_meanwhile_is_refused(hdfs: FakeHdfs) -> None:
    """The error is the same if the winner's filter is unreadable, or deleted again."""
    other = Place(hdfs, PATH)

    async def overtake(call: str, path: str) -> None:
        if call == "rename_to" and "joe" not in await hdfs_names():
            await other.put("joe", b"")

    async def hdfs_names() -> list[str]:
        return [path.rpartition("/")[2] for path in hdfs.children(PATH)]

    hdfs.before = overtake
    with pytest.raises(FilterExistsError, match="there is a filter joe in /filters already: remove"):
        await FilterStore(hdfs, PATH).add(JOE)
    assert await hdfs_names() == ["joe"]


@pytest.mark.parametrize(
    ("made_by", "says"),
    [("create", "the subscribers of filter joe cannot be changed: HDFS says"), ("rename_to", "filter joe")],
)
async def test_a_new_subscriber_does_not_restore_a_removed_filter(
    hdfs: FakeHdfs, store: FilterStore, made_by: str, says: str
) -> None:
    """Neither a new subscriber nor a change of the filter creates what was removed."""
    await store.add(JOE)

    async def remove(call: str, _: str) -> None:
        if call == made_by:
            await hdfs.delete(f"{PATH}/joe", recursive=True)

    hdfs.before = remove
    after = replace(JOE, allowed_subscribers=(*JOE.allowed_subscribers, "carol"))
    with pytest.raises(FilterStoreError, match=says):
        await (store.change(JOE, after) if made_by == "rename_to" else store.allow("joe", ["carol"]))
    assert hdfs.children(PATH) == []


async def test_an_inherited_acl_gives_nobody_a_filter(cluster: Cluster, hdfs_directory: str) -> None:
    """The mode limits a default ACL of the parent directory: others may only read."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        with Asker(cluster.namenodes[0].http) as asker:
            acl = "aclspec=default:user:bob:rwx,default:other::rwx"
            target = f"/webhdfs/v1{hdfs_directory}?op=MODIFYACLENTRIES&{acl}&user.name={cluster.superuser}"
            assert asker.ask("PUT", target).status == HTTPStatus.OK
        place = Place(hdfs, f"{hdfs_directory}/filters")
        await place.store.add(JOE)
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", "bob") as bob:
        assert (await FilterStore(bob, place.path).read_all()).filters == {"joe": JOE}
        with pytest.raises(RemoteExceptionError, match="AccessControlException"):
            await bob.create(f"{place.path}/joe/{SUBSCRIBERS}/carol")
        with pytest.raises(FilterStoreError, match="only an administrator"):
            await FilterStore(bob, place.path).remove("joe")
        with pytest.raises(FilterStoreError, match="only joe, who owns filter joe, or an administrator"):
            await FilterStore(bob, place.path).allow("joe", ["carol"])


async def test_an_owner_cannot_change_the_definition(cluster: Cluster, hdfs_directory: str) -> None:
    """An owner can write neither the attribute nor a file that would override it."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        place = Place(hdfs, f"{hdfs_directory}/filters")
        await place.store.add(JOE)
    wider = encode_definition(replace(JOE, path_glob="/*/*"))
    for user in (JOE.owner, "bob"):
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", user) as other:
            with pytest.raises(RemoteExceptionError, match="AccessControlException"):
                await other.set_xattr(f"{place.path}/joe", ATTRIBUTE, wider)
            with pytest.raises(RemoteExceptionError, match="AccessControlException"):
                await other.create(f"{place.path}/joe/{DEFINITION}", wider)
            assert (await FilterStore(other, place.path).get("joe")).filter == JOE


AFTER = Filter("joe", "/user/ann/*", "ann", ("bob", "carol"))


@pytest.mark.parametrize("by_hand", [False, True])
async def test_a_filter_changes_in_its_place(place: Place, by_hand: bool) -> None:
    """Glob, owner and subscribers; also for a filter of an older release, whose definition is a file."""
    if by_hand:
        await place.put("joe", encode_definition(JOE), users=JOE.allowed_subscribers)
    else:
        await place.store.add(JOE)
    for before, after in ((JOE, AFTER), (AFTER, AFTER), (AFTER, JOE)):
        await place.store.change(before, after)
        assert (await place.store.get("joe")).filter == after
    assert await place.names() == ["joe"]


async def test_a_change_of_the_glob_is_one_transaction(hdfs: FakeHdfs, store: FilterStore) -> None:
    """No reader sees the filter without a glob, or no filter."""
    await Place(hdfs, PATH).put("joe", encode_definition(JOE), users=JOE.allowed_subscribers)
    seen = []

    async def read(call: str, path: str) -> None:
        hdfs.after = FakeHdfs().after
        seen.append((await FilterStore(hdfs, PATH).get("joe")).filter.path_glob)
        hdfs.after = read

    hdfs.after = read
    await store.change(JOE, Filter("joe", "/x", JOE.owner, JOE.allowed_subscribers))
    assert seen == [JOE.path_glob, "/x"], "the attribute counts once the file is gone"


async def test_where_attributes_are_refused_there_is_a_file(hdfs: FakeHdfs, store: FilterStore) -> None:
    """The setting dfs.namenode.xattrs.enabled may be false, or the glob too long for an attribute."""
    hdfs.before = failing(refusal("IOException", "Support for XAttrs has been disabled"), "set_xattr")
    await store.add(JOE)
    assert f"{PATH}/joe/{DEFINITION}" in hdfs.nodes
    await store.change(JOE, AFTER)
    assert (await store.get("joe")).filter == AFTER
    assert hdfs.children(PATH) == [f"{PATH}/joe"]


async def test_a_refusal_that_is_no_lack_of_attributes_is_one() -> None:
    """No file is written for a user without rights, or a NameNode in safe mode."""
    for exception in ("AccessControlException", "SafeModeException"):
        hdfs = FakeHdfs(before=failing(refusal(exception), "set_xattr"))
        with pytest.raises(FilterStoreError):
            await FilterStore(hdfs, PATH).add(JOE)
        assert not any(path.endswith(DEFINITION) for _, path in hdfs.calls)
        assert hdfs.children(PATH) == []


async def test_the_longest_glob_finds_room(place: Place) -> None:
    """The glob is in an attribute, or in a file if it has too many bytes."""
    for called, letter in (("short", "a"), ("long", "语")):
        longest = Filter(called, "/" + letter * 7_999, "joe")
        await place.store.add(longest)
        assert (await place.store.get(called)).filter == longest


async def test_old_drafts_are_swept(hdfs: FakeHdfs, store: FilterStore) -> None:
    """They are left by commands that were killed. Drafts of a command that may still run stay, like all other files."""
    now = 10 * DRAFT_AGE_S
    assert await store.sweep(now) == 0, "there is no directory yet"
    await store.add(JOE)
    for left in (".tmp-old", ".tmp-new", ".other"):
        await hdfs.mkdirs(f"/filters/{left}/subscribers")
    hdfs.nodes["/filters/.tmp-new"].modification_time = int((now - DRAFT_AGE_S + 1) * 1000)
    assert await store.sweep(now) == 1
    assert hdfs.children("/filters") == ["/filters/.other", "/filters/.tmp-new", f"/filters/{JOE.name}"]
    assert await store.sweep(now) == 0
