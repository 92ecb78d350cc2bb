"""Eviction that keeps frequently used items, and charges each caller for their memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import inf
from typing import Any, Final, Generic, NewType, TypeVar

from nncache.cache.sizes import ACCOUNT_BYTES, text_bytes

Caller = NewType("Caller", str)
"""The caller as the NameNode would see them: an opaque key made by the front end."""

NEWCOMERS_PART: Final = 8
"""This fraction (1/8) of all bytes is reserved for items that were not used since they were added."""

WINDOW: Final = 8
"""Number of settled items that an eviction compares, and maximum of newcomers that it settles."""

UNREFERENCED_WEIGHT: Final = 8
"""Weight of an item that was not used since the hand last passed, relative to a used one."""


class Account:
    """The memory of one caller. It holds the caller's name once for all of their items."""

    __slots__ = ("bytes", "caller", "ended_at")

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.bytes = 0
        self.ended_at = -inf  # when the caller's rights ended: no earlier proof is good

    @property
    def cost(self) -> int:
        """Memory of the account itself, in bytes."""
        return ACCOUNT_BYTES + text_bytes(self.caller)


class EvictableItem(ABC):
    """An item whose memory is bounded by eviction."""

    __slots__ = ("account", "circle", "place", "referenced")

    def __init__(self, account: Account) -> None:
        self.account = account  # of the caller for whom it is kept
        self.referenced = False  # asked for since it came, or since the hand last passed; readers set it
        self.circle: Circle[Any] | None = None  # where it is held; None once it is let go
        self.place = 0  # its index there

    @property
    def alive(self) -> bool:
        """Whether it is held."""
        return self.circle is not None

    @property
    @abstractmethod
    def cost(self) -> int:
        """Memory in bytes; constant while the item is held, except through `ClockEviction.recost`."""


KeptT = TypeVar("KeptT", bound=EvictableItem)


class Circle(Generic[KeptT]):
    """Items in a list without gaps, with a hand that moves round it.

    A list takes 9 bytes an item. It needs no rehash, which blocks the event loop for a dict of a million items.

    Invariant K1: `circle` and `place` of each item are its position.
    """

    __slots__ = ("bytes", "hand", "items")

    def __init__(self) -> None:
        self.items: list[KeptT] = []
        self.bytes = 0
        self.hand = 0  # index of the item to be looked at next

    def add(self, item: KeptT, cost: int) -> None:
        """Append an item."""
        item.circle, item.place = self, len(self.items)
        self.items.append(item)
        self.bytes += cost

    def remove(self, item: KeptT, cost: int) -> None:
        """Remove an item; the newest moves to its place."""
        newest = self.items.pop()
        if newest is not item:
            self.items[item.place] = newest
            newest.place = item.place
        if self.hand >= len(self.items):
            self.hand = 0
        item.circle = None
        self.bytes -= cost

    def take_at_hand(self, cost: int) -> KeptT:
        """Remove and return the item at the hand. The newest moves to its place, and the hand moves past it."""
        item, is_newest = self.items[self.hand], self.hand == len(self.items) - 1
        self.remove(item, cost)
        if not is_newest:
            self.pass_by()
        return item

    def pass_by(self) -> None:
        """Move the hand to the next item: the one that it leaves is examined again after all others."""
        self.hand = self.hand + 1 if self.hand + 1 < len(self.items) else 0

    def bring_to_hand(self, item: KeptT) -> None:
        """Swap an item with the one at the hand."""
        other = self.items[self.hand]
        self.items[self.hand], self.items[item.place] = item, other
        item.place, other.place = other.place, item.place

    def window(self) -> list[KeptT]:
        """Return the item at the hand and some others, evenly spaced, since neighbours are alike."""
        number = len(self.items)
        apart = max(1, number // WINDOW)
        return [self.items[(self.hand + n * apart) % number] for n in range(min(WINDOW, number))]


class ClockEviction(Generic[KeptT]):
    """Items of all callers, and the choice of the item to evict.

    A reader only sets `item.referenced`, so a hit costs one attribute, not a move in a list as with LRU.
    Newcomers settle when they are used again, or while there is room. An unused newcomer is evicted before any settled
    item, so a scan of very many paths, once or repeatedly, evicts no item in use. Among a few settled items the
    eviction takes the one whose caller holds most memory, where an unused item weighs more: the greediest caller
    loses, and of one caller's items the idle ones.
    Source: second chance ("CLOCK"), with a probationary segment as in segmented LRU.

    Invariants:
        R1  `bytes` is the sum of the costs of the items held and of their accounts.
        R2  An account is held if and only if one of its items is; `Account.bytes` is the sum of their costs.
    """

    __slots__ = ("_accounts", "_newcomers", "_settled", "bytes")

    def __init__(self) -> None:
        self._newcomers: Circle[KeptT] = Circle()
        self._settled: Circle[KeptT] = Circle()
        self._accounts: dict[Caller, Account] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._newcomers.items) + len(self._settled.items)

    def __iter__(self) -> Iterator[KeptT]:
        """Yield the held items, the newcomers first."""
        yield from self._newcomers.items
        yield from self._settled.items

    def __contains__(self, item: KeptT) -> bool:
        return item.circle is self._newcomers or item.circle is self._settled

    def at(self, number: int) -> KeptT:
        """Return a held item by number, 0 to `len(ring)` - 1; the numbers of items may change with each call."""
        newcomers = self._newcomers.items
        return newcomers[number] if number < len(newcomers) else self._settled.items[number - len(newcomers)]

    def account(self, caller: Caller) -> Account:
        """Return the caller's account, or a new one, for an item that is about to be added."""
        return self._accounts.get(caller) or Account(caller)

    def find_account(self, caller: Caller) -> Account | None:
        """Return the caller's account; None if they have no item."""
        return self._accounts.get(caller)

    def add(self, item: KeptT) -> None:
        """Add an item, and charge it to the account that its caller has now."""
        cost = item.cost
        account = item.account = self._accounts.setdefault(item.account.caller, item.account)
        self._newcomers.add(item, cost)
        if not account.bytes:
            self.bytes += account.cost
        account.bytes += cost
        self.bytes += cost

    def remove(self, item: KeptT) -> None:
        """Remove an item; no error if it is not held."""
        if (circle := item.circle) is not None:
            cost = item.cost
            circle.remove(item, cost)
            self._charge(item.account, -cost)

    def recost(self, item: KeptT, before: int) -> None:
        """Update the sums after the cost of a held item changed from `before`."""
        assert item.circle is not None
        difference = item.cost - before
        item.circle.bytes += difference
        self._charge(item.account, difference)

    def take(self) -> KeptT | None:
        """Remove and return the item to evict; None if there is none. Costs O(1)."""
        newcomers, settled = self._newcomers, self._settled
        for _ in range(WINDOW):
            if newcomers.bytes * NEWCOMERS_PART <= self.bytes or not newcomers.items:
                break
            item = newcomers.items[newcomers.hand]
            if not item.referenced:
                return self._take(newcomers, item)
            self._settle_next()
        if settled.items:
            return self._take(settled, max(settled.window(), key=_weight))
        return self._take(newcomers, newcomers.items[newcomers.hand]) if newcomers.items else None

    def settle(self) -> None:
        """Settle the oldest newcomer although it was not used again: there is room. Costs O(1)."""
        if self._newcomers.items and self._newcomers.bytes * NEWCOMERS_PART > self.bytes:
            self._settle_next()

    def _settle_next(self) -> None:
        cost = self._newcomers.items[self._newcomers.hand].cost
        self._settled.add(self._newcomers.take_at_hand(cost), cost)

    def _take(self, circle: Circle[KeptT], item: KeptT) -> KeptT:
        circle.bring_to_hand(item)
        cost = item.cost
        circle.take_at_hand(cost)
        self._charge(item.account, -cost)
        if circle.items and circle is self._settled:
            circle.items[circle.hand].referenced = False
            circle.pass_by()
        return item

    def _charge(self, account: Account, cost: int) -> None:
        self.bytes += cost
        account.bytes += cost
        if not account.bytes:
            del self._accounts[account.caller]
            self.bytes -= account.cost

    def check(self) -> None:
        """Assert K1, R1 and R2; for tests."""
        sums: dict[Account, int] = {}
        for circle in (self._newcomers, self._settled):
            assert all(item.circle is circle for item in circle.items)
            assert [item.place for item in circle.items] == list(range(len(circle.items)))
            assert circle.bytes == sum(item.cost for item in circle.items)
            assert circle.hand == 0 or circle.hand < len(circle.items)
            for item in circle.items:
                sums[item.account] = sums.get(item.account, 0) + item.cost
        assert sums == {account: account.bytes for account in self._accounts.values()}
        assert all(caller == account.caller for caller, account in self._accounts.items())
        assert self.bytes == sum(sums.values()) + sum(account.cost for account in sums)


def _weight(item: EvictableItem) -> int:
    return item.account.bytes * (1 if item.referenced else UNREFERENCED_WEIGHT)
