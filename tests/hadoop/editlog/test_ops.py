"""nncache/hadoop/editlog/ops.py; test_real_edits.py has the edits of real NameNodes."""

import struct
from typing import Any

import pytest

from nncache.hadoop.editlog.frames import read_segment
from nncache.hadoop.editlog.ops import NEWEST_LAYOUT, OLDEST_LAYOUT, UNREAD, Op, OpCode, UnknownOp, decode_op
from tests.hadoop.editlog.segments import RPC, added, file, frame, header, permissions, utf

SNAPSHOT = utf("/d") + utf("s1")
NO_RPC: dict[str, Any] = {"rpc_client_id": b"", "rpc_call_id": -2}
FILE: dict[str, Any] = {
    "inode_id": 16386,
    "path": "/d/f",
    "replication": 3,
    "mtime": 7,
    "atime": 8,
    "block_size": 512,
    "blocks": ((1, 500, 2),),
    "owner": "alice",
    "group": "users",
    "mode": 0o644,
}
ADDED: dict[str, Any] = {
    **FILE,
    "blocks": (),
    "acl": (),
    "xattrs": (),
    "client_name": "client",
    "client_machine": "host",
    "overwrite": True,
    "storage_policy_id": 7,
}

# Layout version, operation, body, fields.
DECODED: list[tuple[int, OpCode, bytes, dict[str, Any]]] = [
    (-67, OpCode.ADD, added("/d/f"), ADDED | {"erasure_coding_policy_id": 0} | NO_RPC),
    (-63, OpCode.ADD, added("/d/f", since_erasure_coding=b""), ADDED | NO_RPC),
    (-63, OpCode.CLOSE, file("/d/f", (1, 500, 2)), FILE),
    (
        -67,
        OpCode.MKDIR,
        struct.pack(">q", 5)
        + utf("/d")
        + struct.pack(">qq", 7, 7)
        + permissions(mode=0o1777)
        + b"\0\0\0\0\0",
        {
            "inode_id": 5,
            "path": "/d",
            "timestamp": 7,
            "atime": 7,
            "owner": "alice",
            "group": "users",
            "mode": 0o1777,
            "acl": (),
            "xattrs": (),
        },
    ),
    (-65, OpCode.CREATE_SNAPSHOT, SNAPSHOT + RPC, {"path": "/d", "name": "s1"} | NO_RPC),
    (
        -66,
        OpCode.CREATE_SNAPSHOT,
        SNAPSHOT + struct.pack(">q", 9) + RPC,
        {"path": "/d", "name": "s1", "mtime": 9} | NO_RPC,
    ),
]


def decoded(layout_version: int, opcode: int, body: bytes) -> Op | UnknownOp:
    """Decode transaction 5 of a segment of this layout."""
    layout, read = read_segment(header(layout_version) + frame(5, opcode, body))
    assert layout is not None
    (found,) = read.frames
    return decode_op(found, layout)


@pytest.mark.parametrize(("layout", "code", "body", "fields"), DECODED)
def test_an_operation_is_decoded(layout: int, code: OpCode, body: bytes, fields: dict[str, Any]) -> None:
    """The result has the fields of its layout."""
    assert decoded(layout, code, body) == Op(5, code, fields)


@pytest.mark.parametrize(("layout", "code", "body"), [row[:3] for row in DECODED])
def test_a_body_that_is_not_used_up_is_unknown(layout: int, code: OpCode, body: bytes) -> None:
    """Hadoop 3.0 wrote a byte too many in old layouts, and a truncated body is never enough."""
    for other in (body + b"\0", *(body[:size] for size in range(len(body)))):
        found = decoded(layout, code, other)
        assert found == UnknownOp(5, f"OP_{code.name} is not as it should be in layout version {layout}")


@pytest.mark.parametrize(
    ("layout", "opcode", "reason"),
    [
        (-67, 5, "opcode 5 is not known here in layout version -67"),
        (-67, 53, "opcode 53 is not known here in layout version -67"),
        (-60, OpCode.TRUNCATE, "opcode 46 is not known here in layout version -60"),
        (-68, OpCode.START_LOG_SEGMENT, "layout version -68 is not known here, -60 to -67 are"),
        (-59, OpCode.START_LOG_SEGMENT, "layout version -59 is not known here, -60 to -67 are"),
    ],
)
def test_what_is_not_known_is_decoded_as_unknown(layout: int, opcode: int, reason: str) -> None:
    """Unknown operations and layouts are never guessed."""
    assert decoded(layout, opcode, b"") == UnknownOp(5, reason)


@pytest.mark.parametrize("code", sorted(UNREAD))
@pytest.mark.parametrize("layout", [OLDEST_LAYOUT, NEWEST_LAYOUT])
def test_what_changes_no_status_is_not_read(code: OpCode, layout: int) -> None:
    """Their bodies are ignored: some hold delegation tokens, or the keys that sign them."""
    assert decoded(layout, code, b"\xff secret") == Op(5, code, {})


@pytest.mark.parametrize("code", [OpCode.ADD_BLOCK, OpCode.UPDATE_BLOCKS])
def test_the_blocks_of_an_open_file_are_not_read(code: OpCode) -> None:
    """Each edit has all blocks: ten thousand took 4 ms, and nothing uses them."""
    assert decoded(-67, code, utf("/d/f") + b"\xff" * 99) == Op(5, code, {"path": "/d/f"})


def test_an_operation_does_not_show_its_values() -> None:
    """An extended attribute can hold an encrypted key, so neither str nor repr shows values."""
    found = decoded(-67, OpCode.ADD, added("/d/f"))
    assert f"{found}".startswith("Op(txid=5, ADD: inode_id, path,")
    assert "/d/f" not in f"{found!r}"
