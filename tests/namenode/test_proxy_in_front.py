"""A proxy in front of a light cluster is as exact as in front of HDFS: hits, invalidation, gaps, failovers."""

import json
import math
from collections.abc import Iterator
from functools import partial

import pytest

from nncache.namenode.cluster import LightCluster
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import ProxyDaemon, Subscriber
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import make_directory
from tests.differential.figures import Target
from tests.differential.run import GLOBS, SETTINGS, run_for
from tests.namenode.asking import call
from tests.real.datanode import begin, led_to
from tests.real.light_server import LightServer
from tests.real.namespace_server import NamespaceServer
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, OwnChannel, proxied
from tests.service import InotifyService

OPERATIONS = 120
ON_THE_FEED = 40


@pytest.fixture(scope="module")
def light_server() -> Iterator[LightServer]:
    """Yield a light cluster in a process of its own."""
    with LightServer() as server:
        yield server


@pytest.fixture(scope="module")
def proxied_light(light_server: LightServer) -> Iterator[ProxiedCluster]:
    """Yield the cluster with a proxy on the direct channel."""
    make_directory(light_server, "/t")
    with proxied(light_server, "/t/*", "/t/*/*") as simulation:
        yield simulation


def test_a_hit_is_forgotten_when_it_is_changed(proxied_light: ProxiedCluster) -> None:
    """A change at the NameNode invalidates it within the bound, a change through the proxy immediately."""
    proxied_light.mkdirs("/t/d", "alice", "755")
    proxied_light.put(CallTarget.NAMENODE, "/t/d/f", b"12345", "alice")
    proxied_light.make_hit("/t/d/f", "bob")
    done = proxied_light.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", "/t/d/f", "alice", permission="600")
    proxied_light.await_agreement("/t/d/f", "bob", since=done.ended_at)
    assert json.loads(proxied_light.ask("/t/d/f", "bob").body)["FileStatus"]["permission"] == "600"
    proxied_light.make_hit("/t/d/f", "bob")
    proxied_light.do(CallTarget.PROXY, "DELETE", "DELETE", "/t/d/f", "alice")
    assert proxied_light.ask("/t/d/f", "bob").status == 404


def test_an_open_file_is_no_hit(proxied_light: ProxiedCluster) -> None:
    """The proxy calls isFileClosed; a closed file is cached."""
    proxied_light.mkdirs("/t/o", "alice", "777")
    first = proxied_light.do(CallTarget.NAMENODE, "PUT", "CREATE", "/t/o/f", "alice", noredirect="true")
    connection, waits = begin("PUT", led_to(first), 2)
    assert waits, "a DataNode asks for the content before it opens the file"
    connection.send(b"1")
    process = proxied_light.cluster.namenodes[0].process
    process.await_that(lambda: proxied_light.truth("/t/o/f", "bob").status == 200, "has no such file")
    proxied_light.settle()
    for _ in range(5):
        reply = proxied_light.ask("/t/o/f", "bob")
        assert (reply.status, reply.is_hit) == (200, False)
    connection.send(b"2")
    assert connection.getresponse().status == 201
    connection.close()
    assert json.loads(proxied_light.make_hit("/t/o/f", "bob").body)["FileStatus"]["length"] == 2


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_every_answer_is_the_namenodes_own(channel: Channel, request: pytest.FixtureRequest) -> None:
    """Verbatim, Bounded and OwnWrites hold for random operations, with enough hits to be significant."""
    needs_zookeeper = channel is Channel.ZOOKEEPER
    zookeeper = request.getfixturevalue("zookeeper_server") if needs_zookeeper else None
    with (
        LightServer(zookeeper) as light,
        proxied(
            light,
            *GLOBS,
            channel=channel,
            **SETTINGS,
        ) as simulation,
    ):
        figures = run_for(simulation, seed=20261128, operations=OPERATIONS)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf)) == []


def test_every_answer_on_the_feed_is_the_namenodes_own(zookeeper_server: ZooKeeperServer) -> None:
    """They also hold with ZooKeeper watches on three NameNodes' feed: changes are seen soon, and nothing is polled."""
    with (
        NamespaceServer(zookeeper_server.address, namenodes=3) as served,
        proxied(served, *GLOBS, channel=OwnChannel.FEED, **SETTINGS) as simulation,
    ):
        figures = run_for(simulation, seed=20261129, operations=ON_THE_FEED)
        polls = simulation.proxy.metrics()["nncache_channel_polls_total"]
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf)) == []
    assert polls == 0


def test_a_filter_is_followed_without_a_poll(zookeeper_server: ZooKeeperServer) -> None:
    """A publisher reads the feed too, serves its filters' subscribers as usual, and resumes after a restart."""
    with NamespaceServer(zookeeper_server.address, namenodes=2) as served:
        service = InotifyService.of(served, zookeeper_server.address)
        service.add("made", "/made/*")
        source = {"edits_source": "feed", "feed_root": served.root}
        with service.publisher(**source) as publisher, service.subscriber("made") as subscriber:
            for number, namenode in enumerate(served.namenodes):
                path = f"/made/{number}"
                call(namenode.http, "PUT", path, "MKDIRS", served.superuser)
                subscriber.await_that(partial(has_seen, path), "has no event")
            publisher.await_publishing()
            assert publisher.metrics()["nncache_channel_polls_total"] == 0
            publisher.stop()
            call(served.namenodes[0].http, "PUT", "/made/meanwhile", "MKDIRS", served.superuser)
            publisher.start()
            subscriber.await_that(partial(has_seen, "/made/meanwhile"), "has no event")
            assert subscriber.gaps() == ()
            assert publisher.metrics()["nncache_channel_polls_total"] == 0


def has_seen(path: str, subscriber: Subscriber) -> bool:
    """Return whether the subscriber has an event for this path."""
    return any(event["path"] == path for event in subscriber.events())


def proxy_of(light: LightCluster) -> ProxyDaemon:
    """Return a proxy in front of a light cluster of this process, not started."""
    return ProxyDaemon(
        *("--namenode-http", light.namenode_http, "--namenode-rpc", light.namenode_rpc),
        *("--user", light.superuser, "--channel", "direct", "--glob", "/*"),
    )


def status_of(proxy: ProxyDaemon, path: str) -> tuple[int, bool]:
    """Ask the proxy as alice; return the status, and whether it was a hit."""
    with Asker(proxy.address) as asker:
        reply = asker.ask("GET", f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name=alice")
    return reply.status, reply.is_hit


def test_a_standby_opens_no_gate() -> None:
    """While no NameNode is active there are no hits; all entries from before are dropped."""
    with LightCluster() as light, proxy_of(light) as proxy:
        proxy.await_gate()
        with Asker(light.namenode_http) as asker:
            asker.ask("PUT", f"/webhdfs/v1/d?op=MKDIRS&user.name={light.superuser}")
        proxy.process.await_that(lambda: status_of(proxy, "/d") == (200, True), "has no hit")
        terms = proxy.metrics()["nncache_namenode_term"]
        light.standby(on=True)
        proxy.process.await_that(
            lambda: not proxy.metrics()["nncache_cache_gate_open"], "keeps the gate open"
        )
        assert status_of(proxy, "/d")[1] is False
        light.standby(on=False)
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_namenode_term"] > terms,
            "has not seen that it became active again",
        )
        proxy.await_gate()
        assert status_of(proxy, "/d") == (200, False)
