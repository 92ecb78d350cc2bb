"""DataNodes die, return, lose and damage replicas; the replication queues make up for it."""

import asyncio
import itertools
import json
import random
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.errors import BadVersionError, ConnectionLostError, OutcomeUnknownError
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, Znode, ZnodeOp
from nncache.namenode import on_zookeeper
from nncache.namenode.datanode import datanode as datanodes
from nncache.namenode.datanode.peers import PeerError
from nncache.namenode.datanode.replicas import CorruptReplicaError
from nncache.namenode.namespace import attributes, inventory, layout, leases
from nncache.namenode.namespace.inode import Block, encode
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.namespace.replication import MAX_FAILURES, ReplicationPlan, Situation, plan
from nncache.namenode.node import claims, replicating
from nncache.namenode.node.claims import Claims
from nncache.namenode.node.fsck import fsck
from nncache.namenode.node.leading import FencedZnodes, NotLeadingError
from nncache.namenode.node.namenode import NameNodeService
from nncache.namenode.node.observer_clocks import HARD_LIMIT_S
from tests.namenode.ensemble import DeadError
from tests.namenode.fixture import HOST, ROOT_USER
from tests.namenode.several import (
    BLOCK,
    DATA,
    DEAD_S,
    SOON_S,
    DataNodeProcess,
    NameNodeProcess,
    Several,
    names,
    several,
)
from tests.namenode.test_several_datanodes import chain_of, damage, flip


async def numbers(cluster: Several, path: str = "/f") -> list[int]:
    """Return the number of good replicas of each block of a file."""
    return [len(each) for each in await cluster.held(path)]


async def set_replication(cluster: Several, replication: int, path: str = "/f") -> None:
    """Set a file's replication."""
    namenode = cluster.namenodes[0].running.namenode
    assert await namenode.change(path, attributes.set_replication, namenode.caller(ROOT_USER), replication)


# ---- absence and death ---------------------------------------------------------------------------------------------


async def test_no_copy_is_made_while_a_datanode_is_away(tmp_path: Path) -> None:
    """Z16: its session has ended, so it is stale; for 10.5 minutes no replica is copied because of that."""
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f")
        held = set.union(*await cluster.held("/f"))
        away = next(each for each in cluster.datanodes[1:] if each.name in held)
        await cluster.kill(away)
        await cluster.tick()
        cluster.clock.advance(DEAD_S - 20)
        await cluster.settle(2)
        assert await cluster.queued() == []
        assert cluster.namenodes[0].running.replicating.ordered == 0
        await cluster.start_datanode(away.directory.name)
        await cluster.settle()
        assert await numbers(cluster) == [3, 3, 3]
        assert cluster.namenodes[0].running.replicating.ordered == 0
        assert await cluster.wrong() == []


async def test_what_a_dead_datanode_had_is_copied_and_it_returns(tmp_path: Path) -> None:
    """Z16: after its return the surplus replicas are deleted; other DataNodes carry out its orders."""
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f")
        dead = cluster.datanodes[0]
        await cluster.kill(dead)
        await cluster.die()
        await cluster.settle()
        assert await cluster.held("/f") == [names(cluster.datanodes)] * 3
        assert await cluster.opened("/f") == DATA
        assert await cluster.wrong() == []
        await cluster.start_datanode(dead.directory.name)
        await cluster.settle()
        assert await numbers(cluster) == [3, 3, 3]
        assert await cluster.wrong() == []


async def test_a_burial_takes_several_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z16: other work is not delayed by it."""
    monkeypatch.setattr(replicating, "_BUCKETS_AT_ONCE", 1)
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f", replication=4)
        await cluster.kill(cluster.datanodes[0])
        await cluster.die()
        assert sorted(await numbers(cluster)) == [3, 4, 4]
        await cluster.settle(4)
        assert await numbers(cluster) == [3, 3, 3]


async def test_a_burial_withdraws_many_orders_in_several_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z16: a dead DataNode may have a long queue."""
    monkeypatch.setattr(replicating, "_ORDERS_AT_ONCE", 2)
    monkeypatch.setattr(replicating, "_OF_ONE_STEP", 1)
    async with several(tmp_path) as cluster:
        dead, znodes = cluster.datanodes[0], cluster.namenodes[0].running.znodes
        await cluster.kill(dead)
        await znodes.commit([CreateOp(layout.deletion(dead.name, block), b"") for block in range(5)])
        await cluster.tick()
        cluster.clock.advance(DEAD_S + 1)
        left: list[int] = []
        for _ in range(3):
            await cluster.tick()
            left.append(len(await znodes.children(layout.deletions(dead.name))))
        assert left == [3, 1, 0]


async def test_no_append_behind_a_lost_block(tmp_path: Path) -> None:
    """As with HDFS, the file stays closed; once the DataNode is back it can be read and appended to."""
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f", DATA[:1000], replication=1)
        dead = cluster.datanodes[0]
        await cluster.kill(dead)
        await cluster.die()
        namenode = cluster.namenodes[0].running.namenode
        root = namenode.caller(ROOT_USER)
        with pytest.raises(Refusal, match="of src=/f is not sufficiently replicated yet"):
            await cluster.datanodes[0].running.datanode.append(root, "/f", HOST)
        assert await namenode.read("/f", leases.is_file_closed, root)
        await cluster.start_datanode(dead.directory.name)
        await cluster.settle()
        upload = await cluster.datanodes[0].running.datanode.append(root, "/f", HOST)
        await upload.write(DATA[1000:1100])
        await upload.close()
        assert await cluster.opened("/f") == DATA[:1100]
        assert await cluster.wrong() == []


class _Compared(str):
    """A string that counts its comparisons."""

    __slots__ = ()
    __hash__ = str.__hash__
    compared = 0

    def __eq__(self, other: object) -> bool:
        _Compared.compared += 1
        return super().__eq__(other)


async def test_many_blocks_that_wait_cost_a_tick_little(tmp_path: Path) -> None:
    """Z16: a tick checks some of them; each of the others costs at most one comparison."""
    async with several(tmp_path, datanodes=0) as cluster:
        running = cluster.namenodes[0].running
        blocks = range(10**6, 10**6 + 2_000)
        for at in range(0, len(blocks), 1_000):
            await running.znodes.commit(
                [CreateOp(layout.waiting(each), b"") for each in blocks[at : at + 1_000]]
            )
        seen: dict[str, float] = {_Compared(block): 0.0 for block in blocks}
        running.replicating._whole_since = seen  # noqa: SLF001 - as if all had been seen before
        await running.replicating.tick()
        assert _Compared.compared <= 2 * len(blocks)


async def test_orders_of_a_dead_datanode_are_handed_on(tmp_path: Path) -> None:
    """Z16: other DataNodes make its copies; it carries out its deletions when it is back."""
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f")
        await cluster.write("/gone")
        namenode = cluster.namenodes[0].running.namenode
        held = set.union(*await cluster.held("/f"))
        dead, *_ = [
            each for each in cluster.datanodes if each.name in set.union(*await cluster.held("/gone"))
        ]
        target = next((each for each in cluster.datanodes if each.name not in held), dead)
        await set_replication(cluster, 4)
        for _ in range(3):
            await cluster.look()
            cluster.clock.advance(6)
        assert [name for name in await cluster.queued() if name.startswith(layout.REPLICATE)] != []
        for each in {dead.name: dead, target.name: target}.values():
            await cluster.kill(each)
        await namenode.delete(namenode.caller(ROOT_USER), "/gone", recursive=False)
        await cluster.die()
        await cluster.settle()
        left = [name for name in await cluster.queued() if not name.startswith(layout.WAIT_FOR_ACKS)]
        assert left == []
        await cluster.start_datanode(dead.directory.name)
        if target is not dead:
            await cluster.start_datanode(target.directory.name)
        await cluster.settle()
        assert await numbers(cluster) == [4, 4, 4]
        assert await cluster.wrong() == []


async def test_a_lost_block_is_back_with_its_last_datanode(tmp_path: Path) -> None:
    """Until the DataNode is back, the block is missing and queued."""
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f", replication=1)
        dead = cluster.datanodes[0]
        await cluster.kill(dead)
        await cluster.die()
        assert await numbers(cluster) == [0, 0, 0]
        await cluster.start_datanode(dead.directory.name)
        await cluster.settle()
        assert await cluster.opened("/f") == DATA
        assert await cluster.wrong() == []


async def test_a_datanode_that_was_paused_reports_when_it_goes_on(tmp_path: Path) -> None:
    """Z16: its process never ended but was declared dead; its dropped replicas are counted again."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", replication=2)
        paused = cluster.datanodes[0]
        cluster.datanodes.remove(paused)
        await paused.member.expire()
        await cluster.die()
        await cluster.settle()
        cluster.datanodes.append(paused)
        await cluster.settle()
        assert await numbers(cluster) == [2, 2, 2]
        assert await cluster.wrong() == []


async def test_a_datanode_returns_together_with_its_address(tmp_path: Path) -> None:
    """No transaction combines its heartbeat with the address of its previous process."""
    async with several(tmp_path, datanodes=1) as cluster:
        before = cluster.datanodes[0]
        await cluster.kill(before)
        ended = len(cluster.ensemble.log)
        after = await cluster.start_datanode(before.directory.name)
        znodes = EmbeddedZnodes()
        for number, operations in enumerate(tuple(cluster.ensemble.log)):
            await znodes.commit(operations)
            if number >= ended:
                paths = [f"/nn{layout.health(after.name)}", f"/nn{layout.heartbeat(after.name)}"]
                record, heartbeat = await znodes.get_many(paths)
                assert record is not None
                assert heartbeat is None or json.loads(record.data)["http"] == after.running.http


async def test_a_datanode_that_was_paused_leaves_the_next_its_address(tmp_path: Path) -> None:
    """The pause began between its read of the heartbeat and the write of its own record."""
    async with several(tmp_path, datanodes=1) as cluster:
        paused = cluster.datanodes[0]
        seen = paused.running.znodes.get_many
        following: list[DataNodeProcess] = []

        async def read(paths: Sequence[str]) -> tuple[Znode | None, ...]:
            found: tuple[Znode | None, ...] = await seen(paths)
            if layout.heartbeat(paused.name) in paths and not following:
                following.append(paused)
                cluster.datanodes.remove(paused)
                await paused.member.expire()
                following[0] = await cluster.start_datanode(paused.directory.name)
                cluster.datanodes.append(paused)  # so that it is ended, too
            return found

        paused.running.znodes.get_many = read  # type: ignore[method-assign] # to interleave
        with paused.running.datanode.transferring():
            with suppress(BadVersionError):
                await paused.running.tick()
            await paused.running.tick()
        namenode = cluster.namenodes[0].running
        await namenode.datanodes.look()
        assert namenode.datanodes.there[paused.name].http == following[0].running.http


async def test_a_burial_stops_when_the_datanode_returns(tmp_path: Path) -> None:
    """Z16: the leader drops no more replicas of a DataNode once it has reported that it is back."""
    async with several(tmp_path, namenodes=1) as cluster:
        await cluster.write("/f")
        dead = cluster.datanodes[0]
        await cluster.kill(dead)
        await cluster.tick()
        cluster.clock.advance(DEAD_S + 1)
        leader = cluster.namenodes[0].running
        await leader.datanodes.look()
        leader.replicating.observe()
        seen = leader.replicating._own.get_many  # noqa: SLF001 - to interleave
        back: list[DataNodeProcess] = []

        async def read(paths: Sequence[str]) -> tuple[Znode | None, ...]:
            found: tuple[Znode | None, ...] = await seen(paths)
            if paths[0] == layout.health(dead.name) and not back:
                back.append(await cluster.start_datanode(dead.directory.name))
            return found

        leader.replicating._own.get_many = read  # type: ignore[method-assign] # noqa: SLF001 - as above
        await leader.replicating._bury(dead.name)  # noqa: SLF001 - as above
        assert back
        assert await numbers(cluster) == [3, 3, 3]


# ---- the number of replicas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(1, 3), (4, 2)])
async def test_setting_the_replication_changes_the_replicas(before: int, after: int, tmp_path: Path) -> None:
    """Z19: a higher replication makes copies, a lower one deletions."""
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f", replication=before)
        await set_replication(cluster, after)
        await cluster.settle()
        assert await numbers(cluster) == [after] * 3
        assert await cluster.opened("/f") == DATA
        assert await cluster.wrong() == []


@pytest.mark.parametrize(("target", "source"), [(3, 1), (1, 3), (2, 2)])
async def test_joined_blocks_have_as_many_replicas_as_the_file_wants(
    target: int, source: int, tmp_path: Path
) -> None:
    """This holds for a source with another replication; nothing is queued where the replications are equal."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", replication=target)
        await cluster.write("/g", replication=source)
        await cluster.settle()
        namenode = cluster.namenodes[0].running.namenode
        await namenode.concat(namenode.caller(ROOT_USER), "/f", ["/g"])
        assert len(await cluster.queued()) == (0 if target == source else 1)
        await cluster.settle()
        assert await numbers(cluster) == [target] * 6
        assert await cluster.opened("/f") == DATA * 2
        assert await cluster.wrong() == []


async def test_blocks_that_were_to_be_looked_at_are_so_when_they_are_joined(tmp_path: Path) -> None:
    """Blocks queued for their own file are queued again for the new one: after SETREPLICATION, or another CONCAT."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", replication=3)
        await cluster.write("/g", replication=1)
        await cluster.write("/h", replication=1)
        await cluster.settle()
        namenode = cluster.namenodes[0].running.namenode
        root = namenode.caller(ROOT_USER)
        await set_replication(cluster, 3, "/g")
        await namenode.concat(root, "/g", ["/h"])
        await namenode.concat(root, "/f", ["/g"])
        await cluster.settle()
        assert await numbers(cluster) == [3] * 9
        assert await cluster.wrong() == []


async def test_what_a_deleted_file_had_goes(tmp_path: Path) -> None:
    """Its replicas are deleted at all DataNodes, even while they are being copied and deleted."""
    async with several(tmp_path, datanodes=4) as cluster:
        namenode = cluster.namenodes[0].running.namenode
        for number, replication in enumerate((1, 4)):
            await cluster.write(f"/f{number}", replication=2)
            await set_replication(cluster, replication, f"/f{number}")
        await cluster.look()
        cluster.clock.advance(6)
        await cluster.look()
        for number in range(2):
            await namenode.delete(namenode.caller(ROOT_USER), f"/f{number}", recursive=False)
        await cluster.settle()
        assert await cluster.wrong() == []
        assert [each.running.datanode.replicas.blocks() for each in cluster.datanodes] == [{}] * 4


async def test_a_copy_that_fails_is_made_at_another_datanode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z17: an impossible order does not block others; the DataNode is used again once it has recovered."""
    async with several(tmp_path, datanodes=3) as cluster:
        await cluster.write("/f", DATA[:100], replication=1)
        failing: set[str] = {cluster.datanodes[1].name}
        copy = datanodes.DataNode._copy  # noqa: SLF001 - to have it fail

        async def fail(self: datanodes.DataNode, block: Block, order: str) -> None:
            if self.name in failing:
                raise OSError("the disk is broken")
            await copy(self, block, order)

        monkeypatch.setattr(datanodes.DataNode, "_copy", fail)
        await set_replication(cluster, 2)
        await cluster.settle(MAX_FAILURES + 6)
        assert await cluster.held("/f") == [{cluster.datanodes[0].name, cluster.datanodes[2].name}]
        await set_replication(cluster, 3)
        await cluster.settle(6)
        assert await numbers(cluster) == [2]
        failing.clear()
        await cluster.settle(6)
        assert await numbers(cluster) == [3]
        assert await cluster.wrong() == []


# ---- corrupt and missing -------------------------------------------------------------------------------------------


async def test_a_corrupt_replica_is_replaced_and_then_goes(tmp_path: Path) -> None:
    """Z11: a read marks it; a copy of a good replica precedes the deletion."""
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f")
        bad = cluster.datanodes[0]
        damage(bad, flip)
        for block in (await cluster.file("/f")).blocks:
            with suppress(PeerError):
                [part async for part in cluster.datanodes[1].running.datanode.peers._get(  # type: ignore[union-attr] # noqa: SLF001 - of that one
                    bad.name, block, f"begin=0&length={block.length}")]  # fmt: skip
        assert await numbers(cluster) == [2, 2, 2]
        assert await cluster.opened("/f") == DATA
        await cluster.settle()
        assert await cluster.held("/f") == [names(cluster.datanodes[1:])] * 3
        assert await cluster.wrong() == []


async def test_a_corrupt_replica_is_overwritten_if_all_have_one(tmp_path: Path) -> None:
    """Z11: a good copy replaces it at the same DataNode."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", DATA[:5000])
        damage(cluster.datanodes[0], flip)
        (block,) = (await cluster.file("/f")).blocks
        await cluster.datanodes[0].running.datanode.found_corrupt(block.id)
        await cluster.settle()
        assert await numbers(cluster) == [3]
        assert b"".join(cluster.datanodes[0].running.datanode.read_block(block.id, 0, 5000)) == DATA[:5000]
        assert await cluster.wrong() == []


async def test_the_only_copy_is_kept_though_it_is_corrupt(tmp_path: Path) -> None:
    """Z11: the same holds for several replicas that are all corrupt; an operator can decide."""
    async with several(tmp_path) as cluster:
        for path, replication in (("/one", 1), ("/all", 3)):
            await cluster.write(path, DATA[:100], replication=replication)
            (block,) = (await cluster.file(path)).blocks
            for each in cluster.datanodes:
                if each.file(block).exists():
                    await each.running.datanode.found_corrupt(block.id)
        await cluster.settle()
        for path, replication in (("/one", 1), ("/all", 3)):
            (block,) = (await cluster.file(path)).blocks
            assert sum(each.file(block).exists() for each in cluster.datanodes) == replication
        assert [each.split()[0] for each in await cluster.wrong() if not each.startswith("/")] == [
            "CORRUPT"
        ] * 2


async def test_a_replica_that_is_gone_from_a_disk_is_made_again(tmp_path: Path) -> None:
    """Z14: the next block report shows it."""
    async with several(tmp_path, datanodes=4) as cluster:
        await cluster.write("/f")
        poor = cluster.datanodes[0]
        damage(poor, Path.unlink)
        poor.running.reporting.at_once()
        await cluster.settle()
        assert await numbers(cluster) == [3, 3, 3]
        assert await cluster.wrong() == []


async def crossed(
    cluster: Several, monkeypatch: pytest.MonkeyPatch, change: Callable[[], Awaitable[None]]
) -> None:
    """Send the report of a DataNode that lost /old; run `change` before a NameNode takes the report."""
    monkeypatch.setattr(inventory, "BUCKETS", 1)
    await cluster.write("/old", DATA[:100], replication=1)
    await cluster.write("/kept", DATA[:100], replication=1)
    reporting = cluster.datanodes[0].running.reporting
    (lost,) = (await cluster.file("/old")).blocks
    cluster.datanodes[0].file(lost).unlink()
    assert await reporting.report() == 1
    await change()
    await cluster.namenodes[0].running.tick()


async def test_what_is_younger_than_a_report_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z14: a block written while a report is on its way invalidates it; the next report shows the missing block."""
    async with several(tmp_path, datanodes=2) as cluster:
        await crossed(cluster, monkeypatch, lambda: cluster.write("/new", DATA[:10], replication=1))
        assert await numbers(cluster, "/new") == [1]
        namenode = cluster.namenodes[0].running.namenode
        (lost,) = await cluster.replicas("/old")
        assert lost.held
        cluster.datanodes[0].running.reporting.at_once()
        await cluster.settle(4)
        assert [await numbers(cluster, path) for path in ("/old", "/kept", "/new")] == [[0], [1], [1]]
        await namenode.delete(namenode.caller(ROOT_USER), "/old", recursive=False)
        await cluster.settle()
        assert await cluster.wrong() == []


async def test_a_report_without_its_version_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken variant treats an old report as current, and loses a block written since."""
    async with several(tmp_path, datanodes=2) as cluster:
        znodes = cluster.namenodes[0].running.znodes
        name = cluster.datanodes[0].name

        async def cross() -> None:
            await cluster.write("/new", DATA[:10], replication=1)
            (sent,) = await znodes.get_many([f"{layout.report(name)}/0"])
            assert sent is not None
            now = (await znodes.get(layout.bucket(name, 0))).version
            report = inventory.Report(version=now, contents=inventory.parse_report(sent.data).contents)
            await znodes.commit([SetDataOp(sent.path, encode(report))])

        await crossed(cluster, monkeypatch, cross)
        (replicas,) = await cluster.replicas("/new")
        assert not replicas.held


async def test_large_reports_are_taken_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z14: each step is one transaction; replicas that belong to no file are deleted."""
    monkeypatch.setattr(replicating, "_OF_ONE_STEP", 2)
    monkeypatch.setattr(inventory, "BUCKETS", 2)
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f", bytes(9 * 512), replication=1, block=512)
        owner, other = cluster.datanodes
        for stray in range(7):
            replica = owner.running.datanode.replicas.create(stray, 1001)
            replica.write(b"stray")
            replica.finish()
        for bucket in await owner.running.znodes.children(layout.inventory(owner.name)):
            path = f"{layout.inventory(owner.name)}/{bucket}"
            blocks = inventory.parse_bucket((await owner.running.znodes.get(path)).data)
            await owner.running.znodes.commit(
                [SetDataOp(path, b"{}"), *(DeleteOp(layout.replica(block, owner.name)) for block in blocks)]
            )
        owner.running.reporting.at_once()
        await cluster.settle()
        assert await numbers(cluster) == [1] * 9
        assert await cluster.wrong() == []
        assert other.running.datanode.replicas.blocks() == {}


async def test_a_doubled_datanode_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a directory has the same id; it does not start while the first DataNode runs."""
    monkeypatch.setattr(on_zookeeper, "START_S", 0.0)
    async with several(tmp_path, datanodes=1) as cluster:
        first = cluster.datanodes[0]
        shutil.copytree(first.directory, tmp_path / "copy")
        with pytest.raises(on_zookeeper.DoubledError, match=first.name):
            await cluster.start_datanode("copy")


async def test_a_datanode_of_another_namespace_is_refused(tmp_path: Path) -> None:
    """None of its blocks is deleted and it is not registered; in its own namespace it serves them again."""
    async with several(tmp_path, datanodes=1) as cluster, several(tmp_path, datanodes=0) as other:
        await cluster.write("/f", replication=1)
        name = cluster.datanodes[0].name
        await cluster.kill(cluster.datanodes[0])
        own, foreign = [
            (await each.namenodes[0].running.namenode._fs.namespace()).block_pool  # noqa: SLF001 - to read it
            for each in (cluster, other)
        ]
        with pytest.raises(on_zookeeper.ForeignNamespaceError, match=f"{tmp_path / 'dn1'}.*{own}.*{foreign}"):
            await other.start_datanode("dn1")
        await other.settle(3)
        assert await other.queued() == []
        assert name not in await other.namenodes[0].running.znodes.children(layout.HEALTH)
        await cluster.start_datanode("dn1")
        await cluster.settle(3)
        assert await numbers(cluster) == [1, 1, 1]
        assert await cluster.opened("/f") == DATA


async def test_a_directory_of_before_it_named_its_namespace_is_taken_as_it_is(tmp_path: Path) -> None:
    """The directory then belongs to the namespace in which it was started."""
    async with several(tmp_path, datanodes=1) as cluster:
        await cluster.write("/f", replication=1)
        file = cluster.datanodes[0].directory / "namespace"
        before = file.read_bytes()
        await cluster.kill(cluster.datanodes[0])
        file.unlink()
        await cluster.start_datanode("dn1")
        assert file.read_bytes() == before
        assert sorted(each.name for each in file.parent.iterdir()) == ["blocks", "id", "namespace"]
        assert await cluster.opened("/f") == DATA


async def test_operators_see_what_is_queued(tmp_path: Path) -> None:
    """The sum of all queues' items; the DataNodes' queue znodes themselves are not counted."""
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f")
        await cluster.settle(3)
        damage(cluster.datanodes[0], Path.unlink)
        await cluster.datanodes[0].running.reporting.report()
        observer = cluster.namenodes[0].running.observer
        await observer.look()
        shown = observer.seen.stats.queued
        assert shown["block_reports"] > 0
        assert sum(shown.values()) == len(await cluster.queued())


# ---- broken variants -----------------------------------------------------------------------------------------------


async def test_an_acknowledgement_without_its_bucket_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z13: fsck reports it; after its repair the next block report completes the record."""

    async def nothing(*_: object) -> list[ZnodeOp]:
        return []

    async with several(tmp_path) as cluster:
        with monkeypatch.context() as broken:
            broken.setattr(NameNodeService, "_listed", nothing)
            await cluster.write("/f")
        assert {each.split()[0] for each in await cluster.wrong()} == {"UNLISTED"}
        await fsck(cluster.namenodes[0].running.znodes, repair=True)
        for each in cluster.datanodes:
            each.running.reporting.at_once()
        await cluster.settle()
        assert await cluster.wrong() == []


async def test_a_deletion_before_the_copy_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z11: a variant that deletes corrupt replicas at once loses a block whose only copy was marked by mistake."""

    def hasty(situation: Situation) -> ReplicationPlan:
        bad = situation.replicas.held.keys() - situation.replicas.good(situation.block)
        return ReplicationPlan(delete=tuple(bad)) if bad else plan(situation)

    monkeypatch.setattr(replicating, "plan", hasty)
    with pytest.raises(AssertionError):
        await test_the_only_copy_is_kept_though_it_is_corrupt(tmp_path)


async def test_a_lock_that_is_left_by_the_dead_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z14: a claim that outlives its session blocks a report forever."""

    async def taken(directory: Path) -> list[str]:
        async with several(directory, namenodes=2) as cluster:
            damage(cluster.datanodes[0], Path.unlink)
            await cluster.write("/f", DATA[:100])
            damage(cluster.datanodes[0], Path.unlink)
            assert await cluster.datanodes[0].running.reporting.report() == 1
            first = cluster.namenodes[0]
            first.member.die_at = (first.member.commits + 1, False)  # after the claim
            with pytest.raises(DeadError):
                await first.running.replicating.reports()
            await cluster.kill(first)
            await cluster.settle(4)
            return await cluster.queued()

    assert await taken(tmp_path / "whole") == []

    def lasting(path: str, data: bytes, *, ephemeral: bool = False) -> CreateOp:
        del ephemeral
        return CreateOp(path, data)

    monkeypatch.setattr(claims, "CreateOp", lasting)
    assert any(name.startswith(layout.CLAIMS) for name in await taken(tmp_path / "broken"))


async def test_work_goes_on_under_another_claim_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z18: a process whose session has expired changes nothing, even if another has claimed the same item."""

    async def late(cluster: Several) -> None:
        """Continue with a claim after its session has expired and another NameNode has claimed the item."""
        znode = await cluster.namenodes[0].running.znodes.get(layout.report(cluster.datanodes[0].name))
        one, other = cluster.namenodes
        async with Claims(one.running.znodes).claimed("block_reports", znode) as first:
            assert first is not None
            async with Claims(other.running.znodes).claimed("block_reports", znode) as second:
                assert second is None
            await one.member.expire()
            again = await cluster.namenodes[0].running.znodes.get(znode.path)
            async with Claims(other.running.znodes).claimed("block_reports", again) as second:
                assert second is not None
                await FencedZnodes(one.running.znodes, first).commit([SetDataOp(znode.path, b"late")])

    async with several(tmp_path / "whole", namenodes=2, datanodes=1) as cluster:
        with pytest.raises(NotLeadingError):
            await late(cluster)
    monkeypatch.setattr(layout, "claim", lambda queue, item, _: f"{layout.CLAIMS}/{queue}-{item}-")
    async with several(tmp_path / "broken", namenodes=2, datanodes=1) as cluster:
        await late(cluster)  # the check of a path without the session passes


async def test_of_two_that_claim_at_once_one_works(tmp_path: Path) -> None:
    """Z18: whatever interleaves with their reads."""
    async with several(tmp_path, namenodes=2, datanodes=1) as cluster:
        znode = await cluster.namenodes[0].running.znodes.get(layout.report(cluster.datanodes[0].name))
        for _ in range(20):
            znode = await cluster.namenodes[0].running.znodes.get(znode.path)
            at_work = most = 0

            async def work(process: NameNodeProcess, item: Znode) -> None:
                nonlocal at_work, most
                async with Claims(process.running.znodes).claimed("block_reports", item) as claim:
                    if claim is not None:
                        at_work, most = at_work + 1, max(most, at_work + 1)
                        for _ in range(20):
                            await asyncio.sleep(0)
                        at_work -= 1

            async with asyncio.TaskGroup() as group:
                for process in cluster.namenodes:
                    group.create_task(work(process, znode))
            assert most == 1


@pytest.mark.parametrize("queues", [(layout.CLAIMS,), (layout.CLAIMS, layout.RECOVER)])
async def test_a_claim_does_not_outlive_its_work(
    queues: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z14: ZooKeeper is unavailable when the work ends, the session survives; the work may be complete or not."""
    async with several(tmp_path) as cluster:
        await left_open(cluster)
        with monkeypatch.context() as context:
            for each in cluster.datanodes:
                without(context, each, queues)
                with suppress(ConnectionLostError):
                    await each.running.tick()
            assert any(name.startswith(layout.CLAIMS) for name in await cluster.queued())
        await cluster.settle()
        assert await cluster.opened("/f") == DATA[:1000]
        assert await cluster.wrong() == []


def without(context: pytest.MonkeyPatch, datanode: DataNodeProcess, queues: tuple[str, ...]) -> None:
    """Make each of the DataNode's deletions from these queues fail with a lost connection."""
    znodes = datanode.running.znodes
    commit = znodes.commit

    async def refuse(operations: Sequence[ZnodeOp]) -> None:
        for each in operations:
            if isinstance(each, DeleteOp) and each.path.startswith(queues):
                raise ConnectionLostError("the quorum is lost")
        await commit(operations)

    context.setattr(znodes, "commit", refuse)


async def test_a_claim_that_was_made_unseen_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z14: the reply to the transaction that creates the claim is lost."""
    async with several(tmp_path, datanodes=1) as cluster:
        znodes = cluster.namenodes[0].running.znodes
        commit, own = znodes.commit, Claims(znodes)

        async def unseen(operations: Sequence[ZnodeOp]) -> None:
            await commit(operations)
            raise OutcomeUnknownError("the reply is lost")

        path = layout.report(cluster.datanodes[0].name)
        with monkeypatch.context() as context:
            context.setattr(znodes, "commit", unseen)
            with pytest.raises(OutcomeUnknownError):
                async with own.claimed("block_reports", await znodes.get(path)):
                    pass
        item = await znodes.get(path)
        async with Claims(znodes).claimed("block_reports", item) as claim:
            assert claim is None  # another process's claim stays
        async with own.claimed("block_reports", item) as claim:
            assert claim is not None
            again = await znodes.get(path)
            async with own.claimed("block_reports", again) as second:
                assert second is None  # this item is already in progress
        assert await cluster.queued() == []


# ---- kills ---------------------------------------------------------------------------------------------------------


Step = Callable[[Several], Awaitable[None]]


async def after_death(cluster: Several) -> None:
    """Prepare blocks of a dead DataNode that must be copied."""
    await cluster.write("/f")
    await cluster.kill(cluster.datanodes[0])
    await cluster.tick()
    cluster.clock.advance(DEAD_S + 1)


async def too_few_and_too_many(cluster: Several) -> None:
    """Prepare blocks with too few and too many replicas."""
    await cluster.write("/f", replication=1)
    await cluster.write("/g", DATA[:10], replication=3)
    await set_replication(cluster, 3)
    await set_replication(cluster, 1, "/g")


async def damaged(cluster: Several) -> None:
    """Prepare a corrupt replica, a missing one, and a block report."""
    await cluster.write("/f")
    blocks = (await cluster.file("/f")).blocks
    for each in cluster.datanodes:
        if each.file(blocks[0]).exists():
            flip(each.file(blocks[0]))
            await each.running.datanode.found_corrupt(blocks[0].id)
            break
    next(each.file(blocks[1]) for each in cluster.datanodes if each.file(blocks[1]).exists()).unlink()
    for each in cluster.datanodes:
        each.running.reporting.at_once()


async def left_open(cluster: Several) -> None:
    """Prepare a block under recovery, and a deleted file."""
    await cluster.write("/gone")
    upload = await cluster.begin("/f")
    await upload.write(DATA[:1000])
    await chain_of(cluster, upload)
    await upload.abort()
    namenode = cluster.namenodes[0].running.namenode
    await namenode.recover_lease(namenode.caller(ROOT_USER), "/f", "other")
    await namenode.delete(namenode.caller(ROOT_USER), "/gone", recursive=False)


def upload(replication: int) -> Step:
    """Upload /f through the first DataNode."""
    return lambda cluster: cluster.write("/f", replication=replication)


async def append(cluster: Several, data: bytes = DATA[: BLOCK + 1000]) -> None:
    """Append to /f through the first DataNode that holds its last block, as a NameNode redirects it."""
    root = cluster.namenodes[0].running.namenode.caller(ROOT_USER)
    *_, holders = [names(cluster.datanodes), *await cluster.held("/f")]
    datanode = next(each for each in cluster.datanodes if each.name in holders)
    upload = await datanode.running.datanode.append(root, "/f", HOST)
    await upload.write(data)
    await upload.close()


async def written(cluster: Several) -> None:
    """Prepare a file whose last block is not full."""
    await cluster.write("/f")


async def repeat(cluster: Several) -> None:
    """Upload /f again, through another DataNode."""
    await cluster.write("/f", via=1)


def go_on(whole: bytes) -> Step:
    """Append the rest of /f through another DataNode once its lease is recovered; upload all of it if /f is missing."""

    async def write(cluster: Several) -> None:
        namenode = cluster.namenodes[0].running.namenode
        root = namenode.caller(ROOT_USER)
        if not await cluster.exists("/f"):
            await cluster.write("/f", whole, via=1)
            return
        rounds = int(2 * DEAD_S / SOON_S)  # recovery waits for an absent DataNode until it is dead
        while not await namenode.recover_lease(root, "/f", "other"):
            rounds -= 1
            assert rounds > 0, "the lease has no end"
            await cluster.settle(1)
        await append(cluster, whole[(await cluster.file("/f")).length :])

    return write


async def nothing(cluster: Several) -> None:
    """Do nothing."""
    del cluster


async def leave(cluster: Several) -> None:
    """Let the hard limit of open files pass."""
    await cluster.tick()
    cluster.clock.advance(HARD_LIMIT_S + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work in which a process is killed, and the client's reaction."""

    prepare: Step = nothing
    run: Step = lambda cluster: cluster.settle(6)
    client: Step = nothing
    data: bytes = DATA  # the content of /f in the end
    is_whole: bool = True  # a prefix of the data is not enough


STATES: dict[str, Work] = {
    "a dead DataNode": Work(prepare=after_death),
    "other replicas wanted": Work(prepare=too_few_and_too_many),
    "damaged replicas": Work(prepare=damaged),
    "left open": Work(prepare=left_open, data=DATA[:1000]),
}
UPLOADS: dict[str, Work] = {
    "an upload that is repeated": Work(run=upload(3), client=repeat),
    "an upload to one replica that is repeated": Work(run=upload(1), client=repeat),
    "an upload that goes on": Work(run=upload(3), client=go_on(DATA)),
    "an upload that is left": Work(run=upload(3), client=leave, is_whole=False),
    "an upload over a file that is repeated": Work(prepare=written, run=upload(3), client=repeat),
    "an append that goes on": Work(
        prepare=written,
        run=append,
        client=go_on(DATA + DATA[: BLOCK + 1000]),
        data=DATA + DATA[: BLOCK + 1000],
    ),
}
"""Uploads through the first DataNode, which is killed."""


async def killed(
    directory: Path, work: Work, victim: int | None, commit: int, *, is_carried_out: bool
) -> bool:
    """Kill a NameNode (None) or a DataNode at a transaction of its work; return whether it died.

    The other processes take over. A DataNode is restarted after its client has continued.
    """
    async with several(directory, namenodes=2, datanodes=5, seed=commit) as cluster:
        await work.prepare(cluster)
        process: NameNodeProcess | DataNodeProcess = cluster.namenodes[0]
        if victim is not None:
            process = cluster.datanodes[victim % len(cluster.datanodes)]
        process.member.die_at = (process.member.commits + commit, is_carried_out)
        with suppress(DeadError):
            await work.run(cluster)
        process.member.die_at = None
        is_dead = process.member.is_dead
        if is_dead:
            await cluster.kill(process)
            await work.client(cluster)
            if isinstance(process, DataNodeProcess):
                await cluster.start_datanode(process.directory.name)
        await cluster.settle(12)
        assert await cluster.wrong() == [], (victim, commit, is_carried_out)
        found = await cluster.opened("/f") if await cluster.exists("/f") else b""
        assert found == work.data or (not work.is_whole and work.data.startswith(found)), (
            f"{len(found)} bytes: {victim}, {commit}, {is_carried_out}"
        )
        return is_dead


async def kill_at_each(directory: Path, work: Work, victim: int | None, commits: range) -> int:
    """Kill one process before and after each of these transactions; return how often it died."""
    done = 0
    for commit, is_carried_out in itertools.product(commits, (False, True)):
        place = directory / f"{victim}-{commit}-{is_carried_out}"
        if not await killed(place, work, victim, commit, is_carried_out=is_carried_out):
            break
        done += 1
    return done


@pytest.mark.parametrize("name", STATES)
async def test_one_that_is_killed_is_followed(name: str, tmp_path: Path) -> None:
    """Killed at some transaction of its work, it loses nothing, and every queue item is completed."""
    rng = random.Random()
    first = rng.randrange(2)
    assert await kill_at_each(tmp_path, STATES[name], None, range(first, first + 1)) > 0
    await kill_at_each(tmp_path, STATES[name], rng.randrange(5), range(1))


@pytest.mark.parametrize("name", UPLOADS)
async def test_a_datanode_that_is_killed_in_an_upload_is_followed(name: str, tmp_path: Path) -> None:
    """Killed at some transaction: with a client that follows up, the file is complete; otherwise the lease ends."""
    first = random.randrange(5)
    assert await kill_at_each(tmp_path, UPLOADS[name], 0, range(first, first + 1)) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", UPLOADS)
async def test_a_datanode_that_is_killed_at_each_transaction_is_followed(name: str, tmp_path: Path) -> None:
    """The same rule, at each transaction of an upload."""
    assert await kill_at_each(tmp_path, UPLOADS[name], 0, range(1000)) > 4


async def test_a_recovery_ends_when_those_it_waits_for_are_dead(tmp_path: Path) -> None:
    """The DataNode that took the upload is killed when the block was placed; the others hold none of it."""
    assert await killed(tmp_path, UPLOADS["an upload that goes on"], 0, 2, is_carried_out=True)


async def test_a_recovery_waits_for_the_only_one_that_may_have_a_byte(tmp_path: Path) -> None:
    """The recovery waits even if that DataNode is dead; when it returns, the file is whole."""
    async with several(tmp_path, datanodes=2) as cluster:
        upload = await cluster.begin("/f", replication=1)
        await upload.write(DATA[:1000])
        dead = cluster.datanodes[0]
        await cluster.kill(dead)
        await cluster.die()
        namenode = cluster.namenodes[0].running.namenode
        assert not await namenode.recover_lease(namenode.caller(ROOT_USER), "/f", "other")
        await cluster.settle(3)
        assert (await cluster.file("/f")).is_open
        await cluster.start_datanode(dead.directory.name)
        await cluster.settle()
        assert await cluster.opened("/f") == DATA[:1000]
        assert await cluster.wrong() == []


@pytest.mark.long
@pytest.mark.parametrize("name", STATES)
async def test_one_that_is_killed_at_each_transaction_is_followed(name: str, tmp_path: Path) -> None:
    """At each transaction of a NameNode and of each DataNode."""
    assert await kill_at_each(tmp_path, STATES[name], None, range(1000)) > 1
    assert sum([await kill_at_each(tmp_path, STATES[name], each, range(1000)) for each in range(5)]) > 1


async def test_work_whose_replies_are_lost_is_done_once(tmp_path: Path) -> None:
    """One transaction in ten loses its reply."""
    async with several(tmp_path, namenodes=2, datanodes=4, losses=0.1) as cluster:
        await too_few_and_too_many(cluster)
        await cluster.settle()
        (only,) = await cluster.held("/g")
        await cluster.kill(next(each for each in cluster.datanodes if each.name not in only))
        await cluster.die()
        await cluster.settle()
        assert [await numbers(cluster, path) for path in ("/f", "/g")] == [[3, 3, 3], [1]]
        assert await cluster.wrong() == []


# ---- random faults -------------------------------------------------------------------------------------------------

PATHS = ("/a", "/b", "/c", "/d")


class Trouble:
    """Random work on files while DataNodes and NameNodes die and return, and disks fail.

    At most two DataNodes are absent or damaged at a time, and files have at least three replicas: no block may be
    lost.
    """

    def __init__(self, cluster: Several, rng: random.Random) -> None:
        self.cluster = cluster
        self.rng = rng
        self.contents: dict[str, bytes] = {}
        self.unsure: set[str] = (
            set()
        )  # files whose last call failed: they may have the old content, or a prefix of the new one
        self.away: list[str] = []
        self.harmed = 0  # the number of DataNodes harmed since the last rest

    async def step(self) -> None:
        """Take one random step."""
        name = self.rng.choice((
            "write", "write", "append", "append", "truncate", "replicate", "delete", "kill", "kill", "back", "back",
            "leader", "flip", "tick", "tick", "advance",
        ))  # fmt: skip
        await getattr(self, f"_{name}")()

    def _via(self) -> datanodes.DataNode:
        return self.rng.choice(self.cluster.datanodes).running.datanode

    async def _write(self) -> None:
        path, data = (
            self.rng.choice(PATHS),
            self.rng.randbytes(self.rng.choice((0, 10, 5000, 70_000, 140_000))),
        )
        via = self.rng.randrange(len(self.cluster.datanodes))
        upload = await self.cluster.begin(path, via=via)
        self.contents[path] = b""
        await self._send(path, upload, data)

    async def _append(self) -> None:
        path = self.rng.choice(PATHS)
        if path in self.contents:
            root = self.cluster.namenodes[0].running.namenode.caller(ROOT_USER)
            with suppress(Refusal):
                upload = await self._via().append(root, path, HOST)
                await self._send(path, upload, self.rng.randbytes(self.rng.choice((10, 5000, 70_000))))

    async def _send(self, path: str, upload: datanodes.Upload, data: bytes) -> None:
        """Send data; sometimes a pipeline member dies in the middle."""
        half = self.rng.randrange(len(data) + 1)
        self.contents[path] += data
        self.unsure.add(path)
        try:
            await upload.write(data[:half])
            if self.rng.random() < 0.3:
                await self._kill(spare=upload._datanode.name)  # noqa: SLF001 - the first of the pipeline
            await upload.write(data[half:])
            await upload.close()
            self.unsure.discard(path)
        finally:
            await upload.abort()

    async def _truncate(self) -> None:
        path = self.rng.choice(PATHS)
        if self.contents.get(path) and path not in self.unsure:
            length = self.rng.randrange(len(self.contents[path]))
            namenode = self.cluster.namenodes[0].running.namenode
            with suppress(Refusal):
                await namenode.truncate(namenode.caller(ROOT_USER), path, length, "cutter", HOST)
                self.contents[path] = self.contents[path][:length]

    async def _replicate(self) -> None:
        path = self.rng.choice(PATHS)
        if path in self.contents:
            await set_replication(self.cluster, self.rng.choice((3, 4)), path)

    async def _delete(self) -> None:
        path = self.rng.choice(PATHS)
        namenode = self.cluster.namenodes[0].running.namenode
        if await namenode.delete(namenode.caller(ROOT_USER), path, recursive=False):
            del self.contents[path]
            self.unsure.discard(path)

    async def _kill(self, spare: str = "") -> None:
        if self.harmed < 2 and len(self.cluster.datanodes) > 3:
            process = self.rng.choice([each for each in self.cluster.datanodes if each.name != spare])
            self.away.append(process.directory.name)
            self.harmed += 1
            await self.cluster.kill(process)

    async def _back(self) -> None:
        if self.away:
            await self.cluster.start_datanode(self.away.pop())

    async def _leader(self) -> None:
        await self.cluster.start_namenode()
        await self.cluster.kill(self.cluster.namenodes[0])

    async def _flip(self) -> None:
        if self.harmed < 2:
            self.harmed += 1
            damage(
                self.rng.choice(self.cluster.datanodes),
                lambda file: flip(file) if file.stat().st_size else None,
            )

    async def _tick(self) -> None:
        await self.cluster.tick()

    async def _advance(self) -> None:
        """Advance the clock by a random duration, and run the periodic work."""
        self.cluster.clock.advance(self.rng.choice((1.0, 6.0, DEAD_S + 1)))
        await self.cluster.tick()

    async def rest(self) -> None:
        """Restart all DataNodes and read all files: nothing is lost, and replication is complete."""
        while self.away:
            await self._back()
        cluster = self.cluster
        cluster.clock.advance(1300.0)  # recovers all open files
        await cluster.settle(4)
        for _ in range(2):
            for datanode in cluster.datanodes:  # as clients that read every replica
                for block in datanode.running.datanode.replicas.blocks():
                    try:
                        replica = datanode.running.datanode.replicas.find(block)
                        assert replica is not None
                        list(datanode.running.datanode.read_block(block, 0, replica.length))
                    except CorruptReplicaError:
                        await datanode.running.datanode.found_corrupt(block)
            cluster.clock.advance(1300.0)
            await cluster.settle(8)
        wrong = await cluster.wrong()
        assert wrong == [], wrong
        for path, data in self.contents.items():
            found = await cluster.opened(path)
            is_right = found == data or (path in self.unsure and data.startswith(found))
            assert is_right, f"{path} has {len(found)} bytes of {len(data)}, unsure: {sorted(self.unsure)}"
            self.contents[path] = found
        self.unsure.clear()
        self.harmed = 0


async def troubled(directory: Path, seed: int, rounds: int, losses: float) -> None:
    """Alternate random faults and rests."""
    rng = random.Random(seed)
    async with several(directory, namenodes=2, datanodes=5, seed=seed, losses=losses) as cluster:
        trouble = Trouble(cluster, rng)
        for _ in range(rounds):
            for _ in range(12):
                await trouble.step()
            await trouble.rest()


async def test_no_block_is_lost_in_trouble(tmp_path: Path) -> None:
    """Combined faults lose no block while a good replica is left; in the end replication is complete."""
    seed = random.randrange(10**9)
    try:
        await troubled(tmp_path, seed, 1, 0.02)
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise


@pytest.mark.long
async def test_no_block_is_lost_in_long_trouble(tmp_path: Path) -> None:
    """The same rule, for longer."""
    for number in range(30):
        seed = random.randrange(10**9)
        try:
            await troubled(tmp_path / str(number), seed, 3, 0.02)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
