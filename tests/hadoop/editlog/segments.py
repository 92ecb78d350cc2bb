"""Make segments of the edit log."""

import struct
import zlib

PADDING = b"\xff"
LAYOUT = -67


def header(layout_version: int = LAYOUT, flags: int = 0) -> bytes:
    """Render the header of a segment."""
    return struct.pack(">ii", layout_version, flags)


def frame(txid: int, opcode: int, body: bytes = b"") -> bytes:
    """Render one transaction."""
    data = struct.pack(">BIq", opcode, 12 + len(body), txid) + body
    return data + struct.pack(">I", zlib.crc32(data))
