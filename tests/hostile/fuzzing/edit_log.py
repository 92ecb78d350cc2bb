"""Bytes of the edit log, from a JournalNode or a NameNode's directory."""

from typing import Final

from nncache.hadoop.change import EverythingUnknown
from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.frames import Frame, Stop, read_frames, read_segment
from nncache.hadoop.editlog.ops import UNREAD, Op, UnknownOp, decode_op
from nncache.hadoop.errors import MalformedEditsError
from nncache.hadoop.events import EventBatch
from tests.hadoop.editlog.segments import RPC, added, file, frame, header, permissions, utf
from tests.hostile.fuzzing.target import Target, hold

_LAYOUTS: Final = (-67, -66, -65, -64, -63, -62, -61, -60)


def check_segment(data: bytes) -> None:
    """Check a segment, which may end anywhere."""
    try:
        layout_version, read = read_segment(data)
    except MalformedEditsError:
        return
    hold(0 <= read.offset <= len(data), "stops elsewhere")
    hold((read.stop is Stop.END) == (read.offset == len(data)), "stops before the end")
    if layout_version is None:
        hold(not read.frames, "frames without a header")
        return
    again = header(layout_version) + b"".join(
        frame(each.txid, each.opcode, each.body) for each in read.frames
    )
    hold(data[: read.offset] == again, "other bytes were read")
    rest = read_frames(data, read.offset)
    hold((rest.frames, rest.offset, rest.stop) == ((), read.offset, read.stop), "it could go on")
    for each in read.frames:
        _check_op(each, layout_version)


def check_op(data: bytes) -> None:
    """Check an operation: the first byte selects the layout, the second the opcode, the rest is its body."""
    if len(data) > 1:
        _check_op(Frame(5, data[1] % 0xFF, data[2:], 0), _LAYOUTS[data[0] % len(_LAYOUTS)])


def _check_op(given: Frame, layout_version: int) -> None:
    op = decode_op(given, layout_version)
    batch = batch_of(op)
    hold(op.txid == given.txid, "another transaction")
    if isinstance(op, UnknownOp):
        expected = EventBatch(op.txid, (), (EverythingUnknown(f"transaction {op.txid}: {op.reason}"),))
        hold(batch == expected, "an unknown operation is passed over")
    elif op.code in UNREAD:
        hold(op == Op(given.txid, op.code, {}), "what changes no status is read")
    else:
        hold(batch is None or batch.txid == given.txid, "a batch of another transaction")


_SECOND: Final = b"\0\0\0\0\0\0\0\x05"
_BLOCK: Final = b"\x01" + _SECOND + b"\x8e\x01\x00\x07"
_XATTRS: Final = b"\x0e\x0a\x02/a\x12\x08\x08\x03\x12\x01k\x1a\x01v"
_ACL: Final = b"\x0f\x0a\x02/a\x12\x09\x08\x01\x10\x01\x18\x05\x22\x01g"
_BODIES: Final = (
    (0, added("/a")),
    (0, added("/a", (1, 2, 3))),
    (1, utf("/a") + utf("/b") + _SECOND + RPC),
    (2, utf("/\U0001f600\0") + _SECOND + RPC),
    (3, _SECOND + utf("/a") + _SECOND * 2 + permissions() + b"\0\0\0\x01\x6d" + utf("g") + b"\0"),
    (8, utf("/a") + utf("") + utf("g")),
    (9, file("/a", (1, 2, 3))),
    (15, utf("/a") + utf("/b") + _SECOND + b"\0\0\0\x01\x01" + RPC),
    (16, utf("/a") + b"\0\0\0\x02" + utf("/b") + utf("/c") + _SECOND + RPC),
    (17, _SECOND + utf("/a") + utf("/b") + _SECOND * 2 + permissions() + RPC),
    (21, b"key"),
    (26, utf("/a") + utf("s") + _SECOND + RPC),
    (33, utf("/a") + _BLOCK + RPC),
    (34, _SECOND + b"\0\0\0\x05" + utf("/a") + utf("p") + RPC),
    (36, utf("p") + b"\0\0\0\x0c\0\x07" + _SECOND + RPC),
    (40, _ACL),
    (43, _XATTRS + RPC),
    (45, utf("a") + b"\x02"),
    (46, utf("/a") + utf("c") + utf("m") + _SECOND * 2 + _BLOCK),
    (47, utf("/a") + utf("c") + utf("m") + b"\x01" + RPC),
    (49, utf("rs") + b"\0\0\0\x04" * 3 + b"\0\0\0\x01" + utf("k") + utf("v") + RPC),
)

EDIT_LOG: Final = (
    Target(
        name="edits-segment",
        invariant="the frames that the bytes hold, in order, and why there are no more; or MalformedEditsError",
        check=check_segment,
        seeds=(
            header() + b"".join(frame(txid, *each) for txid, each in enumerate(_BODIES[:6], 1)) + b"\xff" * 9,
            header(-63) + frame(1, 24) + frame(2, *_BODIES[3])[:-9],
            header(-66) + frame(1, 24) + frame(2, 3)[:-1] + b"\xff" * 20,
            b"\xff" * 20,
        ),
        modules=("nncache.hadoop.editlog.frames",),
    ),
    Target(
        name="edits-op",
        invariant="a decoded or an unknown operation, and never an error; of what changes no status nothing",
        check=check_op,
        seeds=tuple(bytes((0, code)) + body for code, body in _BODIES),
        modules=(
            "nncache.hadoop.editlog.ops",
            "nncache.hadoop.editlog.fields",
            "nncache.hadoop.editlog.batches",
            "nncache.hadoop.changes",
        ),
    ),
)
