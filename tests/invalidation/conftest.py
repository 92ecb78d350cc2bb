"""Coroutines of these tests run in virtual time: a minute of waiting costs nothing."""

from asyncio import AbstractEventLoop, SelectorEventLoop
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from tests.invalidation.channel.fake_cluster import FakeCluster, probed_fake_cluster
from tests.invalidation.virtual_time import VirtualLoop

IN_REAL_TIME = (
    "filters/",
    "journal/test_access.py",
    "journal/test_directory.py",
    "journal/test_finalized.py",
    "journal/test_source.py",
    "test_namenodes.py",
)
"""Tests that also talk to servers, or use threads."""


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Return the event-loop factory of each coroutine test."""
    if item.path.relative_to(Path(__file__).parent).as_posix().startswith(IN_REAL_TIME):
        return {"asyncio": SelectorEventLoop}
    return {"virtual": VirtualLoop}


@pytest.fixture
async def fake_cluster() -> AsyncIterator[FakeCluster]:
    """A ZooKeeper that a publisher has filled, and a reader's session; the NameNodes are probed every second."""
    async with probed_fake_cluster() as found:
        yield found


@pytest.fixture
async def followed(fake_cluster: FakeCluster) -> AsyncIterator[FakeCluster]:
    """The same cluster with an open stream that has yielded its first coverage."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        yield fake_cluster
