"""A registry on the cluster's ZooKeeper, and Hadoop's own classes beside it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from nncache.registry.operations import Registry
from nncache.testbed import Cluster
from nncache.testbed.jars import REGISTRY_CLIENT
from tests.contracts.hadoop_jvm import hadoop_jvm
from tests.registry.samples import real_registry


@pytest.fixture(scope="module")
def hadoop() -> Iterator[Any]:
    """Yield org.apache.hadoop in a JVM; the first time, about 60 MB come from Maven."""
    with hadoop_jvm(Path("no-configuration"), pom_file=REGISTRY_CLIENT) as package:
        yield package


@pytest.fixture
async def registry(cluster: Cluster) -> AsyncIterator[Registry]:
    """Yield a registry of ours with a root of its own."""
    async with real_registry(cluster) as real:
        yield real
