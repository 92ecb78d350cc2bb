"""A bound on memory that keeps what is asked for often. (cache/ring.py)"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar


class Evictable(Protocol):
    """Something with a cost in bytes and a mark that a reader leaves."""

    cost: int
    asked: bool


ItemT = TypeVar("ItemT", bound=Evictable)


class Ring(Generic[ItemT]):
    """Items in the order in which the eviction hand meets them (second chance, "CLOCK").

    A reader only sets `item.asked`; the hand clears the mark and passes on, and takes the first item
    without one. So a hit costs one attribute, not a move in a list as with LRU.

    Invariant R1: `bytes` is the sum of the costs of the items held.
    """

    __slots__ = ("_items", "bytes")

    def __init__(self) -> None:
        self._items: OrderedDict[ItemT, None] = OrderedDict()  # next one for the hand first
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: ItemT) -> bool:
        return item in self._items

    def add(self, item: ItemT) -> None:
        """Take an item in, farthest from the hand."""
        self._items[item] = None
        self.bytes += item.cost

    def remove(self, item: ItemT) -> None:
        """Let an item go; one that is not held is no error."""
        if item in self._items:
            del self._items[item]
            self.bytes -= item.cost

    def take(self) -> ItemT | None:
        """Remove and return the next item that nobody asked for since the hand's last turn."""
        while self._items:
            item, _ = self._items.popitem(last=False)
            if item.asked:
                item.asked = False
                self._items[item] = None
                continue
            self.bytes -= item.cost
            return item
        return None

    def check(self) -> None:
        """Assert R1; for tests."""
        assert self.bytes == sum(item.cost for item in self._items)
