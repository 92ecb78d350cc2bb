"""The memory of the cache's objects.

In bytes of 64-bit CPython 3.11, with the rounding of its allocator (16 bytes) and the table slots that hold the
object; sizes of texts are those of the running interpreter. `tests/cache/test_store.py` compares them with the memory
of an interpreter, `make bench-memory` with the resident memory of a process.
"""

import sys
from typing import Final

_ASCII_HEADER: Final = sys.getsizeof("")
_WIDE_HEADER: Final = sys.getsizeof(chr(0x6578)) - 2 * 2  # without the character and the zero after it
_BYTES_HEADER: Final = sys.getsizeof(b"")

ENTRY_BYTES: Final = 290
"""The object (144), its numbers (96), its places in the directory's table (16 to 44) and in the ring (9)."""
REPLY_BYTES: Final = 64  # a reply that no other entry shares, without its text
FIELD_BYTES: Final = 64
"""One header field of such a reply, without its text: a pair and its place in the tuple."""
WITNESSES_BYTES: Final = 232  # a set of witnesses, while it is small
WITNESS_BYTES: Final = 110  # a digest (64) and its place in the set
GRANT_BYTES: Final = 224  # the object, its numbers, its places in the directory's table and in the ring
HIT_BYTES: Final = 240
"""The object (144), its number, its places in the table of heads (24 to 70) and in the ring; its key apart."""
ACCOUNT_BYTES: Final = 112  # the object, its number and its place in the table of callers; the name apart
DIRECTORY_BYTES: Final = 560
"""The object, its place in the table above it, and the tables of its entries and grants while they are small."""
TICKET_BYTES: Final = 400
"""The object, its numbers and its places in the directory and among the flights; its path apart."""


def text_bytes(text: str) -> int:
    """Return the memory of a string: CPython stores all its characters in the width of the widest."""
    if text.isascii():
        return _ASCII_HEADER + len(text)
    widest = max(text)
    width = 1 if widest <= "\xff" else 2 if widest <= "\uffff" else 4
    return _WIDE_HEADER + width * (len(text) + 1)


def blob_bytes(blob: bytes) -> int:
    """Return the memory of a bytes object."""
    return _BYTES_HEADER + len(blob)
