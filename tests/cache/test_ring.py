"""The bound on memory."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cache.ring import Ring


@dataclass(eq=False)
class Item:
    """Something with a cost."""

    cost: int
    asked: bool = False


def test_takes_the_oldest_that_nobody_asked_for() -> None:
    """What is asked for often stays: an asked item is passed over once and loses its mark."""
    ring: Ring[Item] = Ring()
    first, second, third = Item(1), Item(2), Item(3)
    for item in (first, second, third):
        ring.add(item)
    first.asked = True
    assert ring.take() is second
    assert ring.take() is third
    assert not first.asked
    assert ring.take() is first
    assert ring.take() is None
    assert ring.bytes == 0


def test_removing_what_is_not_held_changes_nothing() -> None:
    """R1 holds for a second removal too."""
    ring: Ring[Item] = Ring()
    item = Item(5)
    ring.add(item)
    ring.remove(item)
    ring.remove(item)
    assert (ring.bytes, len(ring), item in ring) == (0, 0, False)


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "ask", "take"]), st.integers(0, 9))))
def test_bytes_is_the_sum_of_what_is_held(steps: list[tuple[str, int]]) -> None:
    """R1 holds after any steps, and what was taken is no longer held."""
    ring: Ring[Item] = Ring()
    items = [Item(n + 1) for n in range(10)]
    for step, n in steps:
        match step:
            case "add" if items[n] not in ring:
                ring.add(items[n])
            case "remove":
                ring.remove(items[n])
            case "ask":
                items[n].asked = True
            case "take":
                taken = ring.take()
                assert taken is None or taken not in ring
        ring.check()
