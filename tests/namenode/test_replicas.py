"""Replicas are files with CRCs; a block's recovery decides between several of them."""

import contextlib
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from nncache.namenode.datanode import replicas as module
from nncache.namenode.datanode.recovery import decide_recovery
from nncache.namenode.datanode.replicas import (
    CHUNK,
    CorruptReplicaError,
    ReplicaInfo,
    Replicas,
    ReplicaStoppedError,
    WritingReplica,
)
from nncache.namenode.namespace.inode import Recovery

DATA = bytes(range(256)) * 7  # three chunks and a half
BLOCK = 7


def written(directory: Path, *parts: bytes) -> Replicas:
    """Return replicas with one finalized replica, written in these parts."""
    replicas = Replicas(directory)
    replica = replicas.create(BLOCK, 1001)
    for part in parts:
        replica.write(part)
    replica.finish()
    return replicas


@pytest.mark.parametrize(
    ("begin", "length"), [(0, len(DATA)), (1, 10), (CHUNK - 1, 2), (1000, 5000), (len(DATA), 1)]
)
def test_a_part_is_read(begin: int, length: int, tmp_path: Path) -> None:
    """A range is read correctly whatever its bounds, and however the replica was written."""
    replicas = written(tmp_path, DATA[:100], DATA[100:1500], DATA[1500:])
    assert b"".join(replicas.read(BLOCK, begin, length)) == DATA[begin : begin + length]


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    """It fails a read of its chunk, and no other read."""
    replicas = written(tmp_path, DATA)
    file = tmp_path / "finalized" / f"{BLOCK}_1001"
    changed = bytearray(DATA)
    changed[CHUNK + 3] ^= 1
    file.write_bytes(changed)
    with pytest.raises(CorruptReplicaError, match=str(CHUNK)):
        b"".join(replicas.read(BLOCK, 0, len(DATA)))
    assert b"".join(replicas.read(BLOCK, 0, 0)) == b""


def kill(replica: WritingReplica, data: bytes) -> None:
    """Write, then leave the files as a killed process would."""
    replica.write(data)
    replica._data.close()  # noqa: SLF001 - as the end of the process closes them
    replica._crcs.close()  # noqa: SLF001 - as above


@pytest.mark.parametrize("more", [0, 1, 400, CHUNK, 5000])
@pytest.mark.parametrize("length", [0, 700, 2 * CHUNK])
def test_what_has_no_crc_does_not_count(length: int, more: int, tmp_path: Path) -> None:
    """After a crash, an unfinished replica is as long as its CRCs cover, and is cut there."""
    kill(Replicas(tmp_path).create(BLOCK, 1001), DATA[:length])
    with (tmp_path / "rbw" / f"{BLOCK}_1001").open("ab") as data:
        data.write(bytes(more))  # from an interrupted write
    again = Replicas(tmp_path)
    assert again.find(BLOCK) == ReplicaInfo(1001, length, is_finalized=False)
    again.recover(BLOCK, 1002, length)
    assert again.find(BLOCK) == ReplicaInfo(1002, length, is_finalized=True)
    assert b"".join(again.read(BLOCK, 0, length)) == DATA[:length]


def test_a_corrupt_chunk_at_the_end_does_not_count(tmp_path: Path) -> None:
    """An unfinished replica ends before its corrupt last chunk."""
    kill(Replicas(tmp_path).create(BLOCK, 1001), DATA[:700])
    (tmp_path / "rbw" / f"{BLOCK}_1001").write_bytes(DATA[:CHUNK] + b"x" + DATA[CHUNK + 1 : 700])
    assert Replicas(tmp_path).find(BLOCK) == ReplicaInfo(1001, CHUNK, is_finalized=False)


@contextlib.contextmanager
def before_each_line(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` before each line of the module that runs."""

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_a_stop_before_any_line_costs_no_acknowledged_byte(tmp_path: Path) -> None:
    """A crash at any line of an append or a cutting recovery keeps acknowledged bytes readable and appendable."""
    stops: list[tuple[Path, int]] = []
    acknowledged = 0

    def stop() -> None:
        """Copy the files that a process killed now would leave."""
        left = tmp_path / f"stop{len(stops)}"
        shutil.copytree(tmp_path / "running", left)
        stops.append((left, acknowledged))

    replicas = Replicas(tmp_path / "running")
    with before_each_line(stop):
        replica = replicas.create(BLOCK, 1001)
        replica.write(DATA[:700])
        replica.finish()
        acknowledged = 700
        replica = replicas.reopen(BLOCK, 1002)
        replica.write(DATA[700:750])
        acknowledged = 750  # by hsync
        replica.restamp(1003)
        replica.write(DATA[750:1500])
        replica.finish()
        acknowledged = 600  # the replica will be cut there, and then within its first chunk
        replicas.recover(BLOCK, 1004, 600)
        replica = replicas.reopen(BLOCK, 1005)
        replica.write(DATA[600:610])
        acknowledged = 100
        replica.stop()
        replicas.recover(BLOCK, 1006, 100)
    assert len(stops) > 100
    for left, known in stops:
        again = Replicas(left)
        found = again.find(BLOCK) or ReplicaInfo(0, 0, is_finalized=False)
        assert found.length >= known, left
        assert b"".join(again.read(BLOCK, 0, found.length) if found.stamp else ()) == DATA[: found.length]
        assert len(tuple(left.glob("*/*"))) in {0, 2}, "data and their CRCs"
        if known:
            replica = again.reopen(BLOCK, 2000)
            replica.write(DATA[found.length :])
            replica.finish()
            assert b"".join(again.read(BLOCK, 0, len(DATA))) == DATA


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Limit the size of every file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_start_needs_no_room(tmp_path: Path) -> None:
    """Replicas that were being written can be recovered later, when there is room."""
    kill(Replicas(tmp_path).create(BLOCK, 1001), DATA[:700])
    with full_disk(0):
        again = Replicas(tmp_path)
    assert again.find(BLOCK) == ReplicaInfo(1001, 700, is_finalized=False)
    again.recover(BLOCK, 1002, 700)
    assert b"".join(again.read(BLOCK, 0, 700)) == DATA[:700]


@pytest.mark.parametrize("room", [0, 100, CHUNK, 1000])
def test_a_full_disk_leaves_what_was_before(room: int, tmp_path: Path) -> None:
    """A write that fits only in part raises; the replica keeps its length, and the CRCs for it."""
    replicas = Replicas(tmp_path)
    replica = replicas.create(BLOCK, 1001)
    replica.write(DATA[:700])
    with full_disk(700 + room), pytest.raises(OSError, match="File too large"):
        replica.write(DATA[700:])
    assert b"".join(replicas.read_begun(BLOCK, 0, 700)) == DATA[:700]
    replica.stop()
    assert replicas.find(BLOCK) == ReplicaInfo(1001, 700, is_finalized=False)
    assert b"".join(replicas.read(BLOCK, 0, 700)) == DATA[:700]


def test_writing_goes_on_within_a_chunk(tmp_path: Path) -> None:
    """The replica gets the next stamp; the CRC of the unfinished chunk covers all its bytes."""
    replicas = written(tmp_path, DATA[:700])
    replica = replicas.reopen(BLOCK, 1002)
    replica.write(DATA[700:])
    replica.finish()
    assert replicas.find(BLOCK) == ReplicaInfo(1002, len(DATA), is_finalized=True)
    assert b"".join(replicas.read(BLOCK, 0, len(DATA))) == DATA
    assert replicas.crcs(BLOCK) == written(tmp_path / "other", DATA).crcs(BLOCK)
    assert Replicas(tmp_path).blocks() == replicas.blocks()
    replicas.delete(BLOCK)
    assert replicas.find(BLOCK) is None
    assert list(tmp_path.glob("*/7*")) == []


@pytest.mark.parametrize(
    ("begin", "end"), [(0, 700), (512, 512), (600, 600), (1, 513), (600, 700), (0, 1), (0, 512)]
)
def test_a_begun_replica_is_read_as_far_as_it_has_come(begin: int, end: int, tmp_path: Path) -> None:
    """The CRC of its last chunk still changes; a changed byte in any other chunk is detected."""
    replicas = Replicas(tmp_path)
    replica = replicas.create(BLOCK, 1001)
    replica.write(DATA[:700])
    assert b"".join(replicas.read_begun(BLOCK, begin, end)) == DATA[begin:end]
    file = tmp_path / "rbw" / f"{BLOCK}_1001"
    file.write_bytes(b"x" + DATA[1:700])
    if begin < CHUNK <= end:
        with pytest.raises(CorruptReplicaError):
            b"".join(replicas.read_begun(BLOCK, begin, end))
    replica.stop()


def test_a_changed_byte_gets_no_new_crc(tmp_path: Path) -> None:
    """An append or truncation first checks the chunk whose CRC it rewrites."""
    replicas = written(tmp_path, DATA)
    file = tmp_path / "finalized" / f"{BLOCK}_1001"
    file.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(CorruptReplicaError):
        replicas.reopen(BLOCK, 1002)
    file.write_bytes(DATA[: CHUNK + 1] + b"x" + DATA[CHUNK + 2 :])
    with pytest.raises(CorruptReplicaError):
        replicas.recover(BLOCK, 1002, CHUNK + 10)
    assert replicas.find(BLOCK) == ReplicaInfo(1001, len(DATA), is_finalized=True)
    file.write_bytes(DATA)
    replicas.recover(BLOCK, 1002, CHUNK + 10)
    assert b"".join(replicas.read(BLOCK, 0, CHUNK + 10)) == DATA[: CHUNK + 10]


def test_a_replica_under_recovery_is_not_written(tmp_path: Path) -> None:
    """Its writer gets ReplicaStoppedError."""
    replica = Replicas(tmp_path).create(BLOCK, 1001)
    replica.write(DATA)
    replica.stop()
    with pytest.raises(ReplicaStoppedError):
        replica.write(DATA)
    with pytest.raises(ReplicaStoppedError):
        replica.finish()


WHOLE, BEGUN = ReplicaInfo(1001, 900, is_finalized=True), ReplicaInfo(1001, 700, is_finalized=False)
SAME = ReplicaInfo(1001, 900, is_finalized=False)
EMPTY, LATER = ReplicaInfo(1001, 0, is_finalized=False), ReplicaInfo(1003, 900, is_finalized=True)


@pytest.mark.parametrize(
    ("found", "length", "datanodes"),
    [
        ({"a": BEGUN, "b": SAME}, 700, ("a", "b")),
        ({"a": WHOLE, "b": BEGUN}, 900, ("a",)),
        ({"a": WHOLE, "b": SAME, "c": BEGUN}, 900, ("a", "b")),
        ({"a": BEGUN, "b": EMPTY, "c": None}, 700, ("a",)),
        ({"a": EMPTY, "b": None}, 0, ()),
        ({}, 0, ()),
        ({"a": ReplicaInfo(1002, 500, is_finalized=True)}, 500, ("a",)),  # it stopped before it could report
    ],
)
def test_what_a_recovery_comes_to(
    found: dict[str, ReplicaInfo | None], length: int, datanodes: tuple[str, ...]
) -> None:
    """A finalized replica sets the length; without one all are cut to the shortest; without any byte the block goes."""
    outcome = decide_recovery(Recovery(file=1, block=BLOCK, recovery_id=1002), found)
    assert outcome is not None
    assert (outcome.length, outcome.datanodes, outcome.is_empty) == (length, datanodes, not datanodes)


def test_a_truncation_says_the_length_itself(tmp_path: Path) -> None:
    """The order sets the length, and keeps the replicas that are at least as long."""
    order = Recovery(file=1, block=BLOCK, recovery_id=1002, truncate_to=800)
    outcome = decide_recovery(order, {"a": WHOLE, "b": ReplicaInfo(1001, 700, is_finalized=True)})
    assert outcome is not None
    assert (outcome.length, outcome.datanodes) == (800, ("a",))


def test_a_later_recovery_is_left_alone() -> None:
    """A replica with a later stamp belongs to another recovery."""
    assert decide_recovery(Recovery(file=1, block=BLOCK, recovery_id=1002), {"a": LATER}) is None
