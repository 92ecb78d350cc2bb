"""The bound on memory, and which caller's items are evicted when it is reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.clock_eviction import WINDOW, Account, Caller, ClockEviction, EvictableItem

ALICE, BOB, CAROL = Caller("alice"), Caller("bob"), Caller("carol")


class Item(EvictableItem):
    """An item of a given cost."""

    __slots__ = ("size",)

    def __init__(self, account: Account, size: int = 100) -> None:
        super().__init__(account)
        self.size = size

    @property
    def cost(self) -> int:
        """Return the size."""
        return self.size


@pytest.fixture
def ring() -> ClockEviction[Item]:
    """Return an empty ring."""
    return ClockEviction()


def added(ring: ClockEviction[Item], caller: Caller, number: int, size: int = 100) -> list[Item]:
    """Add `number` items of a caller; settle the ring after each."""
    items = []
    for _ in range(number):
        items.append(Item(ring.account(caller), size))
        ring.add(items[-1])
        ring.settle()
    return items


def replace(ring: ClockEviction[Item], caller: Caller, number: int, *, asked: int = 0) -> list[Item]:
    """Evict one item for each new one, as a full cache does; with `asked`, each new item is referenced immediately."""
    new = []
    for _ in range(number):
        new.append(Item(ring.account(caller)))
        ring.add(new[-1])
        new[-1].referenced = asked > 0
        assert ring.take() is not None
    return new


def share_left(items: list[Item]) -> float:
    """Return the fraction of the items that is still held."""
    return sum(item.alive for item in items) / len(items)


def test_an_empty_ring_has_nothing_to_take() -> None:
    """It has no item to settle either."""
    ring: ClockEviction[Item] = ClockEviction()
    ring.settle()
    assert ring.take() is None
    ring.check()


def test_each_item_has_a_number(ring: ClockEviction[Item]) -> None:
    """Samples draw from newcomers and settled items by number."""
    items = added(ring, ALICE, 20)
    assert {id(ring.at(number)) for number in range(len(ring))} == {id(item) for item in items}


def test_what_nobody_asked_for_again_goes_first(ring: ClockEviction[Item]) -> None:
    """This holds among one caller's newcomers; an item that was requested again settles."""
    first, second, third, fourth = (Item(ring.account(ALICE)) for _ in range(4))
    for item in (first, second, third, fourth):
        ring.add(item)
    first.referenced = True
    assert ring.take() is second
    assert {ring.take(), ring.take()} == {third, fourth}
    assert (first.alive, second.alive, len(ring)) == (True, False, 1)
    assert ring.take() is first
    assert (ring.bytes, len(ring), list(ring)) == (0, 0, [])


def test_a_newcomer_is_evicted_even_if_all_were_asked_for(ring: ClockEviction[Item]) -> None:
    """The number of items checked is bounded, so a full cache never blocks the event loop."""
    items = [Item(ring.account(ALICE)) for _ in range(10 * WINDOW)]
    for item in items:
        ring.add(item)
        item.referenced = True
    assert ring.take() is items[0]
    assert sum(item.referenced for item in items if item.alive) >= len(items) - 2
    ring.check()


def test_a_scan_evicts_nothing_that_is_in_use(ring: ClockEviction[Item]) -> None:
    """Scan resistance: a caller who reads ten times as many paths as fit evicts hardly any item in use."""
    polled = added(ring, ALICE, 1_000)
    for item in polled:
        item.referenced = True
    replace(ring, BOB, 10_000)
    assert share_left(polled) > 0.85
    ring.check()


def test_reading_in_turn_what_does_not_fit_leaves_a_stable_part(ring: ClockEviction[Item]) -> None:
    """Scan resistance: twice as many paths as fit are read, round after round. A plain ring would never have a hit."""
    held: dict[int, Item] = {}
    for number in range(1_000):
        held[number] = added(ring, ALICE, 1)[0]
    hits = 0
    for scan in range(4):
        for number in range(2_000):
            if held.get(number) is not None and held[number].alive:
                held[number].referenced = True
                hits += scan > 0
            else:
                held[number] = replace(ring, ALICE, 1)[0]
    assert hits > 0.8 * 3 * 1_000
    ring.check()


def test_when_all_is_in_use_the_greediest_loses(ring: ClockEviction[Item]) -> None:
    """Shares: bob requests each path again immediately, and still evicts nothing of callers who hold less than he."""
    polled = [item for number in range(10) for item in added(ring, Caller(f"user={number}"), 20)]
    added(ring, BOB, 800)
    for lap in range(50):
        for item in polled:
            item.referenced = True
        replace(ring, BOB, 200, asked=1)
        assert share_left(polled) > 0.95, lap
    ring.check()


def test_a_caller_alone_keeps_what_they_ask_for(ring: ClockEviction[Item]) -> None:
    """Among one caller's settled items, the idle ones are evicted."""
    items = added(ring, ALICE, 1_000)
    polled, idle = items[::2], items[1::2]
    for _ in range(5):
        for item in polled:
            item.referenced = True
        replace(ring, ALICE, 50, asked=1)
    assert share_left(polled) > 0.99
    assert share_left(idle) < 0.75
    ring.check()


def test_removing_what_is_not_held_changes_nothing(ring: ClockEviction[Item]) -> None:
    """R1 also holds after a second removal."""
    item = Item(ring.account(ALICE))
    ring.add(item)
    assert item in ring
    ring.remove(item)
    ring.remove(item)
    assert (ring.bytes, len(ring), item in ring) == (0, 0, False)


def test_an_account_ends_with_its_last_item(ring: ClockEviction[Item]) -> None:
    """Memory: a caller's name is charged once, however long it is."""
    long = Caller("user=" + "x" * 200)
    assert ring.find_account(long) is None
    items = [Item(ring.account(Caller("user=" + "x" * 200)))]
    ring.add(items[0])
    assert ring.find_account(long) is items[0].account
    assert ring.bytes > 300
    items.append(Item(ring.account(long)))
    assert items[1].account is items[0].account
    before = ring.bytes
    ring.add(items[1])
    assert ring.bytes == before + 100
    items[0].size = 250
    ring.recost(items[0], 100)
    assert ring.bytes == before + 250
    ring.check()
    for item in items:
        ring.remove(item)
    assert ring.bytes == 0
    assert ring.account(long) is not items[0].account
    ring.check()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "remove", "ask", "take", "settle", "recost"]),
            st.integers(0, 29),
            st.integers(1, 500),
        ),
        max_size=120,
    )
)
def test_the_books_agree_after_any_steps(steps: list[tuple[str, int, int]]) -> None:
    """K1, R1 and R2 hold after each step, and an evicted item is no longer held."""
    ring: ClockEviction[Item] = ClockEviction()
    items: dict[int, Item] = {}
    for step, n, size in steps:
        item = items.get(n)
        match step:
            case "add" if item is None or not item.alive:
                items[n] = Item(ring.account((ALICE, BOB, CAROL)[n % 3]), size)
                ring.add(items[n])
            case "remove" if item is not None:
                ring.remove(item)
            case "ask" if item is not None:
                item.referenced = True
            case "settle":
                ring.settle()
            case "recost" if item is not None and item.alive:
                before, item.size = item.size, size
                ring.recost(item, before)
            case "take":
                was_empty = not len(ring)
                taken = ring.take()
                assert (taken is None) == was_empty
                assert taken is None or (not taken.alive and taken not in ring)
        ring.check()
    assert set(ring) == {item for item in items.values() if item.alive}
