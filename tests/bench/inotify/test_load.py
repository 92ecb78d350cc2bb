"""Edits at a rate."""

import asyncio

from nncache.bench.inotify.load import DEPTH, at_rate, filling_path, noted_path
from nncache.hadoop.globs import GlobSet


def test_a_noted_path_matches_the_glob_of_one_filter() -> None:
    """They take turns."""
    globs = GlobSet({str(number): f"/team/{number}/*/*/_SUCCESS" for number in range(3)})
    matched = [globs.names_matching(noted_path("/team", 3, number)) for number in range(6)]
    assert matched == [{"0"}, {"1"}, {"2"}] * 2


def test_a_filling_path_makes_so_many_directories() -> None:
    """And shares none with another but those above its number."""
    one, other = (filling_path("/x", number) for number in (1, 2))
    assert len(one.split("/")) - len(["", "load", "x"]) == DEPTH
    assert not other.startswith(one[: len("/load/x/1/")])


async def test_none_is_left_out_when_it_is_late() -> None:
    """Each gets its number, and all have ended when it ends; without a rate there are none."""
    seen: list[int] = []

    async def act(number: int) -> None:
        await asyncio.sleep(0)
        seen.append(number)

    await at_rate(1e6, 1e-5, act)
    assert sorted(seen) == [*range(10)]
    await at_rate(0.0, 10.0, act)
    assert len(seen) == 10
