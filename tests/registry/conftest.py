"""A registry on the cluster's ZooKeeper, and Hadoop's own classes to compare with."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvloop

from nncache.registry.operations import Registry
from nncache.testbed import Cluster
from nncache.testbed.jars import REGISTRY_CLIENT
from tests.contracts.hadoop_jvm import hadoop_jvm
from tests.registry.samples import real_registry


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Any]:
    """Yield org.apache.hadoop in a JVM; the first run downloads about 60 MB from Maven."""
    with hadoop_jvm(Path("no-configuration"), pom_file=REGISTRY_CLIENT) as package:
        yield package


@pytest.fixture
async def registry(cluster: Cluster) -> AsyncIterator[Registry]:
    """Yield an nncache registry with a root of its own."""
    async with real_registry(cluster) as real:
        yield real


ON_BOTH = {"test_dns_server.py"}


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], AbstractEventLoop]]:
    """Return the event loops of each test: tests with sockets run on the daemons' uvloop and on asyncio's."""
    loops = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    if item.path.name in ON_BOTH:
        return loops
    kind = "uvloop" if item.path.parent.name == "rest" else "asyncio"
    return {kind: loops[kind]}
