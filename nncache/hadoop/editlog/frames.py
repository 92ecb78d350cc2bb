"""Splits the bytes of the edit log into transactions.

Sans-I/O. Source: EditLogFileInputStream, EditLogFileOutputStream and FSEditLogOp.Reader of Hadoop 2.7.7 to 3.5.0.

A segment begins with a header, and so does each reply of getJournaledEdits: the layout version (i32, negative) and the
number of layout flags (i32, always 0). Each transaction follows in a frame: opcode (u8), length (i32), transaction id
(i64), body, CRC-32 (u32) of the frame's preceding bytes. The length counts itself, the transaction id and the body.
After the last frame an open file has padding, which its writer preallocated: bytes 0xFF.
"""

import struct
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import Final

import msgspec

from nncache.hadoop.errors import MalformedEditsError

HEADER_BYTES: Final = 8
MAX_FRAME_BYTES: Final = 50 * 1024 * 1024
"""The default of `dfs.namenode.max.op.size`."""

FRAMES_SINCE_LAYOUT: Final = -56
"""The first layout whose frames contain their length (LayoutVersion.Feature.EDITLOG_LENGTH); Hadoop 2.7 writes -63."""

PADDING: Final = 0xFF
"""The opcode OP_INVALID: no frame begins here."""

_HEADER: Final = struct.Struct(">ii")
_UNWRITTEN: Final = -1  # the flags are still padding
_START: Final = struct.Struct(">BIq")  # opcode, length, transaction id
_CRC: Final = struct.Struct(">I")
_LENGTH_END: Final = 5  # offset of the end of the length, from the opcode
_NOT_IN_LENGTH: Final = 1 + _CRC.size  # opcode and CRC
_MIN_FRAME_BYTES: Final = _START.size + _CRC.size
_FILL: Final = b"\xff\0"  # bytes that may follow the last frame (FSEditLogOp.Reader.verifyTerminator)


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One transaction, not decoded. Two frames are equal if all their bytes are.

    The body can contain secret keys: `repr` omits it, and it must not be logged.
    """

    txid: int
    opcode: int  # 0 to 254
    body: bytes
    crc: int

    def __repr__(self) -> str:
        """Return the fields without the body."""
        return f"Frame(txid={self.txid}, opcode={self.opcode}, {len(self.body)} bytes, crc={self.crc:08x})"


class Stop(Enum):
    """The reason why no frame was read at an offset."""

    END = "end"
    """The bytes end there."""

    PADDING = "padding"
    """Padding begins there; in an open file further frames will replace it."""

    TORN = "torn"
    """An incomplete frame begins there: a write is in progress, or was when the bytes were read."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The complete frames from an offset on, without a gap in their transaction ids."""

    frames: tuple[Frame, ...]
    offset: int
    """Where the next frame begins, or will begin, from the first byte of the data."""

    stop: Stop


def read_segment(data: bytes, *, max_frame_bytes: int = MAX_FRAME_BYTES) -> tuple[int | None, Frames]:
    """Return the layout version and the complete frames of a segment, or of a reply of getJournaledEdits.

    The layout version is None until the header is written. Layouts newer than all known ones are accepted as well.
    Raises MalformedEditsError as `read_header` and `read_frames` do.
    """
    layout_version = read_header(data)
    if layout_version is None:
        return None, Frames(
            (), 0, Stop.PADDING if len(data) >= HEADER_BYTES else Stop.TORN if data else Stop.END
        )
    return layout_version, read_frames(data, HEADER_BYTES, max_frame_bytes=max_frame_bytes)


def read_header(data: bytes) -> int | None:
    """Return the layout version; None if the header is not written completely yet.

    Raises MalformedEditsError if this is not an edit log, or its layout precedes `FRAMES_SINCE_LAYOUT`.
    """
    if len(data) < HEADER_BYTES:
        return None
    layout_version, flags = _HEADER.unpack_from(data)
    if flags == _UNWRITTEN:
        return None
    if layout_version > FRAMES_SINCE_LAYOUT:
        raise MalformedEditsError(
            f"layout version {layout_version} is not one of an edit log; {FRAMES_SINCE_LAYOUT} or below is"
        )
    if flags:
        raise MalformedEditsError(f"the header announces {flags} layout flags, 0 are known")
    return int(layout_version)


def read_frames(
    data: bytes, start: int = 0, *, after_txid: int | None = None, max_frame_bytes: int = MAX_FRAME_BYTES
) -> Frames:
    """Return the complete frames from `start` on, where one begins; if `after_txid` is given, the first follows it.

    An incomplete frame is a torn tail if only padding follows it, else an error. In an open file, a read during a write
    can show an error that disappears a moment later. Cost: linear in the bytes.

    Raises MalformedEditsError if a frame that is followed by more than padding has a wrong CRC or length, or if a
    transaction id does not follow the one before.
    """
    view = memoryview(data)
    size = len(data)
    frames: list[Frame] = []
    add, unpack, unpack_crc, crc32 = frames.append, _START.unpack_from, _CRC.unpack_from, zlib.crc32
    at, previous = start, after_txid
    while at < size and data[at] != PADDING:
        if size - at < _START.size:
            return Frames(tuple(frames), at, Stop.TORN)
        opcode, length, txid = unpack(data, at)
        end = at + _NOT_IN_LENGTH + length
        if not _MIN_FRAME_BYTES <= end - at <= max_frame_bytes:
            if _is_fill(data, at + _LENGTH_END):
                return Frames(tuple(frames), at, Stop.TORN)
            raise MalformedEditsError(
                f"at byte {at} a frame of {end - at} bytes begins; {_MIN_FRAME_BYTES} to {max_frame_bytes} are "
                "allowed (dfs.namenode.max.op.size)"
            )
        if end > size:
            return Frames(tuple(frames), at, Stop.TORN)
        (crc,) = unpack_crc(data, end - _CRC.size)
        if crc32(view[at : end - _CRC.size]) != crc:
            if _is_fill(data, end):
                return Frames(tuple(frames), at, Stop.TORN)
            raise MalformedEditsError(f"the CRC of the frame at byte {at}, transaction {txid}, is wrong")
        if previous is not None and txid != previous + 1:
            raise MalformedEditsError(f"transaction {txid} at byte {at} follows on transaction {previous}")
        add(Frame(txid, opcode, data[at + _START.size : end - _CRC.size], crc))
        at, previous = end, txid
    return Frames(tuple(frames), at, Stop.PADDING if at < size else Stop.END)


@dataclass(frozen=True, slots=True)
class Segment:
    """A finalized segment of a journal: a file of transactions that stay in the log.

    A JournalNode finalizes only transactions that a majority has (Journal.finalizeLogSegment).
    """

    first_txid: int
    last_txid: int


class SegmentReader:
    """Reads the frames of a finalized segment whose bytes arrive in pieces.

    It holds the bytes of one incomplete frame at most. Sans-I/O.
    """

    def __init__(self, segment: Segment) -> None:
        """Start at the segment's first byte."""
        self._last_txid = segment.last_txid
        self._through_txid = segment.first_txid - 1  # the last frame that was returned
        self._rest = bytearray()  # bytes of an incomplete frame
        self._wanted = HEADER_BYTES  # bytes needed before anything can be read
        self.layout_version = 0
        """The segment's layout version; 0 until the header was received."""

    @property
    def is_complete(self) -> bool:
        """Whether the last frame was returned; bytes after it are ignored."""
        return self._through_txid == self._last_txid

    def receive(self, data: bytes) -> tuple[Frame, ...]:
        """Take the next bytes, and return the frames that are complete now.

        Raises MalformedEditsError as `read_header` and `read_frames` do, or if this is another segment.
        """
        self._rest += data
        if self.is_complete or len(self._rest) < self._wanted:
            return ()
        held, start = bytes(self._rest), 0
        if not self.layout_version:
            layout_version = read_header(held)
            if layout_version is None:
                raise MalformedEditsError("the header of a finalized segment is not written")
            self.layout_version, start = layout_version, HEADER_BYTES
        found = read_frames(held, start, after_txid=self._through_txid)
        self._rest = bytearray(held[found.offset :])
        if found.frames:
            self._through_txid = found.frames[-1].txid
        if self._through_txid > self._last_txid or (found.stop is Stop.PADDING and not self.is_complete):
            raise MalformedEditsError(
                f"the segment ends with transaction {self._through_txid}, and not with {self._last_txid}"
            )
        self._wanted = self._wanted_of_frame()
        return found.frames

    def _wanted_of_frame(self) -> int:
        """Return the size of the incomplete frame, or the number of bytes that contain its size."""
        if len(self._rest) < _START.size or self.is_complete:
            return _START.size
        _, length, _ = _START.unpack_from(self._rest)
        size = int(length) + _NOT_IN_LENGTH
        if not len(self._rest) < size <= MAX_FRAME_BYTES:
            raise MalformedEditsError(f"the frame after transaction {self._through_txid} is damaged")
        return size


def _is_fill(data: bytes, start: int) -> bool:
    return not data[start:].strip(_FILL)
