"""Reads the edit log in a NameNode's own directory while the NameNode writes it. Blocking: run it in a thread.

Source: NNStorage, FileJournalManager and EditLogFileOutputStream of Hadoop 2.7.7 to 3.5.0. An open segment,
`edits_inprogress_FIRST`, is preallocated. When it ends, it is truncated after its last transaction and renamed to
`edits_FIRST-LAST`. A file descriptor of it remains valid.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from nncache.hadoop.editlog.frames import HEADER_BYTES, Frame, Frames, Stop, read_frames, read_header
from nncache.hadoop.namespace import Namespace

END_LOG_SEGMENT: Final = 23
"""The opcode of a segment's last transaction, unless its writer died."""

_LOOK_BYTES: Final = 1 << 18
"""Bytes of one read, unless a transaction is longer: they are decoded in one iteration of the event loop."""

_SETTLED_NS: Final = 1_000_000_000
"""A directory that changed less than this ago may change again without a change of its modification time."""

_PROPERTY: Final = re.compile(r"(?m)^(?P<key>\w+)=(?P<value>.*)$")
_ESCAPED: Final = re.compile(r"\\(.)")
_NAME: Final = re.compile(r"edits_(?:(?P<first>\d{19})-(?P<last>\d{19})|inprogress_(?P<open>\d{19}))")


class LocalFrames(NamedTuple):
    """Consecutive transactions, with the layout version of their segment."""

    layout_version: int
    frames: tuple[Frame, ...]


class PurgedSegmentError(Exception):
    """The next transaction is in no segment of the directory, but transactions after `last_txid` are."""

    def __init__(self, last_txid: int) -> None:
        super().__init__(last_txid)
        self.last_txid = last_txid


def read_version(directory: Path) -> Namespace | None:
    """Return the namespace in the file VERSION of a NameNode's directory; None if it contains none.

    Raises OSError if the file cannot be read.
    """
    text = (directory / "VERSION").read_text(encoding="latin-1")  # java.util.Properties
    found = {match["key"]: _ESCAPED.sub(r"\1", match["value"].strip()) for match in _PROPERTY.finditer(text)}
    if "clusterID" not in found or "blockpoolID" not in found:
        return None
    return Namespace(found["clusterID"], found["blockpoolID"])


class _Segment(NamedTuple):
    first_txid: int
    last_txid: int | None  # None: open, or left open
    path: Path


class LogDirectory:
    """Reads the log in one directory from a position on.

    Invariants:
        L1  `look` returns each transaction after the position once, in order, and advances the position over no others.
        L2  Returned transactions are on the disk: the reader itself calls fdatasync.
    """

    def __init__(self, directory: Path, after_txid: int) -> None:
        """Read the transactions after `after_txid`; `directory` is `current` in one of `dfs.namenode.edits.dir`."""
        self._directory = directory
        self._position = after_txid
        self.through_txid: int | None = None
        """The position, once it was found in the directory."""
        self._lock = Lock()  # a descriptor is not closed during a read
        self._is_closed = False
        self._file: int | None = None  # descriptor of the current segment
        self._first_txid = 0  # of that segment
        self.last_txid = 0
        """The last transaction that was read, also before the position; 0 for none."""
        self._layout_version: int | None = None  # of the segment; None until its header is written
        self._offset = 0  # of the next frame in the segment
        self._listed_at = -1  # modification time (ns) of the directory at the last listing without a result
        self._gap: tuple[int, int] | None = None  # transactions that seemed to be missing at the last listing

    def look(self) -> tuple[LocalFrames, bool]:
        """Return the next transactions, if there are any, and whether more may be available immediately.

        Raises:
            PurgedSegmentError: the next transaction is missing, and later ones exist.
            MalformedEditsError: the file is damaged there, or was read during a write.
            OSError: the directory, or a file in it, cannot be read.
        """
        try:
            with self._lock:
                return self._look()
        finally:
            if self._is_closed:
                self.close()  # `close` could not do it during this read

    def close(self) -> None:
        """Close the file; during a read, which a bad disk can delay, close it after the read."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def _look(self) -> tuple[LocalFrames, bool]:
        if self._is_closed or (self._file is None and not self._open_next()):
            return LocalFrames(0, ()), False
        found, more = self._read()
        if found.frames or more:
            return found, more
        return found, self._open_next()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read(self) -> tuple[LocalFrames, bool]:
        """Continue to read the segment."""
        assert self._file is not None
        if self._layout_version is None:
            self._layout_version = read_header(os.pread(self._file, HEADER_BYTES, 0))
            if self._layout_version is None:
                return LocalFrames(0, ()), False
            self._offset = HEADER_BYTES
        read = self._read_frames(self._file)
        if not read.frames:
            return LocalFrames(self._layout_version, ()), False
        self._offset += read.offset
        self.last_txid = read.frames[-1].txid
        frames = tuple(frame for frame in read.frames if frame.txid > self._position)
        if frames:
            os.fdatasync(self._file)
        if self.last_txid >= self._position:
            self.through_txid = self._position = self.last_txid
        if read.frames[-1].opcode == END_LOG_SEGMENT:
            self._close()
        return LocalFrames(self._layout_version, frames), read.stop is not Stop.PADDING

    def _read_frames(self, file: int) -> Frames:
        size = _LOOK_BYTES
        while True:
            data = os.pread(file, size, self._offset)
            read = read_frames(data, after_txid=self.last_txid)
            if read.frames or read.stop is not Stop.TORN or len(data) < size:
                return read
            size *= 2  # for a longer frame

    def _open_next(self) -> bool:
        """Open the segment with the next transaction, if it is not open; return whether one was opened.

        A gap counts only if two listings show it: segments end and begin while the directory is being listed.
        """
        changed_at = self._directory.stat().st_mtime_ns
        if changed_at == self._listed_at:
            return False
        next_txid = self._position + 1
        segments = sorted(
            _segments(self._directory), key=lambda each: (each.first_txid, each.last_txid is not None)
        )
        holding = [
            each
            for each in segments
            if each.first_txid <= next_txid and (each.last_txid is None or each.last_txid >= next_txid)
        ]
        found = holding[-1] if holding else None
        if found is not None and (self._first_txid == 0 or found.first_txid > self._first_txid):
            try:
                file = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:  # it was renamed in between
                return False
            self._close()
            self._file = file
            self._first_txid, self.last_txid = found.first_txid, found.first_txid - 1
            self._layout_version = self._gap = None
            return True
        if found is not None and found.last_txid is not None:
            return False  # it is the current one, which has more transactions by now
        later = [each.first_txid for each in segments if each.first_txid > next_txid]
        gap = (next_txid, later[0] - 1) if later else None
        if gap is not None and gap == self._gap:
            raise PurgedSegmentError(gap[1])
        self._gap = gap
        if gap is None and time.time_ns() - changed_at > _SETTLED_NS:
            self._listed_at = changed_at
        return False


def _segments(directory: Path) -> Iterator[_Segment]:
    for name in (path.name for path in directory.iterdir()):
        if (match := _NAME.fullmatch(name)) is None:
            continue
        first, last, still_open = match.group("first", "last", "open")
        if still_open is None:
            yield _Segment(int(first), int(last), directory / name)
        else:
            yield _Segment(int(still_open), None, directory / name)
