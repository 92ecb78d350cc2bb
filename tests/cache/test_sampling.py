"""Any path that is kept may be chosen, each as likely as another; nothing else is."""

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
    """Return a cache that holds these, with rights beside them."""
    cache = make_cache()
    for path in paths:
        fill(cache, path)
    return cache


def evenly() -> Callable[[], float]:
    """Return chances that come by every place of up to a thousand."""
    numbers = count()
    return lambda: (next(numbers) % 1000) / 1000


def anything(_: str) -> bool:
    """Want all."""
    return True


def test_all_are_found_and_each_once() -> None:
    """Rights and prepared answers are held in the same place, and are no paths."""
    cache = kept(*PATHS)
    found = sample(cache.store, limit=100, is_wanted=anything, chance=evenly())
    assert sorted(found) == sorted(PATHS)


def test_no_more_than_wanted_and_none_that_is_not() -> None:
    """As a filter matches."""
    cache = kept(*PATHS)
    assert len(sample(cache.store, limit=3, is_wanted=anything, chance=evenly())) == 3
    found = sample(cache.store, limit=3, is_wanted=PATHS[4].__eq__, chance=evenly())
    assert found == (PATHS[4],)


def test_of_many_each_is_as_likely() -> None:
    """Within what chance allows: the probes go round evenly here."""
    cache, chance, found = kept(*PATHS), evenly(), Counter[str]()
    for _ in range(1000):
        found.update(sample(cache.store, limit=1, is_wanted=anything, chance=chance))
    assert set(found) == set(PATHS)
    assert max(found.values()) <= 3 * min(found.values())


@pytest.mark.parametrize("probes", [0, 1])
def test_it_looks_at_a_bounded_number(probes: int) -> None:
    """However many are kept, and though none is wanted."""
    asked: list[str] = []

    def is_wanted(path: str) -> bool:
        asked.append(path)
        return False

    cache = kept(*PATHS)
    assert sample(cache.store, limit=9, is_wanted=is_wanted, chance=evenly(), probes=probes) == ()
    assert len(asked) <= probes


def test_an_empty_cache_has_none() -> None:
    """Nor one whose entries were cut off and wait to be taken apart."""
    assert sample(make_cache().store, limit=9, is_wanted=anything, chance=evenly()) == ()
    cache = kept("/w/a/b/f", "/w/g")
    cache.apply(Moved("/w/a", "/w/z"), 1.0, 101)
    assert sample(cache.store, limit=9, is_wanted=anything, chance=evenly()) == ("/w/g",)


def test_a_child_of_the_root(cache: MetadataCache) -> None:
    """It has one slash."""
    cache.set_filters({"all": "/**"})
    fill(cache, "/f")
    assert sample(cache.store, limit=9, is_wanted=anything, chance=evenly()) == ("/f",)
