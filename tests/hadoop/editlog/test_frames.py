"""nncache/hadoop/editlog/frames.py."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nncache.hadoop.editlog.frames import (
    Frame,
    Frames,
    Segment,
    SegmentReader,
    Stop,
    read_frames,
    read_header,
    read_segment,
)
from nncache.hadoop.errors import MalformedEditsError
from tests.hadoop.editlog.segments import LAYOUT, PADDING, frame, header

BODIES = (b"", b"one", b"\xff" * 20, b"", b"last")
FRAMES = tuple(frame(7 + number, 20 + number, body) for number, body in enumerate(BODIES))
SEGMENT = header() + b"".join(FRAMES)
ENDS = [len(header()) + sum(map(len, FRAMES[:number])) for number in range(len(FRAMES) + 1)]


def _bodies(read: Frames) -> tuple[bytes, ...]:
    return tuple(each.body for each in read.frames)


def test_a_frame_of_hadoops_own() -> None:
    """OP_START_LOG_SEGMENT, the first transaction of a Hadoop 3.5.0 NameNode's first segment."""
    layout, read = read_segment(bytes.fromhex("ffffffbd00000000180000000c00000000000000017043f0b7"))
    assert (layout, read.stop) == (-67, Stop.END)
    assert read.frames == (Frame(1, 24, b"", 0x7043F0B7),)


def test_a_segment_is_read_to_its_end() -> None:
    """Every frame is returned, in order."""
    layout, read = read_segment(SEGMENT)
    assert layout == LAYOUT
    assert [(each.txid, each.opcode) for each in read.frames] == [(7 + n, 20 + n) for n in range(5)]
    assert (_bodies(read), read.offset, read.stop) == (BODIES, len(SEGMENT), Stop.END)


def test_a_frame_does_not_show_its_body() -> None:
    """A body can hold a secret key, so neither str nor repr shows it."""
    _, read = read_segment(header() + frame(7, 21, b"secret"))
    assert "secret" not in f"{read} {read.frames[0]!s}"


@pytest.mark.parametrize("fill", [PADDING, PADDING * 9, PADDING * 5 + b"\0" * 5, PADDING * 5000])
def test_padding_ends_the_frames(fill: bytes) -> None:
    """The padding is OP_INVALID, and the fill bytes of EditLogFileOutputStream."""
    _, read = read_segment(SEGMENT + fill)
    assert (_bodies(read), read.offset, read.stop) == (BODIES, len(SEGMENT), Stop.PADDING)


@given(st.integers(ENDS[0], len(SEGMENT) - 1), st.sampled_from((b"", PADDING * 50)))
@example(ENDS[1] + 1, PADDING * 50)
def test_a_torn_segment_is_read_on_later(cut: int, fill: bytes) -> None:
    """Bytes are written in order; after them the file ends or has padding."""
    data = SEGMENT[:cut] + fill
    layout, first = read_segment(data)
    assert layout == LAYOUT
    assert first.offset == max(end for end in ENDS if end <= cut)
    # A body or a CRC can end with 0xFF too: then the frame was already complete.
    assert (first.stop is Stop.TORN) == (cut not in ENDS)
    rest = read_frames(SEGMENT, first.offset, after_txid=first.frames[-1].txid if first.frames else None)
    assert (_bodies(first) + _bodies(rest), rest.stop) == (BODIES, Stop.END)


@pytest.mark.parametrize(("cut", "fill"), [(5, b""), (1, PADDING * 50), (14, b"")])
def test_a_frame_that_is_not_whole_is_a_torn_tail(cut: int, fill: bytes) -> None:
    """Its length and id, or only part of its length, or part of its body are missing."""
    _, read = read_segment(header() + FRAMES[0] + FRAMES[1][:cut] + fill)
    assert (_bodies(read), read.offset, read.stop) == (BODIES[:1], ENDS[1], Stop.TORN)


@pytest.mark.parametrize(
    ("data", "stop"), [(b"", Stop.END), (b"\xff" * 1024, Stop.PADDING), (header()[:5], Stop.TORN)]
)
def test_a_header_may_come_later(data: bytes, stop: Stop) -> None:
    """A file is created before its header is written."""
    assert read_header(data) is None
    assert read_segment(data) == (None, Frames((), 0, stop))


@pytest.mark.parametrize(
    ("data", "says"),
    [(header(-55), "-55"), (b"<html><head>", "layout version"), (header(-67, 1), "1 layout flags")],
)
def test_what_is_no_edit_log_is_refused(data: bytes, says: str) -> None:
    """This includes a layout whose frames have no length."""
    with pytest.raises(MalformedEditsError, match=says):
        read_segment(data)


def test_layouts_to_come_have_frames_too() -> None:
    """A JournalNode of Hadoop also scans layouts newer than its own."""
    assert read_segment(header(-99) + FRAMES[0])[0] == -99


@given(st.integers(ENDS[1], ENDS[4] - 1), st.integers(1, 255))
def test_damage_amid_the_bytes_is_an_error_or_stops(at: int, flip: int) -> None:
    """Damage is never read as another transaction; only a damaged length can look like a torn tail."""
    data = bytearray(SEGMENT + PADDING * 9)
    data[at] ^= flip
    number = max(number for number, end in enumerate(ENDS) if end <= at)
    try:
        _, read = read_segment(bytes(data))
    except MalformedEditsError:
        return
    assert _bodies(read) == BODIES[:number]
    assert at - ENDS[number] <= 4, "only what looks like a torn tail"


def test_a_wrong_crc_amid_the_bytes_is_an_error() -> None:
    """The bytes after it show that no write is in progress there."""
    data = SEGMENT.replace(b"one", b"two")
    with pytest.raises(MalformedEditsError, match=f"CRC of the frame at byte {ENDS[1]}, transaction 8"):
        read_segment(data)


def test_a_wrong_crc_of_the_last_frame_is_a_torn_tail() -> None:
    """It is indistinguishable from a write in progress."""
    _, read = read_segment(SEGMENT.replace(b"last", b"lost") + PADDING * 3)
    assert (_bodies(read), read.offset, read.stop) == (BODIES[:4], ENDS[4], Stop.TORN)


@pytest.mark.parametrize("length", [0, 11, 1 << 31, (1 << 32) - 1])
def test_an_impossible_length_is_an_error(length: int) -> None:
    """A frame cannot be that short, and lengths are signed in Java."""
    first = FRAMES[0][:1] + length.to_bytes(4, "big") + FRAMES[0][5:]
    with pytest.raises(MalformedEditsError, match="at byte 8 a frame of"):
        read_segment(header() + first)


def test_a_large_frame_needs_a_larger_limit() -> None:
    """The limit is dfs.namenode.max.op.size."""
    data = header() + frame(1, 3, b"x" * 83) + FRAMES[0]
    with pytest.raises(MalformedEditsError, match=r"100 bytes begins; 17 to 99 are allowed"):
        read_segment(data, max_frame_bytes=99)
    assert read_segment(header() + frame(1, 3, b"x" * 83), max_frame_bytes=100)[1].stop is Stop.END


@pytest.mark.parametrize("second", [6, 7, 9])
def test_transaction_ids_follow_each_other(second: int) -> None:
    """Each id is one more than the previous one."""
    with pytest.raises(
        MalformedEditsError, match=f"transaction {second} at byte 25 follows on transaction 7"
    ):
        read_segment(header() + frame(7, 24) + frame(second, 23))


def test_the_first_frame_follows_on_what_was_read() -> None:
    """A reader that continues passes the last transaction that it has read."""
    assert read_frames(FRAMES[1], after_txid=7).frames[0].txid == 8
    with pytest.raises(MalformedEditsError, match="transaction 8 at byte 0 follows on transaction 5"):
        read_frames(FRAMES[1], after_txid=5)


def _received(*pieces: bytes, last_txid: int = 11) -> tuple[SegmentReader, tuple[Frame, ...]]:
    reader = SegmentReader(Segment(7, last_txid))
    return reader, tuple(each for piece in pieces for each in reader.receive(piece))


@given(st.lists(st.integers(0, len(SEGMENT)), max_size=12), st.sampled_from((b"", PADDING * 40, b"anything")))
def test_a_finalized_segment_may_arrive_in_pieces(cuts: list[int], behind: bytes) -> None:
    """The frames do not depend on the cuts; bytes after the last frame are ignored."""
    ends = [0, *sorted(cuts), len(SEGMENT)]
    pieces = [SEGMENT[start:end] for start, end in pairwise(ends)]
    reader, frames = _received(*pieces, *(bytes((each,)) for each in behind))
    assert frames == read_segment(SEGMENT)[1].frames
    assert (reader.layout_version, reader.is_complete) == (LAYOUT, True)


def test_a_finalized_segment_may_arrive_byte_by_byte() -> None:
    """Bytes after its last frame are ignored as well."""
    reader, frames = _received(*(bytes((each,)) for each in SEGMENT + PADDING))
    assert frames == read_segment(SEGMENT)[1].frames
    assert reader.is_complete


def test_a_finalized_segment_without_its_end_is_not_complete() -> None:
    """The frames before the missing part are returned."""
    reader, frames = _received(SEGMENT[:-1])
    assert (len(frames), reader.is_complete) == (4, False)


@pytest.mark.parametrize(
    ("data", "last_txid", "says"),
    [
        (PADDING * 9, 11, "header of a finalized segment is not written"),
        (SEGMENT + PADDING, 12, "ends with transaction 11, and not with 12"),
        (SEGMENT, 10, "ends with transaction 11, and not with 10"),
        (header() + FRAMES[1], 11, "transaction 8 at byte 8 follows on transaction 6"),
        (SEGMENT[:-1] + b"x", 11, "the frame after transaction 10 is damaged"),
        (header() + FRAMES[0][:1] + b"\xff" * 40, 11, "the frame after transaction 6 is damaged"),
    ],
)
def test_another_finalized_segment_is_an_error(data: bytes, last_txid: int, says: str) -> None:
    """No write is in progress in a finalized segment, so the reader does not wait for more."""
    with pytest.raises(MalformedEditsError, match=says):
        _received(data, last_txid=last_txid)
