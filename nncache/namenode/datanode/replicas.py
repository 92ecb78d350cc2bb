"""Replicas as files, with a CRC for each chunk of 512 bytes.

`rbw/ID_STAMP` is being written, `finalized/ID_STAMP` is complete, `tmp/ID_STAMP` is an unfinished copy. `ID_STAMP.crc`
in the same directory has 4 bytes big-endian for each chunk (CRC-32, one of HDFS's dfs.checksum.type). A replica that
was being written when the process stopped waits for its recovery: it has the length that its CRCs cover.

A partial chunk has a CRC too, which each write replaces after it has written the data. So at any stop of the process
the last CRC is that of a prefix of its chunk, and the next start determines the length of the prefix.
(BlockPoolSlice.validateIntegrityAndSetLength of Hadoop 3.3 compares only the whole chunk.)
"""

import contextlib
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

CHUNK: Final = 512
_CRC_BYTES: Final = 4
_AT_ONCE: Final = 128 * CHUNK


class CorruptReplicaError(Exception):
    """A chunk differs from what was written."""


class ReplicaStoppedError(Exception):
    """The replica is closed for writes: its block is being recovered."""


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """The state of a replica."""

    stamp: int
    length: int
    is_finalized: bool


class WritingReplica:
    """A replica that is being written."""

    def __init__(
        self,
        replicas: "Replicas",
        block: int,
        stamp: int,
        files: tuple[FileIO, FileIO],
        length: int = 0,
        chunk: bytes = b"",
    ) -> None:
        """Continue after `length` existing bytes, of which `chunk` is the partial chunk at the end."""
        self.block = block
        self.stamp = stamp
        self.length = length
        self._replicas = replicas
        self._data, self._crcs = files
        self._chunk = chunk

    def write(self, data: bytes) -> None:
        """Append bytes to the replica.

        Raises:
            ReplicaStoppedError: its recovery has begun.
            OSError: the disk failed; earlier bytes stay.
        """
        self._check_open()
        _put(self._data, data, self.length)
        chunks = self._chunk + data
        crcs = b"".join(_crc(chunks[at : at + CHUNK]) for at in range(0, len(chunks), CHUNK))
        _put(self._crcs, crcs, self.length // CHUNK * _CRC_BYTES)
        self.length += len(data)
        self._chunk = chunks[len(chunks) - len(chunks) % CHUNK :]

    def finish(self) -> None:
        """Finalize the replica. Raises ReplicaStoppedError."""
        self._check_open()
        self.stop()
        self._replicas.move(self.block, self.stamp)

    def adopt(self) -> None:
        """Finalize the copy in place of the earlier replica, if there was one."""
        self.stop()
        self._replicas.adopt(self.block, self.stamp)

    def restamp(self, stamp: int) -> None:
        """Continue under another stamp. Raises ReplicaStoppedError."""
        self._check_open()
        self._replicas.restamp(self.block, stamp)
        self.stamp = stamp

    def _check_open(self) -> None:
        if self._data.closed:
            raise ReplicaStoppedError(f"block {self.block} is being recovered")

    def stop(self) -> None:
        """Close the replica, and keep it for recovery."""
        if self._data.closed:
            return
        _cut(self._data, self._crcs, self.length, self._chunk)  # a failed write may have left more bytes
        for file in (self._data, self._crcs):
            if self._replicas.is_durable:
                os.fsync(file.fileno())
            file.close()


class Replicas:
    """The replicas in a directory."""

    def __init__(self, directory: Path, *, is_durable: bool = True) -> None:
        """Use a directory, created if it is missing. Durable replicas are synced before they are reported."""
        self.is_durable = is_durable
        self._writing = directory / "rbw"
        self._finalized = directory / "finalized"
        self._copying = directory / "tmp"
        for each in (self._writing, self._finalized, self._copying):
            each.mkdir(parents=True, exist_ok=True)
        for file in self._copying.iterdir():
            file.unlink()
        self._stamps: dict[int, tuple[Path, int]] = {}
        self.look()
        self._end_renames()
        for block, (place, _) in self._stamps.items():
            if place == self._writing:
                with contextlib.suppress(OSError):  # a disk failure: the recovery of the block checks it
                    self._end_write(block)

    def look(self) -> None:
        """List the replicas on disk again: some may be lost or damaged."""
        self._stamps.clear()
        for each in (self._writing, self._finalized):
            for file in each.glob("*[0-9]"):
                block, _, stamp = file.name.partition("_")
                self._stamps[int(block)] = (each, int(stamp))

    def _end_renames(self) -> None:
        """Undo renames that a stop of the process left half done: move CRCs back to their data, or delete orphans."""
        for place in (self._writing, self._finalized):
            for crcs in tuple(place.glob("*.crc")):
                if crcs.with_suffix("").exists():
                    continue
                block = int(crcs.name.partition("_")[0])
                if block in self._stamps and not self._files(block)[1].exists():
                    crcs.replace(self._files(block)[1])
                else:
                    crcs.unlink()

    def _end_write(self, block: int) -> None:
        """Truncate a replica that was being written when the process stopped to the bytes that its CRCs cover."""
        data, crcs = self._files(block)
        last = max(0, self._length(block) - 1) // CHUNK
        if crcs.exists():
            with data.open("r+b", buffering=0) as file, crcs.open("r+b", buffering=0) as sums:
                chunk = os.pread(file.fileno(), CHUNK, last * CHUNK)
                covered = _covered(chunk, os.pread(sums.fileno(), _CRC_BYTES, last * _CRC_BYTES))
                _cut(file, sums, last * CHUNK + covered, chunk[: covered % CHUNK])

    def free(self) -> tuple[int, int]:
        """Return the size of the disk and its free space, in bytes."""
        found = os.statvfs(self._finalized)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def create(self, block: int, stamp: int) -> WritingReplica:
        """Begin a replica; delete an earlier one of the block."""
        self.delete(block)
        self._stamps[block] = (self._writing, stamp)
        return WritingReplica(self, block, stamp, _emptied(self._files(block)))

    def copy(self, block: int, stamp: int) -> WritingReplica:
        """Begin a copy; an earlier replica of the block stays until the copy is complete."""
        return WritingReplica(self, block, stamp, _emptied(self._copies(block, stamp)))

    def _copies(self, block: int, stamp: int) -> tuple[Path, Path]:
        return self._copying / f"{block}_{stamp}", self._copying / f"{block}_{stamp}.crc"

    def adopt(self, block: int, stamp: int) -> None:
        """Finalize a copy in place of the earlier replica, if there was one."""
        if self._stamps.get(block) != (self._finalized, stamp):
            self.delete(block)
        self._stamps[block] = (self._finalized, stamp)
        copy, crcs = self._copies(block, stamp)
        for old, new in zip((crcs, copy), reversed(self._files(block)), strict=True):
            old.replace(new)

    def restamp(self, block: int, stamp: int) -> None:
        """Change the stamp of a replica that is being written."""
        self._rename(block, self._writing, stamp)

    def read_begun(self, block: int, begin: int, end: int) -> Iterator[bytes]:
        """Yield a range of a replica that is being written; its last chunk, whose CRC may change, is not checked.

        Raises:
            CorruptReplicaError: another chunk differs from what was written.
        """
        checked = max(begin, end - end % CHUNK)
        if begin < checked:
            yield from self.read(block, begin, checked - begin)
        if checked < end:
            with self._files(block)[0].open("rb") as file:
                file.seek(checked)
                yield file.read(end - checked)

    def reopen(self, block: int, stamp: int) -> WritingReplica:
        """Reopen a replica for append, under another stamp.

        Raises:
            CorruptReplicaError: the partial chunk at the end, which gets a new CRC, differs from what was written.
        """
        length = self._length(block)
        self._check_chunk(block, length)
        self._rename(block, self._writing, stamp)
        data, crcs = (file.open("r+b", buffering=0) for file in self._files(block))
        chunk = os.pread(data.fileno(), length % CHUNK, length - length % CHUNK)
        _cut(data, crcs, length, chunk)
        return WritingReplica(self, block, stamp, (data, crcs), length, chunk)

    def find(self, block: int) -> ReplicaInfo | None:
        """Return the state of a block's replica; None if there is none."""
        if block not in self._stamps:
            return None
        place, stamp = self._stamps[block]
        return ReplicaInfo(stamp, self._length(block), place == self._finalized)

    def blocks(self) -> dict[int, ReplicaInfo]:
        """Return the states of all replicas, by block id."""
        return {block: found for block in tuple(self._stamps) if (found := self.find(block)) is not None}

    def read(self, block: int, begin: int, length: int) -> Iterator[bytes]:
        """Yield a range of a replica, checked against its CRCs.

        Raises:
            CorruptReplicaError: a chunk differs from what was written.
        """
        data, crcs = self._files(block)
        at = begin - begin % CHUNK
        end = begin + length
        with data.open("rb") as file, crcs.open("rb") as sums:
            file.seek(at)
            sums.seek(at // CHUNK * _CRC_BYTES)
            while at < end:
                part = file.read(min(_AT_ONCE, end - at + -end % CHUNK))
                if not part:
                    return
                for start in range(0, len(part), CHUNK):
                    if sums.read(_CRC_BYTES) != _crc(part[start : start + CHUNK]):
                        raise CorruptReplicaError(f"block {block}: the chunk at {at + start} is corrupt")
                yield part[max(0, begin - at) : end - at]
                at += len(part)

    def crcs(self, block: int) -> bytes:
        """Return the concatenated CRCs of a replica."""
        return self._files(block)[1].read_bytes()

    def recover(self, block: int, stamp: int, length: int) -> None:
        """Truncate a replica to a length, change its stamp, and finalize it.

        Raises:
            CorruptReplicaError: the chunk at the cut, which gets a new CRC, differs from what was written.
        """
        self._check_chunk(block, length)
        if length < self._length(block):  # a start ends truncations in `rbw` that were cut short
            self._rename(block, self._writing, self._stamps[block][1])
        data, crcs = self._files(block)
        with data.open("r+b", buffering=0) as file, crcs.open("r+b", buffering=0) as sums:
            _cut(file, sums, length, os.pread(file.fileno(), length % CHUNK, length - length % CHUNK))
        self._rename(block, self._finalized, stamp)

    def _check_chunk(self, block: int, at: int) -> None:
        """Check the CRC of the chunk that an offset cuts: the new CRC would hide a corruption."""
        keep = at - at % CHUNK
        if at > keep:
            for _ in self.read(block, keep, 1):
                pass

    def move(self, block: int, stamp: int) -> None:
        """Finalize a replica."""
        self._rename(block, self._finalized, stamp)

    def delete(self, block: int) -> None:
        """Delete a replica, if there is one."""
        if block in self._stamps:
            for file in self._files(block):
                file.unlink(missing_ok=True)
            del self._stamps[block]

    def _rename(self, block: int, place: Path, stamp: int) -> None:
        before = self._files(block)
        self._stamps[block] = (place, stamp)
        for old, new in zip(reversed(before), reversed(self._files(block)), strict=True):  # the CRCs first
            old.replace(new)

    def _files(self, block: int) -> tuple[Path, Path]:
        place, stamp = self._stamps[block]
        return place / f"{block}_{stamp}", place / f"{block}_{stamp}.crc"

    def _length(self, block: int) -> int:
        """Return the number of bytes that have a CRC; 0 without either file."""
        data, crcs = self._files(block)
        if not data.exists() or not crcs.exists():
            return 0
        return min(data.stat().st_size, crcs.stat().st_size // _CRC_BYTES * CHUNK)


def _emptied(files: tuple[Path, Path]) -> tuple[FileIO, FileIO]:
    data, crcs = files
    return data.open("wb", buffering=0), crcs.open("wb", buffering=0)


def _crc(chunk: bytes) -> bytes:
    return zlib.crc32(chunk).to_bytes(_CRC_BYTES, "big")


def _put(file: FileIO, data: bytes, at: int) -> None:
    """Write all bytes at an offset; a full disk may write a part of them before it raises OSError."""
    left = memoryview(data)
    while left:
        written = os.pwrite(file.fileno(), left, at)
        left, at = left[written:], at + written


def _cut(data: FileIO, crcs: FileIO, length: int, chunk: bytes) -> None:
    """Truncate a replica to a length that ends with this partial chunk.

    The data are truncated last: until then the last CRC is that of a prefix of its chunk.
    """
    last = length // CHUNK * _CRC_BYTES
    crc = _crc(chunk) if chunk else b""
    os.ftruncate(crcs.fileno(), last + len(crc))
    _put(crcs, crc, last)
    os.ftruncate(data.fileno(), length)


def _covered(chunk: bytes, crc: bytes) -> int:
    """Return the length of the longest prefix of a chunk that has this CRC; 0: none has."""
    covered = value = 0
    for length in range(1, len(chunk) + 1):
        value = zlib.crc32(chunk[length - 1 : length], value)
        if value.to_bytes(_CRC_BYTES, "big") == crc:
            covered = length
    return covered
