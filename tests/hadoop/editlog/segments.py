"""Build segments of the edit log."""

import struct
import zlib

PADDING = b"\xff"
LAYOUT = -67


def header(layout_version: int = LAYOUT, flags: int = 0) -> bytes:
    """Return the header of a segment."""
    return struct.pack(">ii", layout_version, flags)


def frame(txid: int, opcode: int, body: bytes = b"") -> bytes:
    """Return the frame of one transaction."""
    data = struct.pack(">BIq", opcode, 12 + len(body), txid) + body
    return data + struct.pack(">I", zlib.crc32(data))


RPC = b"\0\0" + struct.pack(">i", -2)
"""The client id and call id of a call over WebHDFS."""


def utf(text: str) -> bytes:
    """Encode text as DeprecatedUTF8 does."""
    units = text.encode("utf-16-be", "surrogatepass")
    chars = (units[at : at + 2].decode("utf-16-be", "surrogatepass") for at in range(0, len(units), 2))
    encoded = b"".join(
        b"\xc0\x80" if char == "\0" else char.encode("utf-8", "surrogatepass") for char in chars
    )
    return struct.pack(">H", len(encoded)) + encoded


def short_text(text: str) -> bytes:
    """Encode text of at most 127 bytes as org.apache.hadoop.io.Text."""
    encoded = text.encode()
    return bytes((len(encoded),)) + encoded


def permissions(owner: str = "alice", group: str = "users", mode: int = 0o644) -> bytes:
    """Encode a PermissionStatus."""
    return short_text(owner) + short_text(group) + struct.pack(">H", mode)


def blocks(*given: tuple[int, int, int]) -> bytes:
    """Encode blocks in full."""
    return struct.pack(">i", len(given)) + b"".join(struct.pack(">qqq", *each) for each in given)


def file(path: str, *given: tuple[int, int, int]) -> bytes:
    """Encode the common part of ADD and CLOSE: times 7 and 8, three replicas, blocks of 512 bytes."""
    return (
        struct.pack(">q", 16386)
        + utf(path)
        + struct.pack(">hqqq", 3, 7, 8, 512)
        + blocks(*given)
        + permissions()
    )


def added(path: str, *given: tuple[int, int, int], since_erasure_coding: bytes = b"\0") -> bytes:
    """Encode the body of OP_ADD: with overwrite, without ACL or extended attributes, storage policy 7."""
    empty = struct.pack(">i", 0) + b"\0"
    return file(path, *given) + empty + utf("client") + utf("host") + b"\x01\x07" + since_erasure_coding + RPC
