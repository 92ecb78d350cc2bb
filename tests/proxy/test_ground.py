"""What is there already decides what a call can cost (guarantees OwnWrites and FailToNameNode)."""

import asyncio

import pytest

from cache import Kind, Known, MetadataCache, Reply
from cache.settings import CacheSettings
from hadoop.calls import read_call
from proxy.ground import Ground, Surveyor
from proxy.upstream import Settle
from tests.proxy.doubles import HeldNameNode, ScriptedStreamer, caller, script, settled, turns
from tests.proxy.write_scene import scene

GLOBS = ("/*", "/*/*", "/*/*/*", "/*/*/*/*")
NOW = 10.0


class Scene:
    """A cache, a NameNode that says which paths are directories, and the surveyor between them."""

    def __init__(self, *directories: str) -> None:
        self.cache = MetadataCache(CacheSettings(glob=GLOBS))
        self.cache.open_stream(1)
        self.cache.cover(NOW, 1)
        self.namenode = HeldNameNode(directories=set(directories))
        self.surveyor = Surveyor(self.cache, self.namenode, lambda: NOW, query_timeout_s=0.05)

    def keep(self, path: str, kind: Kind = Kind.MISSING) -> None:
        """Keep an outcome for a path."""
        ticket = self.cache.store.take_ticket(path, caller(), NOW, joinable=True)
        reply = Reply(404 if kind is Kind.MISSING else 200, (), b"")
        self.cache.conclude(ticket, Known(reply=reply, kind=kind, replied_at=NOW, term=1))

    async def survey(self, method: str, target: str) -> Ground:
        """Survey a call below /webhdfs/v1."""
        return await self.surveyor.survey(read_call(method, "/webhdfs/v1" + target))


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
    """Only calls that make something are worth a question."""
    scene = Scene("/a", "/b")
    scene.keep("/a/x")
    assert await scene.survey(method, target) == Ground()
    assert scene.namenode.directory_questions == []


async def test_a_directory_in_the_files_place_is_found_before_a_two_step_write() -> None:
    """The NameNode redirects a CREATE of a directory for anybody: no window may come of that."""
    scene = Scene("/user")
    assert (await scene.survey("PUT", "/user?op=CREATE")).is_directory
    assert (await scene.survey("POST", "/user?op=APPEND")).is_directory
    assert not (await scene.survey("PUT", "/user/f?op=CREATE")).is_directory
    assert (await scene.survey("PUT", "?op=CREATE")).is_directory


async def test_own_writes_a_write_of_two_steps_does_not_take_the_caches_word_for_a_directory() -> None:
    """OwnWrites: one that was deleted elsewhere, its event on the way, can become a file: a window follows that."""
    scene = Scene("/a")
    scene.keep("/b/x", Kind.FILE)
    assert (await scene.survey("PUT", "/b?op=MKDIRS")).is_directory
    assert not (await scene.survey("PUT", "/b?op=CREATE")).is_directory
    assert scene.namenode.directory_questions == ["/b"]


async def test_mkdirs_of_a_directory_that_is_there_makes_nothing() -> None:
    """The cache's own proof is enough; otherwise the NameNode is asked, if there is anything to lose."""
    scene = Scene("/b")
    scene.keep("/a/x", Kind.FILE)
    scene.keep("/b/x")
    assert (await scene.survey("PUT", "/a?op=MKDIRS")).is_directory
    assert scene.namenode.directory_questions == []
    assert (await scene.survey("PUT", "/b?op=MKDIRS")).is_directory
    assert not (await scene.survey("PUT", "/c?op=MKDIRS")).is_directory
    assert scene.namenode.directory_questions == ["/b"]


async def test_the_topmost_missing_ancestor_is_found() -> None:
    """Nearest first, until one exists."""
    scene = Scene()
    scene.keep("/a")
    scene.keep("/a/b/x")
    async with asyncio.TaskGroup() as group:
        surveying = group.create_task(scene.survey("PUT", "/a/b/c?op=MKDIRS"))
        await turns()
        scene.namenode.existing.answer(result=False)
        await turns()
        scene.namenode.existing.answer(result=True)
    assert surveying.result() == Ground(topmost_missing="/a/b")


async def test_a_two_step_write_asks_also_about_ancestors_of_which_nothing_is_kept() -> None:
    """OwnWrites: they may be made long after the redirect, and somebody may ask about them meanwhile."""
    scene = Scene()
    async with asyncio.TaskGroup() as group:
        surveying = group.create_task(scene.survey("PUT", "/a/b/c?op=CREATE"))
        await turns()
        scene.namenode.existing.answer(result=False)
        await turns()
        scene.namenode.existing.answer(result=True)
    assert scene.namenode.existing.calls == [("/a/b",), ("/a",)]
    assert surveying.result() == Ground(topmost_missing="/a/b")


async def test_to_take_what_nobody_asks_about_for_missing_costs_nothing() -> None:
    """OwnWrites: somebody may ask about it before the call has done its work."""
    scene = Scene()
    assert await scene.survey("PUT", "/a/b/c?op=MKDIRS") == Ground(topmost_missing="/a")
    assert scene.namenode.existing.calls == []


async def test_an_uncertain_call_that_may_be_a_creation_is_looked_at_like_one() -> None:
    """Releases differ in which of two values counts."""
    scene = Scene()
    surveyed = scene.survey("PUT", "/a/b/c?op=MKDIRS&op=CREATE")
    assert await surveyed == Ground(topmost_missing="/a", is_known=False)
    assert scene.surveyor.query_failures == 1


async def test_what_is_not_known_to_exist_is_missing() -> None:
    """A silent NameNode costs hits, not exactness, and no longer than one query may take."""
    scene = Scene()
    scene.keep("/a/b/x")
    assert await scene.survey("PUT", "/a/b/c?op=CREATE") == Ground(topmost_missing="/a", is_known=False)
    assert scene.surveyor.query_failures == 1
    assert await scene.survey("POST", "/a/b/c?op=APPEND") == Ground()


# ---- what comes of it in a write --------------------------------------------------------------------


async def test_an_ancestor_that_was_asked_about_while_it_was_made_is_forgotten() -> None:
    """OwnWrites: nothing of it was kept before the call, but its 404 came in while the NameNode worked."""
    async with scene() as s:

        async def make(settle: Settle) -> None:
            s.fill("/w/a", "/w/a/other")
            await settle(settled(200))
            assert not s.is_hit("/w/a")
            assert not s.is_hit("/w/a/other")

        await s.write("PUT", "/w/a/b/c?op=MKDIRS", ScriptedStreamer(make))


async def test_missing_ancestors_stay_out_of_the_cache_until_the_second_step() -> None:
    """OwnWrites: nobody had asked about them, but a 404 kept now would be wrong once the DataNode has made them."""
    async with scene() as s:
        writing = s.write("PUT", "/w/a/b/f?op=CREATE", ScriptedStreamer(script(settled(307, None))))
        for is_there in (False, False, True):
            await turns()
            s.namenode.existing.answer(result=is_there)
        await turns()
        s.namenode.txids.answer(500)
        await writing
        for path in ("/w/a/b", "/w/a", "/w/a/other", "/w"):
            assert s.cache.explain(path, s.clock()).in_two_step_write
        assert not s.cache.explain("/w/other", s.clock()).in_two_step_write


async def test_a_call_of_two_minds_counts_as_either() -> None:
    """OwnWrites: that nothing can be created in a directory's place says nothing of a rename of it."""
    async with scene() as s:
        s.namenode.directories.add("/w/d")
        s.fill("/w/d/f", "/w/e")
        target = "/w/d?op=RENAME&destination=/w/e&op=CREATE"
        await s.write("PUT", target, ScriptedStreamer(script(settled(200))))
        assert not s.is_hit("/w/d/f")
        assert not s.is_hit("/w/e")


async def test_a_two_step_write_is_looked_at_again_if_the_namenode_had_paused() -> None:
    """Else one pause of its collector would keep a whole top directory out of the cache, perhaps for minutes."""
    async with scene() as s:
        writing = s.write("PUT", "/w/a/b/f?op=CREATE", ScriptedStreamer(script(settled(307, None))))
        for answer in (TimeoutError(), True):
            await turns()
            s.namenode.existing.answer(answer)
        await turns()
        s.namenode.txids.answer(500)
        await writing
        assert s.cache.explain("/w/a/b/f", s.clock()).in_two_step_write
        assert not s.cache.explain("/w/a/other", s.clock()).in_two_step_write


async def test_a_directory_that_is_found_only_then_opens_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NameNode redirects a creation in its place, but nothing will come of it."""
    async with scene() as s:
        asked = iter([TimeoutError()])

        async def is_directory(_: str) -> bool:
            if (error := next(asked, None)) is not None:
                raise error
            return True

        monkeypatch.setattr(s.namenode, "is_directory", is_directory)
        await s.write("PUT", "/w/d?op=CREATE", ScriptedStreamer(script(settled(307, None))))
        assert not s.cache.explain("/w/d", s.clock()).in_two_step_write
