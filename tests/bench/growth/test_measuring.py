"""What is measured on a server of one size: its own hits, its own CPU, with all connections open."""

import shutil
from collections.abc import Iterator

import pytest

from nncache.bench.growth import measuring
from nncache.bench.growth.asked import Asked
from nncache.bench.growth.figures import Growth, Way
from nncache.bench.growth.measuring import WARM_UP, Subject, measure, warm_up
from nncache.bench.request_cost.figures import Name
from nncache.bench.request_cost.floor import floor
from nncache.bench.request_cost.load import Target
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.servers.progress import Progress
from nncache.testbed import Cluster
from nncache.testbed.errors import StartError

pytestmark = pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")


@pytest.fixture(scope="module")
def subject(cluster: Cluster) -> Iterator[Subject]:
    """The floor, which counts nothing, before a NameNode that knows none of the paths."""
    namenode = cluster.namenodes[0]
    pid = namenode.process.running_pid
    looks = iter(range(0, 10**9, 100))
    with floor(namenode.http) as running:
        yield Subject(
            Growth.CALLERS,
            7,
            Target(Name.FLOOR, running.address, tuple(running.processes.values()), pid),
            lambda: Progress(answered=next(looks), connections=4, entries=3),
            NameNodeAt(namenode.http, cluster.superuser, pid),
            Asked(20, 7),
            connections=4,
        )


def test_all_that_is_asked_is_known_before(subject: Subject) -> None:
    """Asked for by one connection after the other, so that the NameNode has answered each request once."""
    warm_up(subject)
    assert WARM_UP > 2
    done = measure(subject, Way.KNOWN, 3, 0.5)
    assert (done.growth, done.way, done.name, done.size, done.number) == (
        Growth.CALLERS,
        Way.KNOWN,
        Name.FLOOR,
        7,
        3,
    )
    assert done.misses == 0
    assert done.failed == done.requests > 10  # each is a 404
    assert done.hits == 100  # between two looks
    assert done.entries == 3
    assert done.cpu_s > 0


def test_many_connections_are_begun_some_at_a_time(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """And all of them count."""
    monkeypatch.setattr(measuring, "AT_ONCE", 3)
    wanted: list[int] = []
    monkeypatch.setattr(measuring, "_await_connections", lambda _, connections: wanted.append(connections))
    assert measure(subject, Way.KNOWN, 1, 0.5).requests > 10
    assert wanted == [3, 4]


def test_what_gets_to_the_namenode_is_counted(subject: Subject) -> None:
    """Heads that differ each time are all unknown to the floor."""
    done = measure(subject, Way.PARSED, 1, 0.5)
    assert done.misses >= done.requests > 10


def test_a_server_that_does_not_take_the_connections_ends_it(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is measured with fewer."""
    monkeypatch.setattr(measuring, "_CONNECTED_S", 0.3)
    some = Subject(
        subject.growth, 9, subject.target, subject.progress, subject.namenode, subject.asked, connections=5
    )
    with pytest.raises(StartError, match="has 4 connections of 5 after"):
        measure(some, Way.KNOWN, 1, 0.5)
