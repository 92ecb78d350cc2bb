"""Random samples of the cached paths."""

from collections.abc import Callable
from typing import Final

from nncache.cache.entries import Entry
from nncache.cache.store import CacheStore
from nncache.hadoop.paths import ROOT

PROBES: Final = 2_000
"""Maximum of items examined for one sample: a few milliseconds, whatever the size of the cache."""


def sample(
    store: CacheStore,
    *,
    limit: int,
    is_wanted: Callable[[str], bool],
    chance: Callable[[], float],
    probes: int = PROBES,
) -> tuple[str, ...]:
    """Return at most `limit` distinct cached paths, all equally likely.

    `chance` returns numbers from 0 to less than 1. If few of the items are wanted, the sample may miss some of them.
    """
    found: dict[str, None] = {}
    for _ in range(probes):
        if len(found) >= limit:
            break
        item = store.one_of(chance())
        if item is None:
            break
        if isinstance(item, Entry) and (path := _path_of(store, item)) is not None and is_wanted(path):
            found[path] = None
    return tuple(found)


def _path_of(store: CacheStore, entry: Entry) -> str | None:
    above = store.tree.path_of(entry.directory)
    return None if above is None else above.rstrip(ROOT) + ROOT + entry.name
