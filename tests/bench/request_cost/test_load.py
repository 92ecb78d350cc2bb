"""Load: what is counted was asked."""

import shutil
from collections.abc import Iterator

import pytest

from nncache.bench.request_cost import load
from nncache.bench.request_cost.figures import Name, Shape
from nncache.bench.request_cost.floor import floor
from nncache.bench.request_cost.load import PATHS, Target, measure
from nncache.testbed import Cluster


@pytest.fixture(scope="module")
def target(cluster: Cluster) -> Iterator[Target]:
    """The floor, before a NameNode that knows none of the paths."""
    pid = cluster.namenodes[0].process.running_pid
    with floor(cluster.namenodes[0].http) as running:
        yield Target(Name.FLOOR, running.address, tuple(running.processes.values()), pid)


@pytest.mark.parametrize("shape", [Shape.REPEATED, Shape.VARYING, Shape.FORWARDED, Shape.OUTSIDE])
@pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")
def test_every_shape_asks_for_what_it_names(target: Target, shape: Shape) -> None:
    """Of paths that are not there every reply is a 404, and counts as failed."""
    done = measure(shape, target, 1)
    assert done.requests > 10
    assert done.failed == done.requests
    assert done.cpu_s > 0
    assert done.namenode_cpu_s > 0 or shape is Shape.REPEATED


@pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")
def test_a_miss_is_of_a_path_that_is_not_there(target: Target) -> None:
    """So every reply is a 404, and none has failed."""
    done = measure(Shape.MISS, target, 1)
    assert done.requests > 10
    assert done.failed == 0


def test_a_connection_for_each_request_is_one(target: Target) -> None:
    """It takes more of the server's time than a kept one."""
    done = measure(Shape.CONNECTION_EACH, target, 1)
    assert done.failed == done.requests > PATHS // 100


def test_an_idle_connection_takes_something(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the server's memory, a few hundred bytes at the least and no more than its buffers."""
    monkeypatch.setattr(load, "IDLE_CONNECTIONS", 400)
    assert 100 < load.bytes_per_connection(target) < 300_000
