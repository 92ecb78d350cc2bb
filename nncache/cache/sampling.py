"""Choose some of the paths that are kept, by chance."""

from collections.abc import Callable
from typing import Final

from nncache.cache.entries import Entry
from nncache.cache.store import Store
from nncache.hadoop.paths import ROOT

PROBES: Final = 2_000
"""Items looked at for one choice at most, which takes some milliseconds, however much is kept."""


def sample(
    store: Store,
    *,
    limit: int,
    is_wanted: Callable[[str], bool],
    chance: Callable[[], float],
    probes: int = PROBES,
) -> tuple[str, ...]:
    """Return paths with a kept outcome, at most `limit`, each once, all equally likely.

    `chance` returns numbers from 0 to less than 1. Where few of the items kept are wanted, fewer are found than there
    are.
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


def _path_of(store: Store, entry: Entry) -> str | None:
    above = store.tree.path_of(entry.directory)
    return None if above is None else above.rstrip(ROOT) + ROOT + entry.name
