"""Reads the field types in the bodies of transactions.

Sans-I/O. Source: FSImageSerialization, FSEditLogOp and WritableUtils of Hadoop 2.10.2 to 3.5.0. A reader takes the body
and an offset, and returns the values and the offset of the next field. It raises one of `UNREADABLE` if the field is
malformed. If the body ends within the field, the reader may instead return an offset after the end of the body.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias, get_args

from nncache.hadoop.errors import FramingError
from nncache.hadoop.events import AclKind, AclScope, Action, FileAclEntry
from nncache.hadoop.rpc.edits import decode_acl, decode_xattrs
from nncache.hadoop.rpc.framing import take_message
from nncache.hadoop.rpc.messages import parse_message
from nncache.hadoop.rpc.proto import editlog_pb2 as pb

Reader: TypeAlias = Callable[[bytes, int], tuple[tuple[Any, ...], int]]

FieldType: TypeAlias = str | Reader
"""A format character of `struct`, or a reader. All numbers are big-endian."""

Block: TypeAlias = tuple[int, int, int]
"""Id, length in bytes, generation stamp."""

UNREADABLE: Final = (struct.error, IndexError, KeyError, ValueError, FramingError)

LONG: Final = "q"
INT: Final = "i"
SHORT: Final = "h"
BYTE: Final = "b"
BOOLEAN: Final = "?"
MODE: Final = "H"

_U16: Final = struct.Struct(">H")
_I32: Final = struct.Struct(">i")
_BLOCK: Final = struct.Struct(">qqq")

_MAX_BYTE: Final = 127
_NO_BYTES: Final = 0x90  # a lone byte from here on is a negative number

# In the order of their numbers in AclEditLogUtil of FSEditLogOp.
_ACL_SCOPES: Final = tuple(AclScope)
_ACL_KINDS: Final = tuple(AclKind)
_ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
_ACL_KIND_SHIFT: Final = 3
_ACL_SCOPE_SHIFT: Final = 5
_ACL_HAS_NAME: Final = 1 << 6
_ACL_UNUSED: Final = 1 << 7


def string(body: bytes, at: int) -> tuple[tuple[str], int]:
    """Read a length of two bytes, and text in the encoding of DeprecatedUTF8: UTF-8 for most text, else CESU-8.

    CESU-8 encodes a character beyond U+FFFF as two surrogates of three bytes each, and NUL as C0 80.
    """
    start = at + 2
    end = start + (body[at] << 8 | body[at + 1])
    encoded = body[start:end]
    try:
        return (encoded.decode(),), end
    except UnicodeDecodeError:
        surrogates = encoded.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return (surrogates.encode("utf-16-le", "surrogatepass").decode("utf-16-le"),), end


def octets(body: bytes, at: int) -> tuple[tuple[bytes], int]:
    """Read a length of two bytes, and that number of bytes."""
    end = at + 2 + _U16.unpack_from(body, at)[0]
    return (body[at + 2 : end],), end


def text(body: bytes, at: int) -> tuple[tuple[str], int]:
    """Read a length as a variable-length number, and UTF-8 (org.apache.hadoop.io.Text)."""
    length = body[at]
    if length > _MAX_BYTE:  # rare
        length, at = _long_length(body, at)
    else:
        at += 1
    end = at + length
    return (body[at:end].decode(),), end


def blocks(body: bytes, at: int) -> tuple[tuple[tuple[Block, ...]], int]:
    """Read uncompressed blocks (ArrayWritable of Block)."""
    count, at = _count(body, at)
    end = at + count * _BLOCK.size
    return (tuple(_BLOCK.iter_unpack(body[at:end])),), end


def rest(body: bytes, _at: int) -> tuple[tuple[()], int]:
    """Skip the rest of the body: each edit repeats all blocks of its file, which takes long to read for a large one."""
    return (), len(body)


def strings(body: bytes, at: int) -> tuple[tuple[tuple[str, ...]], int]:
    """Read a count of four bytes, and that number of strings."""
    count, at = _count(body, at)
    found = []
    for _ in range(count):
        (each,), at = string(body, at)
        found.append(each)
    return (tuple(found),), at


def rename_options(body: bytes, at: int) -> tuple[tuple[bytes], int]:
    """Read a count of four bytes, and that number of options: 0 NONE, 1 OVERWRITE, 2 TO_TRASH."""
    count, at = _count(body, at)
    end = at + count
    return (body[at:end],), end


def acl(body: bytes, at: int) -> tuple[tuple[tuple[FileAclEntry, ...]], int]:
    """Read the ACL entries of a new inode (AclEditLogUtil)."""
    count, at = _count(body, at)
    found = []
    for _ in range(count):
        packed = body[at]
        at += 1
        if packed & _ACL_UNUSED:
            raise ValueError("an ACL entry is not known")
        name = ""
        if packed & _ACL_HAS_NAME:
            (name,), at = string(body, at)
        found.append(
            FileAclEntry(
                scope=_ACL_SCOPES[packed >> _ACL_SCOPE_SHIFT & 1],
                kind=_ACL_KINDS[packed >> _ACL_KIND_SHIFT & 3],
                name=name,
                permissions=_ACTIONS[packed & 7],
            )
        )
    return (tuple(found),), at


def xattrs(body: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read the extended attributes of a new inode."""
    if body[at] == 0:  # nearly always
        return ((),), at + 1
    (_, found), at = path_and_xattrs(body, at)
    return (found,), at


def path_and_xattrs(body: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read a path and its extended attributes (XAttrEditLogProto)."""
    encoded, end = take_message(body, at)
    message = parse_message(pb.XAttrEditLog, encoded)
    return (message.src.decode(), decode_xattrs(message.x_attrs)), end


def path_and_acl(body: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Read a path and its ACL (AclEditLogProto)."""
    encoded, end = take_message(body, at)
    message = parse_message(pb.AclEditLog, encoded)
    return (message.src.decode(), decode_acl(message.entries)), end


def _count(body: bytes, at: int) -> tuple[int, int]:
    (count,) = _I32.unpack_from(body, at)
    if count < 0:
        raise ValueError("a count is negative")
    return count, at + _I32.size


def _long_length(body: bytes, at: int) -> tuple[int, int]:
    """Read a length beyond `_MAX_BYTE` (WritableUtils.readVLong): the number of its bytes, 1 to 8, then the bytes."""
    more = _NO_BYTES - body[at]
    if not 1 <= more <= 8:  # noqa: PLR2004 - as said
        raise ValueError("a length is negative")
    end = at + 1 + more
    return int.from_bytes(body[at + 1 : end], "big"), end
