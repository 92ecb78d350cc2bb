"""Forget the request targets that yarl remembers: they may hold delegation tokens.

yarl 1.x, with which aiohttp parses each request target, keeps the last 128 of them in caches of its own, in clear and
for as long as no others come. They have no public name: `yarl.cache_configure` is for those of host names.
"""

import asyncio
from functools import _lru_cache_wrapper
from types import ModuleType
from typing import Any

from yarl import _url

FORGET_S = 1.0
"""For so long a target may be remembered: parsing one again costs some microseconds, and hits parse none."""


class UnknownYarlError(RuntimeError):
    """This release of yarl keeps its caches elsewhere, so that nothing is known of what they hold."""


def caches_of_targets(module: ModuleType = _url) -> "tuple[_lru_cache_wrapper[Any], ...]":
    """Return the caches of a module of yarl's.

    Raises:
        UnknownYarlError: there is none.
    """
    found = tuple(each for each in vars(module).values() if isinstance(each, _lru_cache_wrapper))
    if not found:
        raise UnknownYarlError(f"{module.__name__} has no caches: is yarl a release that nncache allows?")
    return found


async def forget_targets() -> None:
    """Empty them, forever."""
    caches = caches_of_targets()
    while True:
        await asyncio.sleep(FORGET_S)
        for each in caches:
            each.cache_clear()
