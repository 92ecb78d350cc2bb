"""Bytes of a client that wait to be a whole head.

aiohttp's parser is given heads one by one and whole: what it holds of a part takes many times its size, a request
line can be read only as a whole, and what stands behind `Connection: close` must not reach it at all.
"""

import sys
from typing import Final

_HEAD_END: Final = b"\r\n\r\n"
_EMPTY: Final = frozenset({b"\r", b"\n"})


class HeadBuffer:
    """What has arrived and was not taken yet.

    Invariants:
        B1  No head ends before `_searched`, which is never searched again: each byte is looked at once.
    """

    __slots__ = ("_data", "_has_bare_lf", "_searched")

    def __init__(self) -> None:
        self._data = bytearray()
        self._searched = 0  # up to where no head ends
        self._has_bare_lf = False  # in a head that is not complete

    def __len__(self) -> int:
        return len(self._data)

    def add(self, data: bytes) -> None:
        """Take what has arrived."""
        self._data += data

    def take_head(self) -> bytes | None:
        """Return the next whole head, with its empty line; None while there is none.

        Empty lines before it are dropped (RFC 9112, section 2.2), as the parser would.
        """
        if not self._searched and bytes(self._data[:1]) in _EMPTY:
            del self._data[: len(self._data) - len(self._data.lstrip(b"\r\n"))]
        end = self._data.find(_HEAD_END, max(0, self._searched - len(_HEAD_END) + 1))
        if end < 0:
            new = self._data[max(0, self._searched - 1) :]
            self._has_bare_lf = self._has_bare_lf or new.count(b"\n", 1) != new.count(b"\r\n")
            self._searched = len(self._data)
            return None
        head = bytes(self._data[: end + len(_HEAD_END)])
        del self._data[: end + len(_HEAD_END)]
        self._searched = 0
        self._has_bare_lf = False
        return head

    def take(self, size: int = sys.maxsize) -> bytes:
        """Return what is there, whatever it is, but no more than so many bytes."""
        data = bytes(self._data[:size])
        del self._data[:size]
        self._searched = 0
        self._has_bare_lf = False
        return data

    @property
    def is_hopeless(self) -> bool:
        """Whether what `take_head` found no end of can be no clean head: a line ends in a bare LF, or it is no text."""
        return self._has_bare_lf or (len(self._data) > 0 and not self._data[:1].isalpha())

    @property
    def has_request_line(self) -> bool:
        """Whether the request line of a head that is not complete is."""
        return b"\n" in self._data


def is_one_head(data: bytes) -> bool:
    """Whether these bytes are one head and nothing else: what a buffer that is empty would give back at once."""
    return data.find(_HEAD_END) == len(data) - len(_HEAD_END) >= 0 and data[:1] not in _EMPTY
