"""Each loop iteration does a bounded part of the work, and other callbacks run in between."""

import asyncio

from nncache.proxy.clients.paced_work import PacedWork


async def _iteration() -> None:
    await asyncio.sleep(0)


async def test_one_with_much_to_do_is_worked_on_over_some_iterations() -> None:
    """No iteration does more than the bound."""
    left, done = {"a": 25}, list[int]()

    def work(one: str, most: int) -> int:
        part = min(most, left[one])
        done.append(part)
        left[one] -= part
        if left[one]:
            paced.add(one)
        return part

    paced = PacedWork(work, 10)
    paced.add("a")
    assert not done, "it waits for its turn"
    for seen in ([10], [10, 10], [10, 10, 5], [10, 10, 5]):
        await _iteration()
        assert done == seen


async def test_many_share_an_iteration_in_their_order() -> None:
    """An item that is added twice is processed once."""
    order = list[str]()

    def work(one: str, _: int) -> int:
        order.append(one)
        return 4

    paced = PacedWork(work, 10)
    for one in ("a", "b", "a", "c", "d"):
        paced.add(one)
    await _iteration()
    assert order == ["a", "b", "c"]
    await _iteration()
    assert order == ["a", "b", "c", "d"]


async def test_what_comes_between_two_iterations_goes_first() -> None:
    """A long queue does not block another callback of the loop."""
    order = list[str]()

    def work(one: str, _: int) -> int:
        order.append(one)
        return 10

    paced = PacedWork(work, 10)
    for one in ("a", "b"):
        paced.add(one)
    asyncio.get_running_loop().call_soon(order.append, "other")
    await _iteration()
    await _iteration()
    assert order == ["a", "other", "b"]
