"""Name some of the paths that the cache holds, for `nncache audit`."""

import random
from collections.abc import Callable, Mapping

from nncache.admin.proxy_pages import SampleError
from nncache.cache import MetadataCache
from nncache.cache.sampling import sample
from nncache.daemons.filters_named import UnknownFilterError, globs_named
from nncache.hadoop.globs import GlobSet


class HeldPaths:
    """Chooses among what one cache holds."""

    def __init__(
        self,
        cache: MetadataCache,
        filter_names: Callable[[], Mapping[str, str]],
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Begin; `filter_names` returns the names of the filters in force, by id, of those that have one."""
        self._cache = cache
        self._filter_names = filter_names
        self._chance = chance

    def sample(self, limit: int, filter_: str | None) -> tuple[str, ...]:
        """Return paths, at most `limit`, chosen by chance among all, or those that a filter matches.

        Raises:
            SampleError: no filter of this name or glob is in force.
        """
        if filter_ is None:
            is_wanted: Callable[[str], bool] = _any
        else:
            try:
                globs = globs_named(filter_, self._cache.glob_of, self._filter_names())
            except UnknownFilterError as error:
                raise SampleError(str(error)) from error
            is_wanted = GlobSet({glob: glob for glob in globs}).matches
        return sample(self._cache.store, limit=limit, is_wanted=is_wanted, chance=self._chance)


def _any(_: str) -> bool:
    return True
