"""What is there already decides what a call can cost (guarantees OwnWrites and FailToNameNode)."""

import asyncio

import pytest

from cache import Kind, Known, MetadataCache, Reply
from cache.settings import CacheSettings
from hadoop.calls import read_call
from proxy.ground import Ground, Surveyor
from tests.proxy.doubles import HeldNameNode, caller, turns

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


async def test_what_is_not_known_to_exist_is_missing() -> None:
    """A silent NameNode costs hits, not exactness, and no longer than one query may take."""
    scene = Scene()
    scene.keep("/a/b/x")
    assert await scene.survey("PUT", "/a/b/c?op=CREATE") == Ground(topmost_missing="/a")
    assert scene.surveyor.query_failures == 1
    assert await scene.survey("POST", "/a/b/c?op=APPEND") == Ground()
