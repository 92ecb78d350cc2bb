"""Whole subtrees are deleted, in bounded steps, the newest record last."""

from collections.abc import Sequence

import pytest

from nncache.coordination.errors import BadVersionError, NotAllowedError, NotEmptyError
from nncache.coordination.zookeeper import Check, Create, Delete, Operation
from nncache.invalidation.publisher.delete_tree import AT_ONCE, clear, delete_all, in_order
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.invalidation.virtual_time import clock


def test_records_go_from_the_oldest_on() -> None:
    """What is left after a crash is the end of the chain."""
    assert in_order(["10", "9", "else", "100"]) == ["else", "9", "10", "100"]


async def test_a_subtree_is_deleted_in_bounded_steps() -> None:
    """Also what others have put below; the znode itself stays."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/f/else/deep/down")
        await zookeeper.commit([Create(f"/f/{txid}", b"") for txid in range(1200)])
        steps: list[Sequence[Operation]] = []

        async def commit(operations: Sequence[Operation]) -> None:
            await zookeeper.commit(operations)
            steps.append(operations)

        await clear(zookeeper, "/f", commit)
        assert await zookeeper.children("/f") == ()
        assert max(map(len, steps)) == AT_ONCE
        assert steps[-1][-1] == Delete("/f/1199")


async def test_what_an_acl_does_not_let_us_delete_stays() -> None:
    """It can be seen; whoever asked for its end is told."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/a/b")

        async def refuse(operations: Sequence[Operation]) -> None:
            raise NotAllowedError(operations[0].path)

        assert not await clear(zookeeper, "/a", refuse)


async def test_what_is_not_there_is_fine() -> None:
    """Somebody may have been quicker."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await clear(zookeeper, "/f", zookeeper.commit)
        await zookeeper.ensure("/a/b")
        await delete_all(zookeeper, ["/f", "/a"], zookeeper.commit)
        assert await zookeeper.get_many(["/a"]) == (None,)


async def test_nothing_is_deleted_past_a_fence() -> None:
    """Whoever is no longer the publisher deletes nothing."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/f/1")
        await zookeeper.ensure("/fence")
        with pytest.raises(BadVersionError):
            await clear(zookeeper, "/f", lambda deletions: zookeeper.commit([Check("/fence", 9), *deletions]))
        assert await zookeeper.children("/f") == ("1",)


async def test_a_child_of_something_else_is_an_error() -> None:
    """Only what is being deleted is cleared."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/f/1")
        await zookeeper.ensure("/g/1")
        with pytest.raises(NotEmptyError):
            await clear(zookeeper, "/f", lambda deletions: zookeeper.commit([Delete("/g"), *deletions]))


async def test_what_an_acl_hides_can_be_deleted_if_nothing_is_below() -> None:
    """Whoever owns the parent may delete it; with something below it stays, and costs nothing else."""
    server = FakeZooKeeper(clock)
    async with server.session() as zookeeper:
        await zookeeper.commit([Create(path, b"") for path in ("/a", "/b", "/b/c")])
        server.tree.forbidden = {"/a", "/b"}
        assert not await clear(zookeeper, "/a", zookeeper.commit)
        await delete_all(zookeeper, ["/a"], zookeeper.commit)
        assert server.tree.paths == ("/b", "/b/c")
        await zookeeper.commit([Create(path, b"") for path in ("/a", "/d", "/d/e", "/d/f", "/d/f/g", "/h")])
        server.tree.forbidden = {"/b", "/d/f"}
        left = await delete_all(zookeeper, ["/a", "/b", "/d", "/h"], zookeeper.commit)
        assert sorted(left) == ["/b", "/d"]
        assert " ".join(server.tree.paths) == "/b /b/c /d /d/f /d/f/g"
