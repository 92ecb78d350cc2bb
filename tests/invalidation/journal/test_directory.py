"""DirectoryEdits: only the NameNode's log position gives coverage, whatever is in the directory."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from nncache.hadoop.editlog.local import LogDirectory
from nncache.hadoop.events import Unlink
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    UnreadableEditsError,
    WrongNamespaceError,
)
from nncache.invalidation.follower import probing
from nncache.invalidation.journal import directory
from nncache.invalidation.journal.directory import DirectoryEdits, why_no_edits
from tests.hadoop.editlog.segments import RPC, frame, utf
from tests.hadoop.editlog.test_local import Writer
from tests.invalidation.fakes import NAMESPACE, FakeNameNode, FakePool
from tests.patience import HANG_S

DELETE = 2


class EditsDirectory:
    """A NameNode with three deletions, its directory, and the source that reads it."""

    def __init__(self, path: Path) -> None:
        self.namenode = FakeNameNode()
        self.pool = FakePool(asyncio.get_running_loop().time, self.namenode)
        self.path = path
        (path / "VERSION").write_text(
            f"clusterID={NAMESPACE.cluster_id}\nblockpoolID={NAMESPACE.block_pool}\n"
        )
        self.writer = Writer(path)
        self.writer.begin()
        self.namenode.write()
        for number in range(3):
            self.unlink(f"/{number}")
        self.source = self.new()

    def new(self, away_s: float | None = None) -> DirectoryEdits:
        """Return a new source for the directory."""
        return DirectoryEdits(self.pool, str(self.path), asyncio.get_running_loop().time, away_s=away_s)

    def write(self, path: str) -> None:
        """Log the deletion of a path in the directory only."""
        self.writer.write(DELETE, utf(path) + b"\0" * 8 + RPC)

    def unlink(self, path: str) -> int:
        """Delete a path."""
        self.write(path)
        return self.namenode.unlink(path)

    def roll(self) -> None:
        """Begin another segment."""
        self.writer.roll()
        self.namenode.write()
        self.namenode.write()

    async def read_until(self, is_so: Callable[[EditsRead], bool]) -> list[EditsRead]:
        """Read until the last read meets a condition, and return all reads."""
        async with asyncio.timeout(20):
            reads = [await self.source.read()]
            while not is_so(reads[-1]):
                reads.append(await self.source.read())
        return reads


@pytest.fixture
async def edits(tmp_path: Path) -> AsyncIterator[EditsDirectory]:
    """A directory whose source is shut down at the end."""
    made = EditsDirectory(tmp_path)
    yield made
    await made.source.shut_down()


def paths(reads: list[EditsRead]) -> list[str]:
    """Return the deleted paths."""
    return [
        event.path
        for read in reads
        for batch in read.batches
        for event in batch.events
        if isinstance(event, Unlink)
    ]


async def test_what_happens_is_read_over_segments(edits: EditsDirectory) -> None:
    """K1: the edits are read from the present end on, and no NameNode is polled."""
    with pytest.raises(ChannelUnavailableError, match="not started"):
        await edits.source.read()
    await edits.source.start(None)
    assert edits.source.term == 1
    edits.unlink("/a")
    edits.roll()
    edits.unlink("/b")
    reads = await edits.read_until(lambda read: read.through_txid == 8)
    assert paths(reads) == ["/a", "/b"]
    assert all(read.is_durable for read in reads)
    assert edits.namenode.asked == []
    assert edits.source.stats().source == "directory"
    edits.source.stop()
    assert edits.source.term == 0


async def test_a_run_may_begin_at_a_checkpoint(edits: EditsDirectory) -> None:
    """A publisher resumes at its last position."""
    edits.roll()
    await edits.source.start(2)
    assert paths(await edits.read_until(lambda read: read.through_txid == 6)) == ["/1", "/2"]


async def test_a_probe_covers_what_was_read(edits: EditsDirectory) -> None:
    """K2: as of the probe, and not before its transaction was read."""
    await edits.source.start(None)
    txid = edits.unlink("/a")
    edits.source.wake()
    (*_, covered) = await edits.read_until(lambda read: read.seen_as_of is not None and bool(txid))
    assert covered.fresh_as_of == covered.seen_as_of
    late = edits.namenode.unlink("/b")
    edits.pool.probe()
    probed = edits.pool.last_probe
    assert probed is not None
    asyncio.get_running_loop().call_later(0.2, edits.write, "/b")
    for read in await edits.read_until(
        lambda read: read.through_txid >= late and read.seen_as_of is not None
    ):
        assert read.through_txid >= late or read.fresh_as_of is None or read.fresh_as_of < probed.as_of


async def test_a_directory_that_is_not_written_any_more_is_left(edits: EditsDirectory) -> None:
    """A NameNode may continue without the directory; only its log position shows that."""
    edits.source = edits.new(away_s=0.2)
    await edits.source.start(None)
    edits.unlink("/a")
    await edits.read_until(lambda read: bool(read.batches))
    edits.namenode.unlink("/b")
    edits.pool.probe()
    with pytest.raises(ChannelUnavailableError, match=r"has come to transaction 6, and .* up to 5: "):
        await edits.read_until(lambda _: False)


async def test_where_another_can_be_read_a_namenode_must_say_its_log(
    edits: EditsDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else gives coverage to a directory."""
    monkeypatch.setattr(probing, "UNSHOWN_S", 0.2)
    edits.source = edits.new(away_s=20)
    await edits.source.start(None)
    edits.namenode.answers_journal = False
    edits.source.wake()
    with pytest.raises(
        ChannelUnavailableError, match=r"nn:9870 has not said for 0\.2 s how far its log has come"
    ):
        await edits.read_until(lambda _: False)


async def test_one_that_is_not_the_active_namenodes_is_not_begun(
    edits: EditsDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory's edits end before the NameNode's log does."""
    monkeypatch.setattr(directory, "START_S", 0.2)
    edits.namenode.unlink("/not there")
    with pytest.raises(ChannelUnavailableError, match="up to 4: that NameNode is on another host"):
        await edits.source.start(None)
    assert edits.source.term == 0


async def test_a_purged_segment_is_a_gap(edits: EditsDirectory) -> None:
    """The edits are reported as dropped, or another source is read."""
    edits.roll()
    next(edits.path.glob("edits_0*")).unlink()
    with pytest.raises(MissingEventsError) as caught:
        await edits.source.start(2)
    assert (caught.value.kind, caught.value.first_txid, caught.value.last_txid) == (GapKind.PURGED, 3, 5)


async def test_a_log_that_went_back_is_reported(edits: EditsDirectory) -> None:
    """GapFlush: otherwise a publisher would continue after its position once the log has regrown."""
    edits.namenode.restart(lost=3)
    with pytest.raises(MissingEventsError, match="its last transaction is 2, was 4") as raised:
        await edits.source.start(4)
    assert raised.value.kind is GapKind.WENT_BACK


async def test_another_incarnation_ends_the_run(edits: EditsDirectory) -> None:
    """Edits that the NameNode lost must not be covered."""
    await edits.source.start(None)
    edits.namenode.restart()
    edits.pool.probe()
    with pytest.raises(MissingEventsError, match="term 2 after 1"):
        await edits.read_until(lambda _: False)


async def test_damage_that_stays_ends_the_run(edits: EditsDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage that disappears after a moment was only a read during a write."""
    monkeypatch.setattr(directory, "DAMAGED_S", 0.1)
    await edits.source.start(None)
    edits.writer.put(b"\x03" + b"damage" * 10)
    with pytest.raises(ChannelUnavailableError, match="allowed"):
        await edits.read_until(lambda _: False)


async def test_a_disk_that_hangs_is_waited_for_in_bounds(
    edits: EditsDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then another source is used or another publisher leads. One daemon thread hangs, which no exit waits for."""
    monkeypatch.setattr(directory, "START_S", 0.1)
    is_well, hanging = threading.Event(), list[tuple[Path, bool]]()

    def hang(path: Path, _: Namespace) -> None:
        hanging.append((path, threading.current_thread().daemon))
        is_well.wait(HANG_S)

    try:
        with monkeypatch.context() as patched:
            patched.setattr(directory, "why_no_edits", hang)
            for _ in range(3):
                with pytest.raises(ChannelUnavailableError, match=r"no answer in 0\.1 s"):
                    await asyncio.wait_for(edits.source.start(None), HANG_S)
        assert hanging == [(edits.path, True)]
    finally:
        is_well.set()
    monkeypatch.undo()
    await edits.source.start(None)


async def test_damage_is_no_matter_of_time(edits: EditsDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publisher skips unreadable edits once it can begin after them: otherwise it would publish nothing more."""
    monkeypatch.setattr(directory, "DAMAGED_S", 0.1)
    edits.writer.txid = edits.namenode.unlink("/a")
    edits.writer.put(frame(edits.writer.txid, DELETE, b"damaged")[:-1] + b"?")
    edits.roll()
    with pytest.raises(UnreadableEditsError, match="CRC"):
        await edits.source.start(4)
    await edits.source.start(None)
    edits.unlink("/b")
    assert paths(await edits.read_until(lambda read: bool(read.batches))) == ["/b"]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (PermissionError(13, "Permission denied"), NotPermittedError),
        (OSError(5, "Input/output error"), ChannelUnavailableError),
        (ZeroDivisionError(), ZeroDivisionError),
    ],
)
async def test_a_fault_ends_the_run(
    edits: EditsDirectory, fault: Exception, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next `read` raises the fault."""
    await edits.source.start(None)

    def look(_: object) -> None:
        raise fault

    monkeypatch.setattr(LogDirectory, "look", look)
    with pytest.raises(kind):
        await edits.read_until(lambda _: False)


async def test_why_a_directory_cannot_be_read(edits: EditsDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reason says what to do."""
    path = edits.path
    assert why_no_edits(path, NAMESPACE) is None
    other = why_no_edits(path, Namespace("CID-2", "BP-2"))
    assert isinstance(other, WrongNamespaceError)
    assert "is of namespace BP-1-127.0.0.1-1 of cluster CID-1, and the NameNodes serve BP-2" in str(other)
    assert "edits_dir is the directory" in str(why_no_edits(path / "not-there", NAMESPACE))
    for each in path.glob("edits_*"):
        each.unlink()
    assert "has no edits" in str(why_no_edits(path, NAMESPACE))
    (path / "VERSION").write_text("")
    assert "names no block pool" in str(why_no_edits(path, NAMESPACE))
    with pytest.raises(ChannelUnavailableError, match="names no block pool"):
        await edits.source.start(None)
    assert "VERSION" in str(why_no_edits(path / "VERSION", NAMESPACE))

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(directory, "read_version", refuse)
    assert "run nncache as that user" in str(why_no_edits(path, NAMESPACE))
