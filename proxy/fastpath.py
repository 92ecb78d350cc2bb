"""Requests that repeat a vetted head byte for byte, answered at once. (proxy/fastpath.py)

A poller sends the same bytes again and again. The ordinary path has taken such a head apart once and found
that the cache may answer it; the table remembers the *whole* head, so nothing in it can be overlooked, and
what is left to ask for each request is whether entry, grant and gate are still good (`cache.is_good`).
The table is not a cache: an answer of it is one of the cache's own, or none.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cache.entries import Hit
from proxy.hit_text import DateText, HitText

_OVERHEAD_BYTES: Final = 600  # of one stored head beside its texts: dict slot, objects; measured, rounded up


@dataclass(frozen=True, slots=True, kw_only=True)
class FastPathStats:
    """What the table has done since the start, and what it holds."""

    hits: int
    bytes_sent: int
    heads: int
    bytes_held: int
    evicted: int


class _Stored:
    __slots__ = ("asked", "cost", "hit", "text")

    def __init__(self, hit: Hit, text: HitText, cost: int) -> None:
        self.hit = hit
        self.text = text
        self.cost = cost  # bytes
        self.asked = False  # since the eviction hand last came by


class FastPath:
    """The table of heads, bounded in bytes; the eviction hand gives a second chance to what was asked for.

    Invariants:
        F1  `_held` is the sum of the costs of all stored heads, and at most `max_bytes`.
        F2  An answer was good, by the cache's own word, at the very moment it was given.
    """

    def __init__(
        self, is_good: Callable[[Hit, float], bool], clock: Callable[[], float], *, max_bytes: int
    ) -> None:
        """Make an empty table.

        Args:
            is_good: `MetadataCache.is_good`.
            clock: local time in seconds.
            max_bytes: what the table may hold; 0 switches it off.
        """
        self._is_good = is_good
        self._clock = clock
        self._max_bytes = max_bytes
        self._table: OrderedDict[bytes, _Stored] = OrderedDict()  # the eviction hand points at the first
        self._held = 0
        self._dates = DateText()
        self._hits = 0
        self._bytes_sent = 0
        self._evicted = 0

    def answer(self, head: bytes) -> bytes | None:
        """Return the reply to exactly this head, if it is known and still good."""
        stored = self._table.get(head)
        if stored is None:
            return None
        now = self._clock()
        if not self._is_good(stored.hit, now):
            self._drop(head)
            return None
        stored.asked = True
        text = stored.text.at(now, self._dates)
        self._hits += 1
        self._bytes_sent += len(text)
        return text

    def remember(self, head: bytes, hit: Hit, text: HitText) -> None:
        """Keep the answer to a head that the ordinary path has vetted."""
        cost = len(head) + text.size + _OVERHEAD_BYTES
        if head in self._table:
            self._drop(head)
        if cost > self._max_bytes:
            return
        while self._held + cost > self._max_bytes:
            self._evict_one()
        self._table[head] = _Stored(hit, text, cost)
        self._held += cost

    def clear(self) -> None:
        """Forget all heads."""
        self._table.clear()
        self._held = 0

    def stats(self) -> FastPathStats:
        """Return the figures so far."""
        return FastPathStats(
            hits=self._hits,
            bytes_sent=self._bytes_sent,
            heads=len(self._table),
            bytes_held=self._held,
            evicted=self._evicted,
        )

    def check(self) -> None:
        """Assert the invariants."""
        assert self._held == sum(stored.cost for stored in self._table.values())
        assert self._held <= self._max_bytes

    def _drop(self, head: bytes) -> None:
        self._held -= self._table.pop(head).cost

    def _evict_one(self) -> None:
        while True:
            head = next(iter(self._table))
            stored = self._table[head]
            if not stored.asked:
                self._drop(head)
                self._evicted += 1
                return
            stored.asked = False
            self._table.move_to_end(head)  # its second chance
