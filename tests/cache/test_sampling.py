"""Every cached path may be sampled, each with equal probability, and nothing else."""

from collections import Counter
from collections.abc import Callable
from itertools import count

import pytest

from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.sampling import sample
from nncache.hadoop.change import Moved
from tests.cache.cases import fill, make_cache

PATHS = tuple(f"/w/d{number}/f" for number in range(10))


def kept(*paths: str) -> MetadataCache:
    """Return a cache that holds entries of these paths, and grants."""
    cache = make_cache()
    for path in paths:
        fill(cache, path)
    return cache


def evenly() -> Callable[[], float]:
    """Return a source of chances that visits each of up to a thousand places in turn."""
    numbers = count()
    return lambda: (next(numbers) % 1000) / 1000


def anything(_: str) -> bool:
    """Accept every path."""
    return True


def test_all_are_found_and_each_once() -> None:
    """Grants and prepared hits are held in the same ring, and are not paths."""
    cache = kept(*PATHS)
    found = sample(cache.store, limit=100, is_wanted=anything, chance=evenly())
    assert sorted(found) == sorted(PATHS)


def test_no_more_than_wanted_and_none_that_is_not() -> None:
    """A filter chooses the wanted paths in the same way."""
    cache = kept(*PATHS)
    assert len(sample(cache.store, limit=3, is_wanted=anything, chance=evenly())) == 3
    found = sample(cache.store, limit=3, is_wanted=PATHS[4].__eq__, chance=evenly())
    assert found == (PATHS[4],)


def test_of_many_each_is_as_likely() -> None:
    """The probes go round evenly here, so the counts differ by a factor of three at most."""
    cache, chance, found = kept(*PATHS), evenly(), Counter[str]()
    for _ in range(1000):
        found.update(sample(cache.store, limit=1, is_wanted=anything, chance=chance))
    assert set(found) == set(PATHS)
    assert max(found.values()) <= 3 * min(found.values())


@pytest.mark.parametrize("probes", [0, 1])
def test_it_looks_at_a_bounded_number(probes: int) -> None:
    """The number of probes bounds the search, however many entries there are and even if none is wanted."""
    asked: list[str] = []

    def is_wanted(path: str) -> bool:
        asked.append(path)
        return False

    cache = kept(*PATHS)
    assert sample(cache.store, limit=9, is_wanted=is_wanted, chance=evenly(), probes=probes) == ()
    assert len(asked) <= probes


def test_an_empty_cache_has_none() -> None:
    """The same holds for a cache whose entries are detached and not yet freed."""
    assert sample(make_cache().store, limit=9, is_wanted=anything, chance=evenly()) == ()
    cache = kept("/w/a/b/f", "/w/g")
    cache.apply(Moved("/w/a", "/w/z"), 1.0, 101)
    assert sample(cache.store, limit=9, is_wanted=anything, chance=evenly()) == ("/w/g",)


def test_a_child_of_the_root(cache: MetadataCache) -> None:
    """The path of such a child has a single slash."""
    cache.set_filters({"all": "/**"})
    fill(cache, "/f")
    assert sample(cache.store, limit=9, is_wanted=anything, chance=evenly()) == ("/f",)
