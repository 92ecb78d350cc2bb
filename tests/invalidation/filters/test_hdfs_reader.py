"""Reading the filters distinguishes a broken filter from an unreadable HDFS."""

from collections.abc import Sequence

import pytest

from nncache.coordination.task_group import AT_ONCE
from nncache.hadoop.errors import DataNodeUnavailableError
from nncache.hadoop.filestatus import FileType
from nncache.invalidation.errors import FilterAccessError, FiltersUnavailableError
from nncache.invalidation.filters.definition import ATTRIBUTE, MAX_DEFINITION_BYTES, SUBSCRIBERS, Filter
from nncache.invalidation.filters.hdfs_reader import BrokenDefinition, FilterReader, StoredFilter
from nncache.invalidation.filters.quick_hdfs import ReadBefore
from tests.invalidation.filters.fake_hdfs import FakeHdfs, Node, Place, failing, refusal

PATH = "/filters"


def definition(name: str, glob: str = "/user/joe/*") -> bytes:
    """Return a definition like one that an administrator writes by hand."""
    return b'{"name": "%s", "pathGlob": "%s"}' % (name.encode(), glob.encode())


async def filled(count: int) -> FakeHdfs:
    """Return an HDFS with `count` filters."""
    hdfs = FakeHdfs()
    place = Place(hdfs, PATH)
    for number in range(count):
        await place.put(f"f{number}", definition(f"f{number}"))
    hdfs.calls.clear()
    return hdfs


async def test_a_directory_that_is_missing_holds_no_filters(place: Place) -> None:
    """Before the first filter is added there is nothing to publish, and this is no error."""
    reader = FilterReader(place.hdfs, place.path)
    assert await reader.names() == ()
    stored = await reader.read_all()
    assert (stored.filters, stored.broken, stored.odd_subscribers) == ({}, {}, {})


async def test_one_bad_definition_costs_only_its_filter(place: Place) -> None:
    """Each broken filter has a reason; drafts and other hidden names are not read."""
    await place.put("good", definition("good"), users=("bob", "alice"))
    await place.put("odd", definition("odd"), users=("9good", "alice", "jane@corp.example", "no\u0085ne"))
    await place.put("no-json", b"name: no-json")
    await place.put("other", definition("good"))
    await place.put("glob", definition("glob", "/a{b"))
    await place.put("no-definition", None)
    await place.put("no-list", definition("no-list"), owner=None)
    await place.put("owner", definition("owner"), owner="a/b")
    await place.put("long", b" " * (MAX_DEFINITION_BYTES + 1))
    await place.put(".tmp-1", definition("good"))
    await place.put("a b", definition("a b"))
    await place.hdfs.create(f"{place.path}/file", create_parent=False)
    stored = await FilterReader(place.hdfs, place.path).read_all()
    assert stored.filters == {
        "good": Filter("good", "/user/joe/*", "joe", ("alice", "bob")),
        "odd": Filter("odd", "/user/joe/*", "joe", ("9good", "alice", "jane@corp.example")),
    }
    assert stored.odd_subscribers == {"odd": ("no\u0085ne",)}
    assert set(stored.broken) == {
        *("a b", "file", "glob", "long", "no-definition", "no-json", "no-list", "other", "owner"),
    }
    for name, reason in (
        ("a b", "name: 'a b': must be letters"),
        ("file", "it is a file; a filter is a directory"),
        ("glob", "glob: /a{b: at position 2"),
        ("long", "definition.json: 65537 bytes: at most 65536"),
        ("no-definition", "it has no file definition.json and no attribute user.nncache.definition"),
        ("no-json", "definition.json: JSON is malformed"),
        ("no-list", "it has no directory subscribers"),
        ("other", "definition.json: is that of 'good'"),
        ("owner", "owner: 'a/b': must be a user name"),
    ):
        assert stored.broken[name].startswith(reason)


async def test_too_many_subscribers_are_not_read() -> None:
    """An owner may put anything into the list; its cost for others is limited."""
    hdfs = await filled(2)
    place = f"{PATH}/f0/{SUBSCRIBERS}"
    hdfs.nodes |= {f"{place}/u{number}": Node(FileType.FILE, number) for number in range(10_001)}
    stored = await FilterReader(hdfs, PATH).read_all()
    assert stored.broken == {"f0": "10001 subscribers: at most 10000 are possible"}
    assert ("list", place) not in hdfs.calls


async def test_a_file_in_the_place_of_the_directory_is_an_error(place: Place) -> None:
    """Taken for an empty directory, it would remove all filters."""
    await place.hdfs.mkdirs(place.path.rpartition("/")[0])
    await place.hdfs.create(place.path, create_parent=False)
    with pytest.raises(FiltersUnavailableError, match="is a file; the filters are kept in a directory"):
        await FilterReader(place.hdfs, place.path).read_all()


async def test_a_definition_is_read_once_as_long_as_it_is_the_same(place: Place) -> None:
    """A file that replaces it, or a longer one, counts as changed; subscribers are read each time."""
    reader = FilterReader(place.hdfs, place.path)
    await place.put("f", definition("f"), users=("alice",))
    await reader.read_all()
    await place.hdfs.create(f"{place.path}/f/{SUBSCRIBERS}/bob", create_parent=False)
    stored = await reader.read_all()
    assert stored.filters["f"].allowed_subscribers == ("alice", "bob")
    if isinstance(place.hdfs, FakeHdfs):
        assert place.hdfs.count("read") == 1
    await place.hdfs.delete(f"{place.path}/f", recursive=True)
    await place.put("f", definition("f", "/user/ann/*"))
    assert (await reader.read_all()).filters["f"].path_glob == "/user/ann/*"


async def test_one_filter_can_be_read_alone(place: Place) -> None:
    """A broken filter does not affect the reading of another one."""
    await place.put("good", definition("good"))
    await place.put("bad", b"")
    reader = FilterReader(place.hdfs, place.path)
    assert await reader.read_one("good") == StoredFilter(Filter("good", "/user/joe/*", "joe"), ())
    assert isinstance(await reader.read_one("bad"), BrokenDefinition)
    assert await reader.read_one("none") is None


async def test_some_filters_cost_the_reading_of_these() -> None:
    """A status and two listings each, none of the directory. A deleted filter is neither returned nor kept."""
    hdfs = await filled(300)
    reader = FilterReader(hdfs, PATH)
    await reader.read_all()
    hdfs.calls.clear()
    await hdfs.create(f"{PATH}/f7/{SUBSCRIBERS}/ann", create_parent=False)
    await hdfs.delete(f"{PATH}/f8", recursive=True)
    stored = await reader.read(["f7", "f8", "a b"])
    assert stored.filters == {"f7": Filter("f7", "/user/joe/*", "joe", ("ann",))}
    assert list(stored.broken) == ["a b"]
    assert (hdfs.count("list"), hdfs.count("read"), hdfs.count("status")) == (2, 0, 2 + 2)
    await Place(hdfs, PATH).put("f8", definition("f8"))
    await reader.read(["f8"])
    assert hdfs.count("read") == 1


async def test_a_lost_block_costs_its_filter_when_it_is_read_alone() -> None:
    """The definitions of other filters are not affected."""
    hdfs = await filled(2)
    hdfs.before = failing(DataNodeUnavailableError("dn:1: cut"), "read", f"{PATH}/f1/definition.json")
    assert list((await FilterReader(hdfs, PATH).read(["f1"])).broken) == ["f1"]


@pytest.mark.parametrize(
    "fails", [("list", PATH), ("list", f"{PATH}/f2"), ("read", f"{PATH}/f2/definition.json")], ids=str
)
@pytest.mark.parametrize(
    "failure", [refusal("StandbyException"), refusal("SafeModeException"), TimeoutError()], ids=repr
)
async def test_hdfs_that_does_not_answer_is_no_empty_set(fails: tuple[str, str], failure: Exception) -> None:
    """A publisher's guarantee: its knowledge of filters changes only by an answer."""
    hdfs = await filled(5)
    hdfs.before = failing(failure, *fails)
    with pytest.raises(FiltersUnavailableError, match=r"^the filters in /filters cannot be read: "):
        await FilterReader(hdfs, PATH).read_all()


async def test_a_user_who_may_not_read_hears_so() -> None:
    """An unreadable directory is an error; an unreadable filter is broken."""
    hdfs = await filled(2)
    refused = PATH

    async def refuse(_: str, path: str) -> None:
        if path == refused:
            raise refusal("AccessControlException", "Permission denied")

    hdfs.before = refuse
    with pytest.raises(
        FilterAccessError, match="this user may not read all of /filters; HDFS says: Permission"
    ):
        await FilterReader(hdfs, PATH).read_all()
    refused = f"{PATH}/f1"
    stored = await FilterReader(hdfs, PATH).read_all()
    assert list(stored.filters) == ["f0"]
    assert stored.broken["f1"].startswith("this user may not read all of /filters")


@pytest.mark.parametrize(
    "failure", [DataNodeUnavailableError("dn:1: cut"), refusal("IOException", "No active nodes")]
)
async def test_a_lost_block_costs_one_filter(failure: Exception) -> None:
    """A few unreadable definitions are broken filters; all, or many, mean that HDFS cannot be read."""
    hdfs = await filled(40)
    hdfs.before = failing(failure, "read", f"{PATH}/f7/definition.json")
    stored = await FilterReader(hdfs, PATH).read_all()
    assert list(stored.broken) == ["f7"]
    assert len(stored.filters) == 39
    hdfs.before = failing(failure, "read", *(f"{PATH}/f{number}/definition.json" for number in range(16)))
    with pytest.raises(FiltersUnavailableError, match=r"cannot be read, such as f\d+: definition.json: "):
        await FilterReader(hdfs, PATH).read_all()
    one = await filled(1)
    one.before = failing(failure, "read")
    with pytest.raises(FiltersUnavailableError, match=r"such as f0: definition.json: "):
        await FilterReader(one, PATH).read_all()
    with pytest.raises(FiltersUnavailableError, match=r"such as f0: definition.json: "):
        await FilterReader(one, PATH).read_one("f0")


async def test_lost_datanodes_do_not_matter_to_what_was_read_before() -> None:
    """A new filter waits for the DataNodes; the others stay in force, and their subscribers are updated."""
    hdfs = await filled(3)
    reader = FilterReader(hdfs, PATH)
    await reader.read_all()
    hdfs.before = failing(DataNodeUnavailableError("dn:1: cut"), "read")
    await Place(hdfs, PATH).put("new", definition("new"))
    await hdfs.create(f"{PATH}/f0/{SUBSCRIBERS}/ann", create_parent=False)
    stored = await reader.read_all()
    assert sorted(stored.filters) == ["f0", "f1", "f2"]
    assert stored.filters["f0"].allowed_subscribers == ("ann",)
    assert list(stored.broken) == ["new"]


@pytest.mark.parametrize(("comes_back", "seen"), [(0, "gone"), (1, "read"), (3, "broken")])
async def test_a_filter_that_goes_while_it_is_read_is_gone(comes_back: int, seen: str) -> None:
    """It is neither broken nor an error. A filter that is added again immediately is read again, a few times."""
    hdfs = await filled(2)
    place = Place(hdfs, PATH)
    goes = max(comes_back, 1)

    async def go_and_come(call: str, path: str) -> None:
        nonlocal goes, comes_back
        if goes and (call, path) == ("read", f"{PATH}/f0/definition.json"):
            goes -= 1
            await hdfs.delete(f"{PATH}/f0", recursive=True)
        if comes_back and (call, path) == ("status", f"{PATH}/f0"):
            comes_back -= 1
            await place.put("f0", definition("f0"))

    hdfs.before = go_and_come
    stored = await FilterReader(hdfs, PATH).read_all()
    assert ("f0" in stored.filters) == (seen == "read")
    assert stored.broken == ({"f0": "it was another one each time it was read"} if seen == "broken" else {})
    assert "f1" in stored.filters


async def test_at_most_so_many_calls_are_under_way() -> None:
    """A thousand filters do not make a thousand concurrent calls; each filter advances the progress."""
    hdfs = await filled(50)
    reported: list[tuple[int, int]] = []
    stored = await FilterReader(hdfs, PATH).read_all(lambda done, of: reported.append((done, of)))
    assert len(stored.filters) == 50
    assert list(stored.filters) == sorted(stored.filters)
    assert reported == [(done, 50) for done in range(1, 51)]
    assert hdfs.most_under_way == AT_ONCE
    assert hdfs.count("list") == 51
    assert hdfs.count("read") == 50


async def test_an_attribute_is_as_good_as_a_file_which_goes_before_it(place: Place) -> None:
    """It is read each time, since nothing shows whether it has changed; its errors name it."""
    reader = FilterReader(place.hdfs, place.path)
    await place.put("f", None)
    for glob in ("/user/joe/a", "/user/joe/b"):
        await place.hdfs.set_xattr(f"{place.path}/f", ATTRIBUTE, definition("f", glob))
        assert (await reader.read_all()).filters == {"f": Filter("f", glob, "joe")}
    await place.hdfs.set_xattr(f"{place.path}/f", ATTRIBUTE, definition("other"))
    assert (await reader.read_all()).broken == {"f": f"{ATTRIBUTE}: is that of 'other'"}
    await place.put("g", definition("g", "/file"))
    await place.hdfs.set_xattr(f"{place.path}/g", ATTRIBUTE, definition("g", "/attribute"))
    assert (await reader.read(["g"])).filters["g"].path_glob == "/file"


async def test_all_are_read_ahead_and_few_are_not(place: Place) -> None:
    """Nothing read ahead is requested again; a reading of some filters reads none ahead."""
    ahead: list[tuple[str, Sequence[str]]] = []

    async def read_ahead(path: str, names: Sequence[str]) -> ReadBefore:
        ahead.append((path, tuple(names)))
        listings = {f"{path}/{name}": await place.hdfs.list(f"{path}/{name}") for name in names}
        return ReadBefore(place.hdfs, listings, {f"{path}/f": {ATTRIBUTE: definition("f", "/before/*")}})

    await place.put("f", None)
    await place.hdfs.set_xattr(f"{place.path}/f", ATTRIBUTE, definition("f"))
    reader = FilterReader(place.hdfs, place.path, read_ahead)
    assert (await reader.read_all()).filters == {"f": Filter("f", "/before/*", "joe")}
    assert ahead == [(place.path, ("f",))]
    assert (await reader.read(["f"])).filters == {"f": Filter("f", "/user/joe/*", "joe")}
    assert len(ahead) == 1


async def test_a_filter_that_others_may_write_is_named() -> None:
    """A reading of all filters reports it, and so does one of some. Once corrected, the filter is trusted again."""
    hdfs = await filled(4)
    hdfs.nodes[f"{PATH}/f0"].owner = "mallory"
    hdfs.nodes[f"{PATH}/f1/{SUBSCRIBERS}"].permission = "777"
    hdfs.nodes[f"{PATH}/f2/definition.json"].owner = "nncache"
    reader = FilterReader(hdfs, PATH, own_user="nncache")
    remedies = {"f0": f"hdfs dfs -chown hdfs {PATH}/f0", "f1": f"hdfs dfs -chmod go-w {PATH}/f1/subscribers"}
    for stored in (await reader.read_all(), await reader.read(["f0", "f1", "f2", "f3"])):
        assert list(stored.filters) == ["f0", "f1", "f2", "f3"]
        assert {name: why.remedy for name, why in stored.untrusted.items()} == remedies
    found = await reader.read_one("f0")
    assert isinstance(found, StoredFilter)
    assert found.distrust is not None
    hdfs.nodes[f"{PATH}/f0"].owner = "hdfs"
    assert list((await reader.read_all()).untrusted) == ["f1"]


async def test_no_filter_is_believed_below_what_others_may_write() -> None:
    """Nor is a broken filter trusted: its published definition may be another user's."""
    hdfs = await filled(2)
    await Place(hdfs, PATH).put("bad", b"")
    hdfs.nodes["/"].permission = "777"
    reader = FilterReader(hdfs, PATH)
    for stored in (await reader.read_all(), await reader.read(["f0", "f1", "bad", "gone"])):
        assert {name: why.remedy for name, why in stored.untrusted.items()} == dict.fromkeys(
            ("bad", "f0", "f1"), "hdfs dfs -chmod go-w /"
        )


async def test_what_others_may_write_is_seen_in_the_real_hdfs(place: Place) -> None:
    """Commands create filters, and missing directories above them, that only administrators may write."""
    await place.add("joe", "ann")
    reader = FilterReader(place.hdfs, place.path)
    assert not (await reader.read_all()).untrusted
    above = place.path.rpartition("/")[0]
    for path in (above, place.path, f"{place.path}/joe"):
        assert (await place.hdfs.status(path)).permission == "755"
    await place.hdfs.set_owner(f"{place.path}/joe", owner="mallory")
    remedy = f"hdfs dfs -chown {(await place.hdfs.status('/')).owner} "
    assert {name: why.remedy for name, why in (await reader.read_all()).untrusted.items()} == {
        "joe": f"{remedy}{place.path}/joe"
    }
    await place.hdfs.set_owner(above, owner="mallory")
    assert {why.remedy for why in (await reader.read_all()).untrusted.values()} == {f"{remedy}{above}"}
