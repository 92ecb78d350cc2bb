"""The registry as applications use it, with and without an event loop, on the cluster's ZooKeeper."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import nncache
from nncache.errors import ConfigurationError
from nncache.registry.errors import PathNotFoundError, RegistryIOError
from nncache.registry.tree_watch import Current, Present, Removed
from nncache.testbed import Cluster
from tests.registry.samples import WEBHDFS, place_of_its_own


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry of its own."""
    with place_of_its_own(cluster) as settings:
        yield settings


def test_the_operations_block(place: dict[str, str]) -> None:
    """Each returns what the asynchronous one does."""
    with nncache.open_registry(**place) as registry:
        assert registry.mknode("/services", create_parents=True)
        registry.bind("/services/hdfs", WEBHDFS)
        assert registry.resolve("/services/hdfs") == WEBHDFS
        assert registry.read("/services/hdfs").status == registry.stat("/services/hdfs")
        other = registry.update("/services/hdfs", lambda record: replace(record, description="x"))
        assert [entry.record for entry in registry.find("api=org.apache.hadoop.webhdfs")] == [other]
        assert registry.list("/services") == ("hdfs",)
        assert not registry.add_write_accessor("a", "b")
        registry.clear_write_accessors()
        changes = registry.changes("/services")
        reported = [next(changes) for _ in range(3)]
        assert isinstance(reported[1], Present)
        assert reported[2] == Current()
        assert registry.delete("/services/hdfs")
        assert next(changes) == Removed("/services/hdfs")
        assert not registry.exists("/services/hdfs")
        with pytest.raises(PathNotFoundError):
            registry.resolve("/services/hdfs")
        with pytest.raises(ValueError, match="FIELD=VALUE"):
            registry.find("x")


async def test_the_same_without_blocking(place: dict[str, str]) -> None:
    """`async with` yields the operations themselves."""
    async with nncache.open_registry(**place) as registry:
        await registry.make_root()
        await registry.bind("/services/hdfs", WEBHDFS)
        assert await registry.resolve("/services/hdfs") == WEBHDFS


def test_a_zookeeper_that_is_not_there_is_an_error() -> None:
    """Of entering, after the session's timeout."""
    registry = nncache.open_registry(zookeeper="127.0.0.1:1", zookeeper_session_timeout_s=0.5)
    with pytest.raises(RegistryIOError, match="does not answer"), registry:
        pass


def test_a_wrong_setting_is_named() -> None:
    """Before anything is asked."""
    with pytest.raises(ConfigurationError, match="zookeeper"):
        nncache.open_registry()
    with pytest.raises(ConfigurationError, match="nothing_of_ours"):
        nncache.open_registry(zookeeper="127.0.0.1:1", nothing_of_ours=1)
    with pytest.raises(ConfigurationError, match="principal"):
        nncache.open_registry(zookeeper="127.0.0.1:1", zookeeper_sasl="kerberos").__enter__()
