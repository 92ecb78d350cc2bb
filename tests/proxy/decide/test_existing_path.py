"""What already exists decides what a call can cost (guarantees OwnWrites and FailToNameNode)."""

import asyncio
from dataclasses import dataclass, field

import pytest

from nncache.cache import Cacheable, EntryKind, MetadataCache, StoredReply
from nncache.cache.deferred_writes import TwoStepWriter
from nncache.cache.settings import CacheSettings
from nncache.hadoop.calls import parse_call
from nncache.hadoop.effects import ExistingPath
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import CallerRefusedError
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.decide.existing_path import PathProbe
from nncache.proxy.messages import Settle, WriteRight
from tests.patience import HANG_S
from tests.proxy.doubles import HeldNameNode, ScriptedStreamer, caller, let_tasks_run, script, settled
from tests.proxy.write_fixture import fixture

GLOBS = ("/*", "/*/*", "/*/*/*", "/*/*/*/*")
NOW = 10.0


class Fixture:
    """A cache, a NameNode that knows some directories, and the path probe between them."""

    def __init__(self, *directories: str) -> None:
        self.cache = MetadataCache(CacheSettings(glob=GLOBS))
        self.cache.open_stream(1)
        self.cache.cover(NOW, 1)
        self.namenode = HeldNameNode(directories=set(directories))
        self.path_probe = PathProbe(
            self.cache, self.namenode, lambda: NOW, query_timeout_s=0.05, two_step_timeout_s=0.05
        )

    def keep(self, path: str, kind: EntryKind = EntryKind.MISSING) -> None:
        """Cache an outcome for a path."""
        ticket = self.cache.store.take_ticket(path, caller(), NOW, joinable=True)
        reply = StoredReply(404 if kind is EntryKind.MISSING else 200, (), b"")
        self.cache.conclude(ticket, Cacheable(reply=reply, kind=kind, replied_at=NOW, term=1))

    def above(self, tree: "_Tree") -> PathProbe:
        """Return a probe that asks this tree, and waits for its answers."""
        return PathProbe(self.cache, tree, lambda: NOW, query_timeout_s=1.0, two_step_timeout_s=1.0)

    async def probe(self, method: str, target: str) -> ExistingPath:
        """Probe a call below /webhdfs/v1."""
        return await self.path_probe.probe(parse_call(method, "/webhdfs/v1" + target), None)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/a?op=GETFILESTATUS"),
        ("PUT", "/a?op=SETTIMES"),
        ("DELETE", "/a?op=DELETE"),
        ("PUT", "/a/../b?op=CREATE"),
    ],
)
async def test_other_calls_are_not_delayed(method: str, target: str) -> None:
    """Only calls that create something need a probe."""
    fixture = Fixture("/a", "/b")
    fixture.keep("/a/x")
    assert await fixture.probe(method, target) == ExistingPath()
    assert fixture.namenode.directory_questions == []


async def test_own_writes_the_caches_word_for_a_directory_is_not_taken() -> None:
    """OwnWrites: it may have been deleted elsewhere, with its event on the way; MKDIRS then creates a new one."""
    fixture = Fixture("/a")
    fixture.keep("/b/x", EntryKind.FILE)
    assert not (await fixture.probe("PUT", "/b?op=MKDIRS")).is_directory
    assert fixture.namenode.directory_questions == ["/b"]


async def test_mkdirs_of_a_directory_that_is_there_makes_nothing() -> None:
    """The NameNode is asked if there are hits to lose."""
    fixture = Fixture("/b")
    fixture.keep("/b/x")
    assert (await fixture.probe("PUT", "/b?op=MKDIRS")).is_directory
    assert not (await fixture.probe("PUT", "/c?op=MKDIRS")).is_directory
    assert fixture.namenode.directory_questions == ["/b"]


async def test_the_topmost_missing_ancestor_is_found() -> None:
    """Ancestors are asked about nearest first, until one exists."""
    fixture = Fixture()
    fixture.keep("/a")
    fixture.keep("/a/b/x")
    async with asyncio.TaskGroup() as group:
        surveying = group.create_task(fixture.probe("PUT", "/a/b/c?op=MKDIRS"))
        await let_tasks_run()
        fixture.namenode.existing.answer(result=False)
        await let_tasks_run()
        fixture.namenode.existing.answer(result=True)
    assert surveying.result() == ExistingPath(topmost_missing="/a/b")


async def test_assuming_an_unasked_path_missing_costs_nothing() -> None:
    """OwnWrites: another client may ask about the path before the call has ended."""
    fixture = Fixture()
    assert await fixture.probe("PUT", "/a/b/c?op=MKDIRS") == ExistingPath(topmost_missing="/a")
    assert fixture.namenode.existing.calls == []


async def test_what_cannot_be_asked_is_not_known(caplog: pytest.LogCaptureFixture) -> None:
    """A silent NameNode delays a call by one query timeout at most; events clear the doubt, and the log says why."""
    fixture = Fixture()
    fixture.keep("/a/b/x")
    assert await fixture.probe("PUT", "/a/b/c?op=MKDIRS") == ExistingPath(is_known=False)
    assert fixture.path_probe.query_failures == 1
    (message,) = caplog.messages
    assert message.startswith(
        "cannot tell what exists at and above /a/b/c: no answer in time; the call goes on: see"
    )


async def test_what_a_caller_may_not_see_they_do_not_make() -> None:
    """The NameNode is asked as the caller. A refusal does not mean that all ancestors are missing."""
    fixture = Fixture()
    fixture.keep("/a/b/x")
    tree = _Tree(hidden={"/a/b"})
    path_probe = fixture.above(tree)
    call = parse_call("PUT", "/webhdfs/v1/a/b/c?op=MKDIRS")
    assert await path_probe.probe(call, ALICE) == ExistingPath(is_known=False)
    assert path_probe.query_failures == 0


# ---- two-step writes --------------------------------------------------------------------------------

ALICE = RpcUser("alice")
SHE = TwoStepWriter(user=ALICE)
WHO_APPENDS = TwoStepWriter(user=ALICE, appends=True)
NOBODY_KNOWN = TwoStepWriter()


@dataclass
class _Tree:
    """A NameNode that answers immediately or after `takes_s`."""

    directories: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    writable: set[str] = field(default_factory=set)  # by alice
    hidden: set[str] = field(default_factory=set)  # from alice, with all below
    silent: int = 0  # number of questions without an answer
    takes_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    async def _see(self, path: str, caller: RpcUser | None) -> None:
        self.asked.append(path)
        await asyncio.sleep(self.takes_s)
        if self.silent:
            self.silent -= 1
            raise TimeoutError
        if caller is not None and any(f"{path}/".startswith(f"{each}/") for each in self.hidden):
            raise CallerRefusedError(path)

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        await self._see(path, caller)
        return path in {"/", *self.directories, *self.files}

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        await self._see(path, caller)
        return path in self.directories

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        if caller is None:
            return WriteRight.UNKNOWN
        try:
            await self._see(path, caller)
        except CallerRefusedError:
            return WriteRight.DENIED
        if path not in {"/", *self.directories, *self.files}:
            return WriteRight.MISSING
        return WriteRight.GRANTED if path in self.writable else WriteRight.DENIED

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        raise NotImplementedError

    async def last_txid(self, namenode: NameNode) -> int:
        raise NotImplementedError


def hers(silent: int = 0) -> _Tree:
    """Return a tree in which alice may write some paths."""
    return _Tree({"/a", "/a/b", "/p"}, {"/a/f", "/a/g"}, {"/a", "/a/f"}, silent=silent)


NO_RIGHT = ExistingPath(may_write=False)


@pytest.mark.parametrize(
    ("path", "writer", "existing"),
    [
        ("/", SHE, ExistingPath(is_directory=True)),
        ("/a/b", SHE, ExistingPath(is_directory=True)),
        ("/a/new", SHE, ExistingPath()),
        ("/a/f", SHE, ExistingPath()),
        ("/a/g", SHE, NO_RIGHT),  # the directory is hers, the file is not
        ("/a/c/x", SHE, ExistingPath(topmost_missing="/a/c")),
        ("/a/c/d/x", SHE, ExistingPath(topmost_missing="/a/c")),
        ("/a/b/x", SHE, NO_RIGHT),
        ("/a/b/c/x", SHE, NO_RIGHT),
        ("/p/x", SHE, NO_RIGHT),
        ("/new", SHE, NO_RIGHT),
        ("/n/e/w/x", SHE, NO_RIGHT),
        ("/a/f", WHO_APPENDS, ExistingPath()),
        ("/a/g", WHO_APPENDS, NO_RIGHT),
        ("/a/new", WHO_APPENDS, NO_RIGHT),
        ("/a/b", WHO_APPENDS, ExistingPath(is_directory=True)),
        # if the caller cannot be asked about, they are assumed to have the right
        ("/p/x", NOBODY_KNOWN, ExistingPath()),
        ("/p/q/r/x", NOBODY_KNOWN, ExistingPath(topmost_missing="/p/q")),
        ("/n/e/w/x", NOBODY_KNOWN, ExistingPath(topmost_missing="/n")),
    ],
)
async def test_a_two_step_write_is_looked_at_as_its_caller(
    path: str, writer: TwoStepWriter, existing: ExistingPath
) -> None:
    """A window is needed only if the caller can write to the nearest existing ancestor, and to an existing file."""
    path_probe = Fixture().above(hers())
    assert await path_probe.probe_write(path, writer) == existing


async def test_a_write_that_concerns_no_filter_is_not_asked_about() -> None:
    """Its window would cover nothing."""
    cache, tree = MetadataCache(CacheSettings(glob=("/x/*",))), hers()
    path_probe = PathProbe(cache, tree, lambda: NOW, query_timeout_s=1.0, two_step_timeout_s=1.0)
    assert await path_probe.probe_write("/p/x", SHE) == ExistingPath()
    assert tree.asked == []


async def test_what_the_caller_cannot_see_they_cannot_write() -> None:
    """A refusal for lack of rights is an answer; it never means that an ancestor is missing."""
    tree = _Tree(directories={"/h", "/h/d"}, hidden={"/h/d"})
    path_probe = Fixture().above(tree)
    for writer in (SHE, WHO_APPENDS):
        assert await path_probe.probe_write("/h/d/x", writer) == NO_RIGHT
    assert await path_probe.probe_write("/h/d/e/x", SHE) == NO_RIGHT


async def test_a_silent_namenode_is_asked_once_more() -> None:
    """One GC pause of the NameNode costs no window over a whole tree; after a longer one it is asked later."""
    tree = hers(silent=1)
    path_probe = Fixture().above(tree)
    assert await path_probe.probe_write("/a/new", SHE) == ExistingPath()
    tree.silent = 2
    assert await path_probe.probe_write("/a/c/d/x", SHE) == ExistingPath(topmost_missing="/a", is_known=False)
    tree.silent = 2
    assert await path_probe.probe_write("/a/f", WHO_APPENDS) == ExistingPath(is_known=False)
    assert path_probe.query_failures == 5


async def test_a_slow_namenode_is_waited_for_until_it_was_silent() -> None:
    """A slow NameNode, beyond the timeout of other queries, delays the redirect, but costs no reader a hit."""
    tree = hers()
    path_probe = PathProbe(
        Fixture().cache, tree, lambda: NOW, query_timeout_s=0.001, two_step_timeout_s=HANG_S
    )
    tree.takes_s = 0.01
    assert await path_probe.probe_write("/a/new", SHE) == ExistingPath()
    tree.silent = 2
    assert not (await path_probe.probe_write("/a/c/d/x", SHE)).is_known
    assert not (await path_probe.probe_write("/a/c/d/y", SHE)).is_known  # this redirect waits 1 ms
    unheld = await path_probe.probe_write("/a/c/d/x", SHE, is_held=False)
    assert unheld.is_known  # no redirect waits for this one
    assert (await path_probe.probe_write("/a/c/d/y", SHE)).is_known


async def test_a_flood_into_one_directory_shares_its_questions() -> None:
    """Writes that arrive while a question is in flight share the next one; if it fails, the one after that."""
    tree = hers()
    path_probe = Fixture().above(tree)
    for silent, asked in ((0, 2), (2, 3)):
        tree.asked.clear()
        tree.silent = silent
        probes = [path_probe.probe_write(f"/p/{number}", SHE) for number in range(100)]
        assert await asyncio.gather(*probes) == [NO_RIGHT] * 100
        assert tree.asked == ["/p"] * asked


async def test_no_answer_to_an_earlier_question_counts() -> None:
    """OwnWrites: the event of a right granted in between may be on its way, or lost with the stream."""
    tree = hers()
    path_probe = Fixture().above(tree)
    assert await path_probe.probe_write("/p/x", SHE) == NO_RIGHT
    tree.writable.add("/p")
    assert await path_probe.probe_write("/p/x", SHE) == ExistingPath()


async def test_the_depth_of_a_path_costs_few_questions() -> None:
    """Every ancestor of an existing path exists."""
    cache = MetadataCache(CacheSettings(glob=("/a" * 4 + "/*" * 200,)))
    tree = _Tree(directories={"/a" * depth for depth in range(1, 50)}, writable={"/a" * 49})
    path_probe = PathProbe(cache, tree, lambda: NOW, query_timeout_s=1.0, two_step_timeout_s=1.0)
    assert await path_probe.probe_write("/a" * 200, SHE) == ExistingPath(topmost_missing="/a" * 50)
    assert len(tree.asked) <= 12


# ---- the effect on a write --------------------------------------------------------------------------


async def test_an_ancestor_queried_while_created_is_forgotten() -> None:
    """OwnWrites: nothing of it was cached before the call, but its 404 arrived while the NameNode worked."""
    async with fixture() as s:

        async def make(settle: Settle) -> None:
            s.fill("/w/a", "/w/a/other")
            await settle(settled(200))
            assert not s.is_hit("/w/a")
            assert not s.is_hit("/w/a/other")

        await s.write("PUT", "/w/a/b/c?op=MKDIRS", ScriptedStreamer(make))


async def test_missing_ancestors_stay_uncached_until_step_two() -> None:
    """OwnWrites: a 404 cached now would be wrong once the DataNode has created the ancestors."""
    async with fixture() as s:
        writing = s.write("PUT", "/w/a/b/f?op=CREATE", ScriptedStreamer(script(settled(307, None))))
        for is_there in (False, True, False):  # the parent, then halfway to the root
            await let_tasks_run()
            s.namenode.existing.answer(result=is_there)
        await s.redirected(writing)
        for path in ("/w/a/b", "/w/a", "/w/a/other", "/w"):
            assert s.cache.explain(path, s.clock()).in_two_step_write
        assert not s.cache.explain("/w/other", s.clock()).in_two_step_write


async def test_a_rename_into_a_cached_directory_is_checked() -> None:
    """Otherwise one such call, in a directory that every user may write, would cost others all entries below it."""
    fixture = Fixture("/a")
    fixture.keep("/a/x")
    assert (await fixture.probe("PUT", "/b?op=RENAME&destination=/a")).destination_is_directory
    for destination in ("/c", "/", "/a/../a"):
        assert await fixture.probe("PUT", f"/b?op=RENAME&destination={destination}") == ExistingPath()
    assert fixture.namenode.directory_questions == ["/a"]


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (TimeoutError(), "no answer in time"),
        (RuntimeError("a bug"), "a bug"),
        (RuntimeError(), "RuntimeError"),
    ],
)
async def test_an_unreadable_destination_is_left_to_events(
    failure: Exception, why: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """FailToNameNode: the rename is still forwarded, and the log says why."""
    fixture = Fixture()
    fixture.keep("/a/x")

    async def is_directory(_: str, __: object) -> bool:
        raise failure

    monkeypatch.setattr(fixture.namenode, "is_directory", is_directory)
    assert await fixture.probe("PUT", "/b?op=RENAME&destination=/a") == ExistingPath(is_known=False)
    assert fixture.path_probe.query_failures == 1
    (message,) = caplog.messages
    assert message.startswith(f"cannot tell whether /a is a directory: {why}; the call goes on")
