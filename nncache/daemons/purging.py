"""Purge or sample cached paths for an operator. Each purge is logged."""

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from nncache.admin.proxy_pages import RefusedQueryError
from nncache.cache import MetadataCache
from nncache.cache.purging import Purge, purge_of_path, purges_of_glob
from nncache.cache.sampling import sample
from nncache.hadoop.change import SubtreeUnknown
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT
from nncache.net.some_names import some_names

_NAMED: Final = 10
"""How many filters an error names."""


def globs_named(name: str, globs: Mapping[str, str], names: Mapping[str, str]) -> frozenset[str]:
    """Return the globs of the filters with this name or this glob; not empty.

    Args:
        name: the name or glob that an operator gives.
        globs: globs of the filters in force, by id.
        names: names of these filters, by id; a filter may have none.

    Raises:
        RefusedQueryError: no filter has this name or glob. The message names filters that are in force.
    """
    chosen = frozenset(glob for id_, glob in globs.items() if name in {glob, names.get(id_)})
    if not chosen:
        known = sorted({names.get(id_, glob) for id_, glob in globs.items()})
        some = some_names(known, shown=_NAMED)
        raise RefusedQueryError(f"no filter {name!r} is in force; in force: {some or 'none'}")
    return chosen


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeResult:
    """A purged path or subtree. `was_held`: something was cached there, or a call about it was in flight."""

    path: str
    is_subtree: bool
    was_held: bool


class Purger:
    """Purges one cache."""

    def __init__(
        self, cache: MetadataCache, clock: Callable[[], float], filter_names: Callable[[], Mapping[str, str]]
    ) -> None:
        """Prepare purges. `filter_names` returns the names of the filters in force, by id; a filter may have none."""
        self._cache = cache
        self._clock = clock
        self._filter_names = filter_names

    def path(self, path: str, *, is_subtree: bool, peer: str) -> tuple[PurgeResult, ...]:
        """Purge a canonical path, or its subtree."""
        return self._purge((purge_of_path(path, is_subtree=is_subtree),), f"of {path}", peer)

    def filter(self, name: str, *, peer: str) -> tuple[PurgeResult, ...]:
        """Purge everything that a filter may match; `name` is its name or its glob.

        Raises:
            RefusedQueryError: no such filter is in force.
        """
        chosen = globs_named(name, self._cache.glob_of, self._filter_names())
        purges = tuple(purge for glob in sorted(chosen) for purge in purges_of_glob(glob))
        return self._purge(purges, f"of filter {name}", peer)

    def _purge(self, purges: tuple[Purge, ...], what: str, peer: str) -> tuple[PurgeResult, ...]:
        now = self._clock()
        purged = []
        for purge in purges:
            is_subtree = isinstance(purge, SubtreeUnknown)
            was_held = self._holds(purge.path, is_subtree=is_subtree)
            self._cache.apply(purge, now)
            purged.append(PurgeResult(path=purge.path, is_subtree=is_subtree, was_held=was_held))
        forgotten = ", ".join(f"{each.path} and below" if each.is_subtree else each.path for each in purged)
        _log.warning("purge %s asked for by %s: forgotten: %s", what, peer, forgotten)
        return tuple(purged)

    def _holds(self, path: str, *, is_subtree: bool) -> bool:
        store = self._cache.store
        if not is_subtree:
            return not store.is_untouched(path)
        return self._cache.holds(path) if path != ROOT else store.tree.directories > 1 or store.entries > 0


def held_paths(
    cache: MetadataCache,
    filter_names: Mapping[str, str],
    limit: int,
    filter_: str | None,
    chance: Callable[[], float] = random.random,
) -> tuple[str, ...]:
    """Return a random sample of at most `limit` cached paths; with `filter_` only paths that this filter matches.

    Raises:
        RefusedQueryError: no filter of this name or glob is in force.
    """
    if filter_ is None:
        return sample(cache.store, limit=limit, is_wanted=lambda _: True, chance=chance)
    globs = globs_named(filter_, cache.glob_of, filter_names)
    is_wanted = GlobSet({glob: glob for glob in globs}).matches
    return sample(cache.store, limit=limit, is_wanted=is_wanted, chance=chance)
