"""Whole subtrees are deleted in bounded steps, the newest record last."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from nncache.coordination.errors import BadVersionError, NotAllowedError, NotEmptyError
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.invalidation.channel.published_filters import encode_published_filter
from nncache.invalidation.publisher.deletion import AT_ONCE, LeftZnodes, clear, delete_all, in_order
from nncache.invalidation.publisher.zookeeper_output import LOOK_S
from nncache.net.some_names import SHOWN
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.invalidation.publisher.fake_cluster import ZNODES, FakeCluster
from tests.invalidation.publisher.fakes import published
from tests.invalidation.virtual_time import clock, until


def test_records_go_from_the_oldest_on() -> None:
    """After a crash the end of the chain is left."""
    assert in_order(["10", "9", "else", "100"]) == ["else", "9", "10", "100"]


async def test_a_subtree_is_deleted_in_bounded_steps() -> None:
    """The step includes znodes of strangers; the root of the subtree stays."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/f/else/deep/down")
        await zookeeper.commit([CreateOp(f"/f/{txid}", b"") for txid in range(1200)])
        steps: list[Sequence[ZnodeOp]] = []

        async def commit(operations: Sequence[ZnodeOp]) -> None:
            await zookeeper.commit(operations)
            steps.append(operations)

        await clear(zookeeper, "/f", commit)
        assert await zookeeper.children("/f") == ()
        assert max(map(len, steps)) == AT_ONCE
        assert steps[-1][-1] == DeleteOp("/f/1199")


async def test_what_an_acl_does_not_let_us_delete_stays() -> None:
    """The znode stays visible, and the return value reports it."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/a/b")

        async def refuse(operations: Sequence[ZnodeOp]) -> None:
            raise NotAllowedError(operations[0].path)

        assert not await clear(zookeeper, "/a", refuse)


async def test_what_is_not_there_is_fine() -> None:
    """Another client may have deleted the znode already."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await clear(zookeeper, "/f", zookeeper.commit)
        await zookeeper.ensure("/a/b")
        await delete_all(zookeeper, ["/f", "/a"], zookeeper.commit)
        assert await zookeeper.get_many(["/a"]) == (None,)


async def test_nothing_is_deleted_past_a_fence() -> None:
    """A publisher that has lost its leadership deletes nothing."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/f/1")
        await zookeeper.ensure("/fence")
        with pytest.raises(BadVersionError):
            await clear(
                zookeeper, "/f", lambda deletions: zookeeper.commit([CheckOp("/fence", 9), *deletions])
            )
        assert await zookeeper.children("/f") == ("1",)


async def test_a_child_of_something_else_is_an_error() -> None:
    """Only the subtree to delete is cleared."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        await zookeeper.ensure("/f/1")
        await zookeeper.ensure("/g/1")
        with pytest.raises(NotEmptyError):
            await clear(zookeeper, "/f", lambda deletions: zookeeper.commit([DeleteOp("/g"), *deletions]))


async def test_what_an_acl_hides_can_be_deleted_if_nothing_is_below() -> None:
    """The owner of the parent may delete it. With children it stays, and costs nothing else."""
    server = FakeZooKeeper(clock)
    async with server.session() as zookeeper:
        await zookeeper.commit([CreateOp(path, b"") for path in ("/a", "/b", "/b/c")])
        server.tree.forbidden = {"/a", "/b"}
        assert not await clear(zookeeper, "/a", zookeeper.commit)
        await delete_all(zookeeper, ["/a"], zookeeper.commit)
        assert server.tree.paths == ("/b", "/b/c")
        await zookeeper.commit([CreateOp(path, b"") for path in ("/a", "/d", "/d/e", "/d/f", "/d/f/g", "/h")])
        server.tree.forbidden = {"/b", "/d/f"}
        left = await delete_all(zookeeper, ["/a", "/b", "/d", "/h"], zookeeper.commit)
        assert sorted(left) == ["/b", "/d"]
        assert " ".join(server.tree.paths) == "/b /b/c /d /d/f /d/f/g"


TAKEN = (ZNODES.definition("d"), ZNODES.stream("s"), ZNODES.definition("else"))


async def hide(on: FakeCluster, *paths: str) -> None:
    """Create unreadable znodes, each with a child."""
    for path in paths:
        await on.outsider.commit([CreateOp(path, b"?"), CreateOp(f"{path}/below", b"")])
        on.zookeeper.tree.forbidden.add(path)


def shown(on: FakeCluster) -> set[str]:
    """Return the names of the filters that a proxy finds in force."""
    tree = on.zookeeper.tree
    hidden, tree.forbidden = tree.forbidden, set()
    found = on.published_filters().keys()
    tree.forbidden = hidden
    return {name for name in found if ZNODES.definition(name) not in hidden}


async def test_hidden_znodes_cost_the_filters_of_their_names(
    on: FakeCluster,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They take the place of definitions or streams. Other filters are published and change; each is logged once."""
    caplog.set_level(logging.WARNING)
    async with on.publishing() as process:
        await hide(on, *TAKEN)
        await asyncio.sleep(2 * LOOK_S)  # one check finds them planted and ends the run
        failed = process.publisher.stats().runs_failed
        for name in "ds":
            on.filters.put(name, f"/{name}")
        on.filters.put("g", "/g")
        await until(lambda: shown(on) == {"f", "g"})
        await asyncio.sleep(1)
        changes, generation = process.publisher.stats().filter_changes, on.generation()
        on.filters.put("d", "/other")
        await asyncio.sleep(3 * LOOK_S)
        assert on.generation() == generation, "nothing has changed that a proxy could read"
        assert process.publisher.filters.keys() == {"f", "g"}
        changed = on.namenode.unlink("/g")
        await on.published()
        assert on.reported("g") == [changed]
        assert process.publisher.stats().runs_failed == failed <= 1
        assert process.publisher.stats().filter_changes == changes
        on.zookeeper.tree.forbidden.clear()
        on.filters.remove("f")
        await until(lambda: shown(on) == {"d", "g", "s"})
    reported = [record.getMessage() for record in caplog.records if "ACL" in record.getMessage()]
    assert [sum(path in line for line in reported) for path in TAKEN] == [1, 1, 1]


async def test_a_beginning_passes_them_over(on: FakeCluster) -> None:
    """Some are strangers' records. Afterwards they are known, and no check takes them for newly planted."""
    async with on.publisher():
        await on.with_filter()
    await hide(on, *TAKEN, f"{ZNODES.cache}/notes")
    await on.outsider.commit([SetDataOp(ZNODES.cache, b"void")])
    async with on.publisher() as process:
        await until(lambda: shown(on) == {"f"})
        await asyncio.sleep(3 * LOOK_S)
        await on.published(on.namenode.unlink("/f"))
        assert process.publisher.stats().runs_failed == 0


async def test_a_damaged_filter_that_cannot_restart_is_out_of_force(on: FakeCluster) -> None:
    """Its events have no stream, but all other filters are published."""
    async with on.publishing():
        await on.with_filter("g", "/g")
    await on.outsider.commit([SetDataOp(ZNODES.stream("f"), b"x")])
    await hide(on, f"{ZNODES.stream('f')}/else")
    async with on.publisher() as process:
        await on.published(on.namenode.unlink("/f"))
        assert process.publisher.filters.keys() == {"g"}
        assert process.publisher.stats().runs_failed == 0


async def test_a_filter_in_force_that_is_hidden_goes_out_of_force(on: FakeCluster) -> None:
    """P3: caches that have read it are made to read again, and find it refused."""
    async with on.publishing() as process:
        await on.with_filter("g", "/g")
        path, known = ZNODES.definition("f"), on.generation()
        await on.outsider.commit([CreateOp(f"{path}/below", b"")])
        on.zookeeper.tree.forbidden.add(path)
        on.filters.remove("f")
        await until(lambda: process.publisher.filters.keys() == {"g"})
        assert on.generation() > known
        await on.published(on.namenode.unlink("/f"))


async def test_a_definition_that_can_be_read_is_emptied(on: FakeCluster) -> None:
    """Bounded: otherwise proxies would take it for a filter whose changes are published."""
    async with on.publishing() as process:
        path = ZNODES.definition("planted")
        data = encode_published_filter(published("planted", "/p", since_txid=3))
        await on.outsider.commit([CreateOp(path, data)])
        assert shown(on) == {"f", "planted"}
        await hide(on, f"{path}/else")
        await until(lambda: shown(on) == {"f"}, within_s=2 * LOOK_S)
        await asyncio.sleep(3 * LOOK_S)
        assert on.zookeeper.tree.read(path).data == b""
        assert process.publisher.filters.keys() == {"f"}


async def test_a_line_of_the_log_is_of_bounded_length(caplog: pytest.LogCaptureFixture) -> None:
    """One line names a bounded number of znodes, and each znode is logged once."""
    caplog.set_level(logging.WARNING)
    async with FakeZooKeeper(clock).session() as zookeeper:
        left = LeftZnodes(zookeeper, ZNODES)
        paths = [ZNODES.stream(f"s{number}") for number in range(10, 15 + SHOWN)]
        await left.leave(paths[:1], zookeeper.commit)
        await left.leave(paths, zookeeper.commit)
        await left.leave(paths, zookeeper.commit)
    first, second = (record.getMessage() for record in caplog.records)
    assert "/s10: it stays" in first
    assert "/s11, " in second
    assert " and 4 more: it stays" in second
