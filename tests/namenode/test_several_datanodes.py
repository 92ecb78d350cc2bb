"""Blocks at several DataNodes are written through a pipeline, and read from any good replica."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from nncache.coordination.errors import ConnectionLostError
from nncache.namenode.datanode.datanode import Upload
from nncache.namenode.datanode.replicas import WritingReplica
from nncache.namenode.namespace import attributes
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.node.namenode import NameNodeService
from nncache.namenode.webhdfs.blocks import BlockHandler
from tests.namenode.asking import Reply, ask, call, target
from tests.namenode.fixture import ROOT_USER, read
from tests.namenode.several import BLOCK, DATA, SOON_S, DataNodeProcess, Several, names, several
from tests.patience import until_so

PART = BLOCK // 2


async def test_an_upload_is_at_as_many_datanodes_as_it_wants(tmp_path: Path) -> None:
    """Z13: each block is fully replicated when the upload is answered; no work is left."""
    async with several(tmp_path) as cluster:
        for replication in (1, 2, 3):
            await cluster.write(f"/f{replication}", replication=replication)
            held = await cluster.held(f"/f{replication}")
            assert [len(each) for each in held] == [replication] * 3
            assert await cluster.opened(f"/f{replication}") == DATA
        assert await cluster.wrong() == []


async def test_more_replicas_than_datanodes_come_with_the_datanodes(tmp_path: Path) -> None:
    """Until then the file is complete, and its blocks are queued."""
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f")
        assert [len(each) for each in await cluster.held("/f")] == [2, 2, 2]
        await cluster.settle(3)
        assert len(await cluster.queued()) == 3
        await cluster.start_datanode()
        await cluster.settle()
        assert [len(each) for each in await cluster.held("/f")] == [3, 3, 3]
        assert await cluster.wrong() == []


async def test_a_block_asked_for_again_is_the_same_at_the_same_datanodes(tmp_path: Path) -> None:
    """Z7: a retry after a lost reply is recognised by `previous`."""
    async with several(tmp_path, datanodes=4) as cluster:
        upload = await cluster.begin("/f", replication=2)
        namenode, holder = cluster.namenodes[0].running.namenode, upload._holder  # noqa: SLF001 - its own
        file = (await cluster.file("/f")).id
        placed = await namenode.add_block("/f", holder, None, file)
        assert await namenode.add_block("/f", holder, None, file) == placed
        await upload.abort()


async def test_a_file_is_closed_when_each_block_is_at_a_datanode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z9, Z12: until then the writer is refused, and no copy is ordered; one replica of each block is enough."""

    async def silent(self: NameNodeService, *_: object) -> bool:
        del self
        return True

    async with several(tmp_path) as cluster:
        upload = await cluster.begin("/f")
        await upload.write(DATA[:100])
        with monkeypatch.context() as context:
            context.setattr(NameNodeService, "received", silent)
            with pytest.raises(Refusal, match="does not have enough number of replicas"):
                await upload.close()
        await cluster.settle(2)
        assert (await cluster.file("/f")).is_open
        assert cluster.namenodes[0].running.replicating.ordered == 0
        (block,) = (await cluster.file("/f")).blocks
        datanode = cluster.datanodes[1].running.datanode
        assert await datanode._namenode.received(block, datanode.name)  # noqa: SLF001 - late
        await upload.close()
        assert not (await cluster.file("/f")).is_open
        for each in cluster.datanodes:
            each.running.reporting.at_once()
        await cluster.settle()
        assert [len(each) for each in await cluster.held("/f")] == [3]
        assert await cluster.wrong() == []


# ---- pipelines -----------------------------------------------------------------------------------------------------


async def chain_of(cluster: Several, upload: Upload) -> list[DataNodeProcess]:
    """Return the DataNodes after the first of the pipeline, in order, once all of them receive the block."""
    assert upload._pipeline is not None  # noqa: SLF001 - to inspect it
    by_name = {each.name: each for each in cluster.datanodes}
    chain = [by_name[name] for name in upload._pipeline._chain]  # noqa: SLF001 - as above
    await until_so(lambda: all(each.running.datanode.transfers for each in chain))
    return chain


@pytest.mark.parametrize(
    ("member", "written"),
    [
        pytest.param(member, written, marks=[pytest.mark.long] if member != at else [])
        for member in range(3)
        for at, written in enumerate((1, PART, BLOCK - 1))
    ],
)
async def test_an_upload_survives_the_death_of_a_member(member: int, written: int, tmp_path: Path) -> None:
    """Z13: any member after the first dies at the beginning, middle or end of a block; the next stamp is used."""
    async with several(tmp_path, datanodes=5) as cluster:
        upload = await cluster.begin("/f", replication=4)
        await upload.write(DATA[:written])
        dead = (await chain_of(cluster, upload))[member]
        await cluster.kill(dead)
        await upload.write(DATA[written:])
        await upload.close()
        file = await cluster.file("/f")
        assert file.length == len(DATA)
        assert file.blocks[0].stamp > 1001
        assert dead.name not in set.union(*await cluster.held("/f"))
        assert [len(each) for each in await cluster.held("/f")] == [3, 4, 4]
        assert await cluster.opened("/f") == DATA
        await cluster.settle()
        assert [len(each) for each in await cluster.held("/f")] == [4, 4, 4]
        await cluster.start_datanode(dead.directory.name)  # with part of the block, which is deleted
        await cluster.settle()
        assert [len(each) for each in await cluster.held("/f")] == [4, 4, 4]
        assert await cluster.wrong() == []


async def test_an_upload_survives_the_death_of_all_others(tmp_path: Path) -> None:
    """They die one after the other, or both at the same time."""
    async with several(tmp_path, datanodes=4) as cluster:
        upload = await cluster.begin("/f", replication=4)
        await upload.write(DATA[:PART])
        first, second, third = await chain_of(cluster, upload)
        await cluster.kill(second)
        await upload.write(DATA[PART : BLOCK - 2])
        await cluster.kill(first)
        await cluster.kill(third)
        await upload.write(DATA[BLOCK - 2 :])
        await upload.close()
        assert [len(each) for each in await cluster.held("/f")] == [1, 1, 1]
        assert await cluster.opened("/f") == DATA


async def test_an_append_survives_the_death_of_a_member(tmp_path: Path) -> None:
    """Each pipeline member keeps the old bytes, and the survivors have the new ones."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", DATA[:PART])
        datanode = cluster.datanodes[0].running.datanode
        root = cluster.namenodes[0].running.namenode.caller("hdfs")
        for number, data in enumerate((DATA[PART:BLOCK], DATA[BLOCK:])):
            upload = await datanode.append(root, "/f", "host")
            await upload.write(data[:10])
            if number == 0:
                await cluster.kill((await chain_of(cluster, upload))[0])
            await upload.write(data[10:])
            await upload.close()
        assert await cluster.opened("/f") == DATA
        assert [len(each) for each in await cluster.held("/f")] == [2, 2, 2]


async def test_a_silent_member_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that receives everything and does not acknowledge is dropped; the others stay."""
    async with several(tmp_path) as cluster:
        for each in cluster.datanodes:
            assert each.running.datanode.peers is not None
            each.running.datanode.peers.silent_s = 0.3
        upload = await cluster.begin("/f")
        await upload.write(DATA[:1])
        silent = (await chain_of(cluster, upload))[1]

        async def never(replica: WritingReplica) -> Block:
            del replica
            await asyncio.get_running_loop().create_future()
            raise AssertionError("nothing ends that")

        monkeypatch.setattr(silent.running.datanode, "finish", never)
        await upload.write(DATA[1:])
        await upload.close()
        others = names(cluster.datanodes) - {silent.name}
        assert await cluster.held("/f") == [others, others, others]
        assert await cluster.opened("/f") == DATA


def full_after(monkeypatch: pytest.MonkeyPatch, directory: Path, size: int) -> None:
    """Limit the size of each replica below a directory, as a full disk does."""
    write = WritingReplica.write

    def limited(self: WritingReplica, data: bytes) -> None:
        if Path(str(self._data.name)).is_relative_to(directory) and self.length + len(data) > size:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, data)

    monkeypatch.setattr(WritingReplica, "write", limited)


@pytest.mark.parametrize("replication", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1000])
async def test_an_upload_survives_a_full_disk(
    replication: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the first DataNode's disk is full, the others continue; without others, a new pipeline rewrites the block."""
    async with several(tmp_path) as cluster:
        full = cluster.datanodes[0]
        full_after(monkeypatch, full.directory, size)
        upload = await cluster.begin("/f", replication=replication)
        for at in range(0, len(DATA), 700):
            await upload.write(DATA[at : at + 700])
        await upload.close()
        held = await cluster.held("/f")
        assert full.name not in set.union(*held)
        assert await cluster.opened("/f") == DATA
        await cluster.settle()
        assert [len(each) for each in await cluster.held("/f")] == [min(replication, 2)] * 3
        assert replication == 3 or await cluster.wrong() == []


async def test_an_upload_survives_the_full_disk_of_a_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others continue without that member."""
    async with several(tmp_path) as cluster:
        upload = await cluster.begin("/f")
        await upload.write(DATA[:10])
        full = (await chain_of(cluster, upload))[1]
        full_after(monkeypatch, full.directory, 1000)
        await upload.write(DATA[10:])
        await upload.close()
        assert [each & {full.name} for each in await cluster.held("/f")] == [set(), set(), set()]
        assert await cluster.opened("/f") == DATA


async def test_an_upload_without_any_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is HDFS's; the file stays, and can be recovered."""
    async with several(tmp_path) as cluster:
        full_after(monkeypatch, tmp_path, 10)
        upload = await cluster.begin("/f", replication=1)
        with pytest.raises(Refusal, match=r"could only be written to 0 of|All datanodes are bad"):
            await upload.write(DATA)
        await upload.abort()


async def test_a_full_datanode_gets_no_new_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z20: its record says so, and is rewritten when that changes; redirects avoid it, too."""
    async with several(tmp_path) as cluster:
        full = cluster.datanodes[1]
        monkeypatch.setattr(full.running.datanode.replicas, "free", lambda: (10**9, 1000))
        await cluster.look()
        await cluster.write("/f")
        assert full.name not in set.union(*await cluster.held("/f"))
        namenode = cluster.namenodes[0].running
        addresses = {await namenode.datanodes.for_writing(None) for _ in range(50)}
        assert addresses == {each.running.http for each in cluster.datanodes if each is not full}
        commits = full.member.commits
        for _ in range(3):
            await full.running.tick()
        assert full.member.commits == commits


async def test_a_chain_that_cannot_go_on_leaves_what_had_come(tmp_path: Path) -> None:
    """The DataNode that takes the upload is killed; the recovered file has the bytes of the others."""
    async with several(tmp_path) as cluster:
        await cluster.write("/kept", DATA[:PART])
        for path, begin in (("/f", 0), ("/kept", PART)):
            root = cluster.namenodes[0].running.namenode.caller("hdfs")
            via = cluster.datanodes[0].running.datanode
            upload = await (cluster.begin(path) if begin == 0 else via.append(root, path, "host"))
            await upload.write(DATA[begin : begin + 5000])
            taken = cluster.datanodes[0]
            await cluster.kill(taken)
            await upload.abort()
            assert not await cluster.namenodes[0].running.namenode.recover_lease(root, path, "other")
            await cluster.tick()
            file = await cluster.file(path)
            assert not file.is_open
            assert begin <= file.length <= begin + 5000
            assert await cluster.opened(path) == DATA[: file.length]
            await cluster.start_datanode(taken.directory.name)
            await cluster.settle()
            assert [len(each) for each in await cluster.held(path)] == [3]
        assert await cluster.wrong() == []


async def begin_append(cluster: Several, datanode: DataNodeProcess, data: bytes) -> Upload:
    """Append to /f through a DataNode, without closing."""
    root = cluster.namenodes[0].running.namenode.caller("hdfs")
    upload = await datanode.running.datanode.append(root, "/f", "host")
    await upload.write(data)
    return upload


async def recover(cluster: Several) -> bool:
    """Recover the lease of /f, or continue that; return whether /f is closed."""
    namenode = cluster.namenodes[0].running.namenode
    return await namenode.recover_lease(namenode.caller("hdfs"), "/f", "other")


async def test_a_replica_that_was_left_behind_wins_no_recovery(tmp_path: Path) -> None:
    """Z12: a replica that missed an append is not used after the next one; the file waits for a current replica."""
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f", DATA[:1000], replication=2)
        good, behind = cluster.datanodes
        await cluster.kill(behind)
        await (await begin_append(cluster, good, DATA[1000:1500])).close()
        await cluster.start_datanode(behind.directory.name)
        await begin_append(cluster, good, DATA[1500:1510])
        await cluster.kill(good)
        await cluster.look()
        assert not await recover(cluster)
        await cluster.settle(3)
        file = await cluster.file("/f")
        assert (file.is_open, file.length) == (True, 1500)
        await cluster.start_datanode(good.directory.name)
        await cluster.settle()
        assert not (await cluster.file("/f")).is_open
        assert await cluster.opened("/f") in {DATA[:length] for length in range(1500, 1511)}
        assert await cluster.wrong() == []


async def test_an_append_without_a_holder_costs_no_byte(tmp_path: Path) -> None:
    """The append fails, and the old bytes are there once their DataNode is back."""
    async with several(tmp_path, datanodes=2) as cluster:
        await cluster.write("/f", DATA[:1000], replication=1)
        (held,) = await cluster.held("/f")
        (holder,) = [each for each in cluster.datanodes if each.name in held]
        (other,) = [each for each in cluster.datanodes if each.name not in held]
        await cluster.kill(holder)
        with pytest.raises(Refusal, match="All datanodes are bad"):
            await begin_append(cluster, other, DATA[1000:1005])
        await cluster.start_datanode(holder.directory.name)
        await cluster.look()
        await recover(cluster)
        await cluster.settle()
        assert await cluster.opened("/f") == DATA[:1000]
        assert await cluster.wrong() == []


async def test_a_copy_that_was_ordered_before_an_append_is_made_after_it(tmp_path: Path) -> None:
    """Made earlier it would miss the append; made later it is a full replica, even as the only one left."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", DATA[:1000], replication=2)
        (held,) = await cluster.held("/f")
        one, other = [each for each in cluster.datanodes if each.name in held]
        (third,) = [each for each in cluster.datanodes if each.name not in held]
        namenode = cluster.namenodes[0].running.namenode
        root = namenode.caller("hdfs")
        await namenode.change("/f", attributes.set_replication, root, 3)
        for _ in range(4):
            cluster.clock.advance(SOON_S)
            await cluster.look()
        upload = await begin_append(cluster, one, DATA[1000:6000])
        await third.running.copy()
        assert third.running.datanode.replicas.blocks() == {}
        await upload.close()
        await third.running.copy()
        assert await cluster.held("/f") == [names(cluster.datanodes)]
        for each in (one, other):
            damage(each, Path.unlink)
        assert not await namenode.truncate(root, "/f", 500, "cutter", "host")
        await cluster.tick()
        assert await cluster.opened("/f") == DATA[:500]
        await cluster.settle()
        assert await cluster.held("/f") == [names(cluster.datanodes)]


async def write_on(upload: Upload) -> None:
    """Write in several parts, so that the missing pipeline members are noticed."""
    for at in range(5000, BLOCK, 5000):
        await upload.write(DATA[at : at + 5000])


async def test_a_stamp_that_did_not_come_through_keeps_no_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DataNode loses pipeline and ZooKeeper together; its replica keeps a stamp that the NameNode knows."""

    async def lost(*_: object) -> None:
        raise ConnectionLostError("cut off")

    async with several(tmp_path) as cluster:
        upload = await cluster.begin("/f")
        await upload.write(DATA[:5000])
        chain = await chain_of(cluster, upload)
        for each in chain:
            await cluster.kill(each)
        with monkeypatch.context() as context:
            context.setattr(NameNodeService, "update_pipeline", lost)
            with pytest.raises(ConnectionLostError):
                await write_on(upload)
        await upload.abort()
        for each in chain:
            await cluster.start_datanode(each.directory.name)
        assert not await recover(cluster)
        await cluster.settle()
        found = await cluster.opened("/f")
        assert len(found) >= 5000
        assert DATA.startswith(found)
        assert not (await cluster.file("/f")).is_open
        assert await cluster.wrong() == []


# ---- reads ---------------------------------------------------------------------------------------------------------


def damage(datanode: DataNodeProcess, change: Callable[[Path], object]) -> None:
    """Change all replicas on the disk of a DataNode."""
    for file in (datanode.directory / "blocks" / "finalized").glob("*[0-9]"):
        change(file)


def flip(file: Path) -> None:
    """Change a byte."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("change", [flip, Path.unlink])
async def test_a_read_goes_on_at_another_replica(change: Callable[[Path], object], tmp_path: Path) -> None:
    """The read continues from the byte where a replica is corrupt or missing; the client notices nothing."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f")
        for datanode in cluster.datanodes[:2]:
            damage(datanode, change)
        for _ in range(10):
            assert await cluster.opened("/f") == DATA


async def test_a_read_goes_to_the_datanode_with_the_fewest_transfers(tmp_path: Path) -> None:
    """Z6: ties are broken at random."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", DATA[:10])
        busy = cluster.datanodes[0]
        (block,) = (await cluster.file("/f")).blocks
        namenode = cluster.namenodes[0].running
        with busy.running.datanode.transferring():
            await cluster.look()
            found = {
                await namenode.datanodes.for_reading(await namenode.namenode.holders(block), None)
                for _ in range(50)
            }
        assert found == {each.running.http for each in cluster.datanodes[1:]}
        assert names(cluster.datanodes) == (await cluster.held("/f"))[0]


async def test_a_client_is_not_redirected_where_it_has_been(tmp_path: Path) -> None:
    """Hadoop's client names the DataNodes that it could not reach in `excludedatanodes`: the next one serves it."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", DATA[:10])
        http = cluster.namenodes[0].running.http
        addresses = [each.running.http for each in cluster.datanodes]

        async def redirected(method: str, path: str, op: str, excluded: list[str]) -> Reply:
            query = target(path, op, ROOT_USER, excludedatanodes=",".join(excluded))
            return await asyncio.to_thread(ask, http, method, query)

        for method, path, op in (("GET", "/f", "OPEN"), ("POST", "/f", "APPEND"), ("PUT", "/g", "CREATE")):
            for last in addresses:
                others = [each for each in addresses if each != last]
                for _ in range(5):
                    reply = await redirected(method, path, op, others)
                    assert reply.headers["Location"].startswith(f"http://{last}/")
            assert (await redirected(method, path, op, addresses)).headers["Location"]  # as at HDFS
            refused = (await redirected(method, path, op, ["127.0.0.1"])).error[1]
            assert refused.endswith("excludeDatanodes=127.0.0.1")


async def test_a_quick_reader_lets_others_run(tmp_path: Path) -> None:
    """A client that takes each part at once does not hold the event loop until the last one."""
    async with several(tmp_path, datanodes=1) as cluster:
        await cluster.write("/f", DATA * 10, replication=1, block=20 * len(DATA) // 512 * 512)
        (block,) = (await cluster.file("/f")).blocks
        datanode = cluster.datanodes[0].running.datanode
        assert datanode.peers is not None
        turns: list[None] = []
        before = 0
        loop = asyncio.get_running_loop()
        async for _ in BlockHandler(datanode, datanode.peers).read(block, 0, block.length):
            before = len(turns)
            loop.call_soon(turns.append, None)
        assert before > 5


async def test_places_of_many_blocks_are_read_together(tmp_path: Path) -> None:
    """However many blocks a file has, its locations cost the same number of rounds at ZooKeeper."""
    async with several(tmp_path) as cluster:
        http, znodes = cluster.namenodes[0].running.http, cluster.namenodes[0].running.znodes
        rounds: list[int] = []
        for number in (2, 60):
            await cluster.write("/f", bytes(number * 512), block=512)
            for op in ("GETFILEBLOCKLOCATIONS", "GET_BLOCK_LOCATIONS"):
                before = znodes.stats().reads
                reply = await asyncio.to_thread(call, http, "GET", "/f", op, ROOT_USER)
                assert reply.status == 200
                rounds.append(znodes.stats().reads - before)
        assert rounds[:2] == rounds[2:]


async def test_what_a_file_had_is_read_while_it_is_appended_to(tmp_path: Path) -> None:
    """All acknowledged bytes are readable at any DataNode; those in the pipeline serve the appended ones, too."""
    async with several(tmp_path) as cluster:
        await cluster.write("/f", DATA[:1000], replication=2)
        (held,) = await cluster.held("/f")
        via = next(each for each in cluster.datanodes if each.name in held)
        before = await cluster.file("/f")
        upload = await begin_append(cluster, via, DATA[1000:1005])
        during = await cluster.file("/f")
        for each in cluster.datanodes:
            length = 1005 if each.name in held else 1000
            assert each.running.datanode.visible_length(during) == length
        for _ in range(10):
            assert await cluster.opened("/f") in {DATA[:1000], DATA[:1005]}
        assert read(via.running.datanode, before, 0, 1000) == DATA[:1000]  # requested before the append
        await upload.close()
        assert await cluster.opened("/f") == DATA[:1005]
        assert await cluster.wrong() == []


@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_read_goes_on_during_an_append(is_closed: bool, tmp_path: Path) -> None:
    """A read that began before the append reaches a chunk whose CRC has changed."""
    length = len(DATA) - 100
    async with several(tmp_path, datanodes=1) as cluster:
        await cluster.write("/f", DATA[:length], replication=1, block=4 * BLOCK)
        (block,) = (await cluster.file("/f")).blocks
        parts = cluster.datanodes[0].running.datanode.read_block(block.id, 10, length - 10)
        found = next(parts)
        upload = await begin_append(cluster, cluster.datanodes[0], DATA[length : length + 50])
        if is_closed:
            await upload.close()
        assert found + b"".join(parts) == DATA[10:length]
        if not is_closed:
            await upload.close()
        assert await cluster.opened("/f") == DATA[: length + 50]


async def test_a_block_that_is_being_cut_is_as_long_as_it_is_here(tmp_path: Path) -> None:
    """Its length is the old one before the cut and the new one after, even before the NameNode knows."""
    async with several(tmp_path, datanodes=1) as cluster:
        await cluster.write("/f", DATA[:1000], replication=1)
        namenode, datanode = cluster.namenodes[0].running.namenode, cluster.datanodes[0].running.datanode
        assert not await namenode.truncate(namenode.caller("hdfs"), "/f", 7, "cutter", "host")
        file = await cluster.file("/f")
        assert datanode.visible_length(file) == 1000
        datanode.replicas.recover(file.blocks[0].id, file.blocks[0].recovery_id, 7)
        assert datanode.visible_length(file) == 7
