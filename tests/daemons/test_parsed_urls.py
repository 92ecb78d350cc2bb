"""Request targets are not remembered for longer than a second or so."""

import asyncio
from types import ModuleType

import pytest
from yarl import URL

from nncache.daemons import parsed_urls as module
from nncache.daemons.parsed_urls import UnknownYarlError, caches_of_targets, forget_targets
from tests.patience import HANG_S


def _remembered() -> int:
    return sum(each.cache_info().currsize for each in caches_of_targets())


async def test_what_was_parsed_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As aiohttp parses a target."""
    monkeypatch.setattr(module, "FORGET_S", 0.0)
    URL.build(path="/webhdfs/v1/d", query_string="op=GETFILESTATUS&delegation=secret", encoded=True)
    assert _remembered()
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        work = tasks.create_task(forget_targets())
        while _remembered():  # noqa: ASYNC110 - it forgets after sleeps of its own, and tells nobody
            await asyncio.sleep(0)
        work.cancel()


def test_a_library_that_keeps_them_elsewhere_is_noticed() -> None:
    """Rather than believed to keep nothing."""
    with pytest.raises(UnknownYarlError, match="elsewhere has no caches"):
        caches_of_targets(ModuleType("elsewhere"))
