"""Replicas as files with their CRCs, and what a block's recovery makes of several."""

from pathlib import Path

import pytest

from nncache.namenode.datanode.recovery import decide_recovery
from nncache.namenode.datanode.replicas import (
    CHUNK,
    CorruptReplicaError,
    Found,
    Replicas,
    ReplicaStoppedError,
)
from nncache.namenode.namespace.inode import Recovery

DATA = bytes(range(256)) * 7  # three chunks and a half
BLOCK = 7


def written(directory: Path, *parts: bytes) -> Replicas:
    """Return replicas of which one is whole."""
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
    """However it was written, and wherever it begins."""
    replicas = written(tmp_path, DATA[:100], DATA[100:1500], DATA[1500:])
    assert b"".join(replicas.read(BLOCK, begin, length)) == DATA[begin : begin + length]


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    """Where it is read, and not elsewhere."""
    replicas = written(tmp_path, DATA)
    file = tmp_path / "finalized" / f"{BLOCK}_1001"
    changed = bytearray(DATA)
    changed[CHUNK + 3] ^= 1
    file.write_bytes(changed)
    with pytest.raises(CorruptReplicaError, match=str(CHUNK)):
        b"".join(replicas.read(BLOCK, 0, len(DATA)))
    assert b"".join(replicas.read(BLOCK, 0, 0)) == b""


def test_what_has_no_crc_does_not_count(tmp_path: Path) -> None:
    """A replica that was being written when the process stopped is as long as its CRCs say, and is cut there."""
    replica = Replicas(tmp_path).create(BLOCK, 1001)
    replica.write(DATA)
    replica._data.close()  # noqa: SLF001 - the process has stopped: the last CRC is not written
    replica._crcs.close()  # noqa: SLF001 - as above
    again = Replicas(tmp_path)
    whole = len(DATA) - len(DATA) % CHUNK
    assert again.find(BLOCK) == Found(1001, whole, is_finalized=False)
    again.recover(BLOCK, 1002, 700)
    assert again.find(BLOCK) == Found(1002, 700, is_finalized=True)
    assert b"".join(again.read(BLOCK, 0, 700)) == DATA[:700]


def test_writing_goes_on_within_a_chunk(tmp_path: Path) -> None:
    """Under the next stamp; the CRC of the chunk that was begun is that of all its bytes."""
    replicas = written(tmp_path, DATA[:700])
    replica = replicas.reopen(BLOCK, 1002)
    replica.write(DATA[700:])
    replica.finish()
    assert replicas.find(BLOCK) == Found(1002, len(DATA), is_finalized=True)
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
    """Its last chunk has no CRC yet; a changed byte in another one is noticed."""
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
    """Neither by an append nor by a truncation: the chunk whose CRC is written again is checked before."""
    replicas = written(tmp_path, DATA)
    file = tmp_path / "finalized" / f"{BLOCK}_1001"
    file.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(CorruptReplicaError):
        replicas.reopen(BLOCK, 1002)
    file.write_bytes(DATA[: CHUNK + 1] + b"x" + DATA[CHUNK + 2 :])
    with pytest.raises(CorruptReplicaError):
        replicas.recover(BLOCK, 1002, CHUNK + 10)
    assert replicas.find(BLOCK) == Found(1001, len(DATA), is_finalized=True)
    file.write_bytes(DATA)
    replicas.recover(BLOCK, 1002, CHUNK + 10)
    assert b"".join(replicas.read(BLOCK, 0, CHUNK + 10)) == DATA[: CHUNK + 10]


def test_a_replica_under_recovery_is_not_written(tmp_path: Path) -> None:
    """Its writer notices that when it goes on."""
    replica = Replicas(tmp_path).create(BLOCK, 1001)
    replica.write(DATA)
    replica.stop()
    with pytest.raises(ReplicaStoppedError):
        replica.write(DATA)
    with pytest.raises(ReplicaStoppedError):
        replica.finish()


WHOLE, BEGUN = Found(1001, 900, is_finalized=True), Found(1001, 700, is_finalized=False)
SAME = Found(1001, 900, is_finalized=False)
EMPTY, LATER = Found(1001, 0, is_finalized=False), Found(1003, 900, is_finalized=True)


@pytest.mark.parametrize(
    ("found", "length", "datanodes"),
    [
        ({"a": BEGUN, "b": SAME}, 700, ("a", "b")),
        ({"a": WHOLE, "b": BEGUN}, 900, ("a",)),
        ({"a": WHOLE, "b": SAME, "c": BEGUN}, 900, ("a", "b")),
        ({"a": BEGUN, "b": EMPTY, "c": None}, 700, ("a",)),
        ({"a": EMPTY, "b": None}, 0, ()),
        ({}, 0, ()),
        ({"a": Found(1002, 500, is_finalized=True)}, 500, ("a",)),  # it stopped before it could say so
    ],
)
def test_what_a_recovery_comes_to(
    found: dict[str, Found | None], length: int, datanodes: tuple[str, ...]
) -> None:
    """A whole replica's length wins; without one all are cut to the shortest; without a byte the block goes."""
    outcome = decide_recovery(Recovery(file=1, block=BLOCK, recovery_id=1002), found)
    assert outcome is not None
    assert (outcome.length, outcome.datanodes, outcome.is_empty) == (length, datanodes, not datanodes)


def test_a_truncation_says_the_length_itself(tmp_path: Path) -> None:
    """Of the replicas that have as much."""
    order = Recovery(file=1, block=BLOCK, recovery_id=1002, truncate_to=800)
    outcome = decide_recovery(order, {"a": WHOLE, "b": Found(1001, 700, is_finalized=True)})
    assert outcome is not None
    assert (outcome.length, outcome.datanodes) == (800, ("a",))


def test_a_later_recovery_is_left_alone() -> None:
    """A replica with a later stamp belongs to another recovery."""
    assert decide_recovery(Recovery(file=1, block=BLOCK, recovery_id=1002), {"a": LATER}) is None
