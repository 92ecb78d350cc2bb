"""nncache/hadoop/editlog/local.py, on files as a NameNode writes them."""

import os
from pathlib import Path

import pytest

from nncache.hadoop.editlog import local
from nncache.hadoop.editlog.local import LogDirectory, PurgedSegmentError, read_version
from nncache.hadoop.errors import MalformedEditsError
from nncache.hadoop.namespace import Namespace
from tests.hadoop.editlog.segments import PADDING, frame, header

START, END, MKDIR = 24, 23, 3
AHEAD = PADDING * 4096


class Writer:
    """Changes the files of a directory as a NameNode does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.txid = 0  # the last one
        self.first = 0  # transaction of the open segment
        self.written = 0  # bytes in the open segment

    @property
    def path(self) -> Path:
        """The open segment."""
        return self.directory / f"edits_inprogress_{self.first:019d}"

    def begin(self) -> None:
        """Open a segment."""
        self.first = self.txid + 1
        self.path.write_bytes(AHEAD)
        self.put(header())
        self.write(START)

    def write(self, opcode: int = MKDIR, body: bytes = b"body") -> None:
        """Write a transaction."""
        self.txid += 1
        self.put(frame(self.txid, opcode, body))

    def put(self, data: bytes) -> None:
        """Write bytes over the preallocated ones."""
        with self.path.open("r+b") as file:
            file.seek(self.written)
            file.write(data)
            self.written = file.tell()

    def finalize(self) -> None:
        """Truncate the open segment to its contents and rename it."""
        os.truncate(self.path, self.written)
        self.path.rename(self.directory / f"edits_{self.first:019d}-{self.txid:019d}")
        self.written = 0

    def roll(self) -> None:
        """End the segment and start the next one."""
        self.write(END)
        self.finalize()
        self.begin()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    """Return a writer with transactions 1 to 3 in its segment."""
    made = Writer(tmp_path)
    made.begin()
    made.write()
    made.write()
    return made


def read(log: LogDirectory) -> list[int]:
    """Read until there is no more; return the transactions."""
    found: list[int] = []
    while True:
        frames, more = log.look()
        found += [each.txid for each in frames.frames]
        if not more:
            return found


def test_an_open_segment_is_read_as_it_grows(writer: Writer) -> None:
    """L1: transactions after the position, up to the padding, are returned once each."""
    log = LogDirectory(writer.directory, 1)
    assert read(log) == [2, 3]
    assert read(log) == []
    writer.write()
    assert read(log) == [4]
    assert log.through_txid == 4
    log.close()
    writer.write()
    assert read(log) == []


def test_a_position_at_the_end_is_found(writer: Writer) -> None:
    """Everything before the position is skipped, and nothing after it."""
    log = LogDirectory(writer.directory, 3)
    assert (read(log), log.through_txid) == ([], 3)
    behind = LogDirectory(writer.directory, 4)
    assert (read(behind), behind.through_txid) == ([], None)
    for each in (log, behind):
        each.close()


def test_it_follows_from_segment_to_segment(writer: Writer) -> None:
    """A segment's descriptor stays valid after its rename; a later reader finds the segment by its name."""
    log = LogDirectory(writer.directory, 0)
    assert read(log) == [1, 2, 3]
    writer.write()
    writer.roll()
    writer.write()
    assert read(log) == [4, 5, 6, 7]
    writer.roll()
    late = LogDirectory(writer.directory, 4)
    assert read(log) == [8, 9]
    assert read(late) == [5, 6, 7, 8, 9]
    for each in (log, late):
        each.close()


def test_a_segment_whose_writer_died_has_no_end(writer: Writer) -> None:
    """The next segment begins after its last transaction, whether it was finalized or not."""
    log = LogDirectory(writer.directory, 0)
    assert read(log) == [1, 2, 3]
    writer.finalize()
    writer.begin()
    assert read(log) == [4]
    writer.written = 0
    writer.begin()
    assert read(log) == [5]
    log.close()


def test_a_torn_tail_is_read_when_it_is_whole(writer: Writer) -> None:
    """Neither half a frame nor a header that is not yet written is an error."""
    log = LogDirectory(writer.directory, 0)
    assert read(log) == [1, 2, 3]
    whole = frame(4, MKDIR, b"body")
    writer.put(whole[:-6])
    assert read(log) == []
    writer.put(whole[-6:])
    assert read(log) == [4]
    writer.txid = 4
    writer.write(END)
    writer.finalize()
    path = writer.directory / f"edits_inprogress_{6:019d}"
    path.write_bytes(AHEAD)
    assert read(log) == [5]
    path.write_bytes(header() + frame(6, START) + AHEAD)
    assert read(log) == [6]
    log.close()


def test_a_long_frame_is_read(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame may be longer than one read."""
    monkeypatch.setattr(local, "_LOOK_BYTES", 64)
    writer.write(body=b"x" * 1000)
    writer.write()
    log = LogDirectory(writer.directory, 0)
    assert read(log) == [1, 2, 3, 4, 5]
    log.close()


def test_a_look_brings_no_more_than_may_be_decoded_at_once(writer: Writer) -> None:
    """A backlog of edits is returned in several reads."""
    for _ in range(200):
        writer.write(body=b"x" * 4096)
    log = LogDirectory(writer.directory, 0)
    more, found = True, 0
    while more:
        frames, more = log.look()
        assert sum(len(each.body) for each in frames.frames) <= 256 * 1024
        found += len(frames.frames)
    assert found == 203
    log.close()


def test_damage_amid_the_bytes_is_an_error(writer: Writer) -> None:
    """A reader that sees a write in progress retries."""
    log = LogDirectory(writer.directory, 0)
    assert read(log) == [1, 2, 3]
    written = writer.written
    writer.put(b"\x03" + b"damage" * 10)
    with pytest.raises(MalformedEditsError):
        log.look()
    writer.written = written
    writer.put(AHEAD)
    writer.written = written
    writer.write()
    assert read(log) == [4]
    log.close()


def test_a_purged_segment_is_an_error(writer: Writer) -> None:
    """It may be gone after a time as a standby; the directory is listed twice before the error."""
    for _ in range(2):
        writer.roll()
    for path in sorted(writer.directory.glob("edits_0*"))[:1]:
        path.unlink()
    log = LogDirectory(writer.directory, 2)
    assert read(log) == []
    with pytest.raises(PurgedSegmentError) as caught:
        log.look()
    assert caught.value.last_txid == 4
    left = LogDirectory(writer.directory, 4)
    assert read(left) == [5, 6, 7]
    writer.written, writer.txid = 0, 20
    writer.begin()
    assert read(left) == []
    with pytest.raises(PurgedSegmentError):
        left.look()
    left.close()


def test_what_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    """The directory is empty, and is not listed again until it changes."""
    log = LogDirectory(tmp_path, 0)
    os.utime(tmp_path, (1, 1))
    for _ in range(2):
        assert read(log) == []
    Writer(tmp_path).begin()
    assert read(log) == [1]
    log.close()


def test_the_namespace_of_a_directory(tmp_path: Path) -> None:
    """The VERSION file is in the format of java.util.Properties."""
    version = tmp_path / "VERSION"
    version.write_text("#Sun Nov 29 2026\nnamespaceID=7\nclusterID=CID-1\\:2\nblockpoolID=BP-1-127.0.0.1-1\n")
    assert read_version(tmp_path) == Namespace("CID-1:2", "BP-1-127.0.0.1-1")
    version.write_text("clusterID=CID-1\n")
    assert read_version(tmp_path) is None
    version.unlink()
    with pytest.raises(FileNotFoundError):
        read_version(tmp_path)
