"""The examples of docs/balancers.md with real balancers: hits, limits and logs use the client's address."""

from collections.abc import Iterator
from typing import Final

import pytest

from nncache.testbed import Cluster
from tests.clients.ways import BALANCERS, Way, Ways, asked, connected, hits, ways_to
from tests.cluster import make_directory, settle
from tests.patience import until

CALLS: Final = 8
"""Number of calls that an address may have forwarded."""


@pytest.fixture(scope="module")
def limited(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    """Ways to proxies that limit each address to CALLS."""
    make_directory(cluster, "/behind")
    logs = tmp_path_factory.mktemp("limited")
    with ways_to(cluster, "/behind/*", "/behind/*/*", logs=logs, calls=CALLS) as ways:
        yield ways


@pytest.fixture(params=BALANCERS)
def way(request: pytest.FixtureRequest, limited: Ways) -> Way:
    """Each way through a balancer."""
    return limited(request.param)


def client_of(way: Way, number: int) -> str:
    """Return a client address that has made no calls on other ways."""
    return f"127.0.{BALANCERS.index(way.name) + 1}.{number}"


def test_hits_limits_and_logs_go_by_the_client(cluster: Cluster, way: Way) -> None:
    """A forged X-Forwarded-For has no effect. A client at its limit leaves others their calls and keeps its hits."""
    forged = {"X-Forwarded-For": "192.0.2.99, 127.0.0.11"}
    root = f"/behind/{way.name}"
    make_directory(cluster, root)
    settle(cluster, way.proxy)
    alice, bob = client_of(way, 1), client_of(way, 2)
    before = hits(way.proxy)
    with connected(way.address, alice) as first, connected(way.address, bob) as second:
        missing = f"{root}/missing"
        assert asked(first, missing)[0] == 404
        for client in (first, second):
            for _ in range(3):
                assert asked(client, missing, **forged) == (404, "nncache; hit")
        statuses = [asked(first, root, "LISTSTATUS", **forged)[0] for _ in range(CALLS)]
        assert statuses == [200] * (CALLS - 1) + [429]
        assert asked(first, missing) == (404, "nncache; hit")
        assert asked(second, root, "LISTSTATUS")[0] == 200
    assert hits(way.proxy) - before == 7
    listed = f"{root}?op=LISTSTATUS"
    until(lambda: bob in way.clients(listed) and way.clients(listed, "audit.log", status=429))
    assert way.clients(missing, result="hit") == [alice] * 3 + [bob] * 3 + [alice]
    assert way.clients(listed, result="forwarded") == [alice] * (CALLS - 1) + [bob]
    assert way.clients(listed, "audit.log", status=429) == [alice]
    assert way.proxy.metrics()["nncache_proxy_protocol_headers_refused_total"] == 0


def test_no_other_client_is_believed(way: Way) -> None:
    """A client that connects directly is logged by its own address, whatever it sends."""
    eve, other = client_of(way, 3), f"/behind/other-{way.name}"
    with connected(way.proxy.address, eve) as straight:
        field = {"X-Forwarded-For": "192.0.2.99"}
        assert asked(straight, other, "LISTSTATUS", **field)[0] == 404
        straight.close()
        straight.connect()
        straight.sock.sendall(b"PROXY TCP4 192.0.2.99 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert b" 400 " in straight.sock.recv(100)
    until(lambda: eve in way.clients("", status=400))
    assert way.clients(other) == [eve]
    assert "192.0.2.99" not in way.clients("")
