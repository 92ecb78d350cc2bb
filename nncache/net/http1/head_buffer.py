"""Bytes of a client that wait to be a whole head: read one by one, each byte looked at once."""

import sys
from typing import Final

_HEAD_END: Final = b"\r\n\r\n"
_EMPTY: Final = frozenset({b"\r", b"\n"})


class HeadBuffer(bytearray):
    """What has arrived and was not taken yet.

    Invariants:
        B1  No head ends before `_searched`, which is never searched again: each byte is looked at once.
    """

    __slots__ = ("_has_bare_lf", "_searched")

    def __init__(self) -> None:
        super().__init__()
        self._searched = 0  # up to where no head ends
        self._has_bare_lf = False  # in a head that is not complete

    def add(self, data: bytes) -> None:
        """Take what has arrived."""
        self.extend(data)

    def take_head(self) -> bytes | None:
        """Return the next whole head, with its empty line; None while there is none.

        Empty lines before it are dropped (RFC 9112, section 2.2), as a server should.
        """
        if not self._searched and bytes(self[:1]) in _EMPTY:
            del self[: len(self) - len(self.lstrip(b"\r\n"))]
        end = self.find(_HEAD_END, max(0, self._searched - len(_HEAD_END) + 1))
        if end < 0:
            new = self[max(0, self._searched - 1) :]
            self._has_bare_lf = self._has_bare_lf or new.count(b"\n", 1) != new.count(b"\r\n")
            self._searched = len(self)
            return None
        head = bytes(self[: end + len(_HEAD_END)])
        del self[: end + len(_HEAD_END)]
        self._searched = 0
        self._has_bare_lf = False
        return head

    def take(self, size: int = sys.maxsize) -> bytes:
        """Return what is there, whatever it is, but no more than so many bytes."""
        data = bytes(self[:size])
        del self[:size]
        self._searched = 0
        self._has_bare_lf = False
        return data

    @property
    def is_hopeless(self) -> bool:
        """Whether what `take_head` found no end of can be no clean head: a line ends in a bare LF, or it is no text."""
        return self._has_bare_lf or (len(self) > 0 and not self[:1].isalpha())

    @property
    def has_request_line(self) -> bool:
        """Whether the request line of a head that is not complete is."""
        return self.find(b"\n") >= 0


def is_one_head(data: bytes) -> bool:
    """Whether these bytes are one head and nothing else: what a buffer that is empty would give back at once."""
    return data.find(_HEAD_END) == len(data) - len(_HEAD_END) >= 0 and data[:1] not in _EMPTY
