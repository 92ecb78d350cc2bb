"""Load: what wrk says is understood, and what is counted was asked."""

import shutil
from collections.abc import Iterator

import pytest

from nncache.bench.request_cost import load
from nncache.bench.request_cost.figures import Name, Shape
from nncache.bench.request_cost.floor import floor
from nncache.bench.request_cost.load import PATHS, Counted, Target, measure, parse_wrk
from nncache.testbed import Cluster

SAID = """\
Running 3s test @ http://127.0.0.1:1/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.52ms    3.00ms  40.00ms   97.00%
  Latency Distribution
     50%  830.00us
     75%    1.10ms
  150000 requests in 3.01s, 90.00MB read
"""


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (SAID, Counted(150_000, 0, 830e-6)),
        (SAID.replace("830.00us", "1.25s") + "  Non-2xx or 3xx responses: 7\n", Counted(150_000, 7, 1.25)),
        (
            SAID.replace("830.00us", "2.50ms") + "  Socket errors: connect 1, read 2, write 3, timeout 4\n",
            Counted(150_000, 10, 2.5e-3),
        ),
    ],
)
def test_what_wrk_says(said: str, counted: Counted) -> None:
    """Requests, what failed, and the median."""
    assert parse_wrk(said) == counted


def test_anything_else_is_an_error() -> None:
    """And no measurement of nothing."""
    with pytest.raises(ValueError, match="unable to connect"):
        parse_wrk("unable to connect to 127.0.0.1:1 Connection refused")


@pytest.fixture(scope="module")
def target(cluster: Cluster) -> Iterator[Target]:
    """The floor, before a NameNode that knows none of the paths."""
    pid = cluster.namenodes[0].process.pid
    assert pid is not None
    with floor(cluster.namenodes[0].http) as running:
        yield Target(Name.FLOOR, running.address, tuple(running.processes.values()), pid)


@pytest.mark.parametrize("shape", [Shape.REPEATED, Shape.VARYING, Shape.FORWARDED])
@pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")
def test_every_shape_asks_for_what_it_names(target: Target, shape: Shape) -> None:
    """Of paths that are not there every reply is a 404, and counts as failed."""
    done = measure(shape, target, 1)
    assert done.requests > 10
    assert done.failed == done.requests
    assert done.cpu_s > 0
    assert done.namenode_cpu_s > 0 or shape is Shape.REPEATED


def test_a_connection_for_each_request_is_one(target: Target) -> None:
    """It takes more of the server's time than a kept one."""
    done = measure(Shape.CONNECTION_EACH, target, 1)
    assert done.failed == done.requests > PATHS // 100


def test_an_idle_connection_takes_something(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the server's memory, a few hundred bytes at the least and no more than its buffers."""
    monkeypatch.setattr(load, "IDLE_CONNECTIONS", 400)
    assert 100 < load.bytes_per_connection(target) < 300_000
