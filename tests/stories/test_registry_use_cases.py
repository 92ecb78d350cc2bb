"""The use cases of the registry's design, one story each, with a real ZooKeeper and the Python API for applications."""

import http.client
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

import nncache
from nncache import BlockingRegistry
from nncache.registry.paths import home_of, service_path
from nncache.registry.record import Endpoint, ServiceRecord, host_port_endpoint, uri_endpoint
from nncache.registry.tree_watch import Current, Present, Removed
from nncache.testbed import Cluster
from tests.http_server import serving
from tests.patience import HANG_S
from tests.registry.samples import place_of_its_own

WEBHDFS = "org.apache.hadoop.webhdfs"
HBASE = "org.apache.hbase"
JMX = "classpath:javax.management.jmx"
HEARTBEAT = "classpath:org.example.heartbeat"
APPLICATION = "application_1408631738011_0001"
DEMO1 = "/users/joe/org-apache-hbase/demo1"


@pytest.fixture
def registry(place: dict[str, str]) -> Iterator[BlockingRegistry]:
    """Yield the registry with /users and /services."""
    with nncache.open_registry(**place) as opened:
        opened.mknode("/services", create_parents=True)
        opened.mknode("/users/joe/org-apache-hbase", create_parents=True)
        yield opened


def hdfs(*urls: str) -> ServiceRecord:
    """Return the record of an HDFS service."""
    return ServiceRecord(description="HDFS", external=(uri_endpoint(WEBHDFS, "REST", *urls),))


def hbase(*quorum: str, path: str = "/hbase") -> ServiceRecord:
    """Return the record of an HBase, whose clients find its servers through its ZooKeeper."""
    triples = tuple({"hostname": host, "port": "2181", "path": path} for host in quorum)
    binding = Endpoint(api=HBASE, protocol="zookeeper", address_type="zookeeper", addresses=triples)
    return ServiceRecord(
        description="HBase",
        external=(binding,),
        internal=(uri_endpoint(HEARTBEAT, "REST", "http://rack1server6:40743/heartbeat"),),
        attributes={"yarn:id": APPLICATION, "yarn:persistence": "application"},
    )


def region_server(container: int, host: str) -> tuple[str, ServiceRecord]:
    """Return the path and record of a component, named after its container."""
    numbers = f"1408631738011-0001-01-{container:06}"
    yarn_id = f"container_{numbers.replace('-', '_')}"
    return f"{DEMO1}/components/ctr-{numbers}", ServiceRecord(
        description="region server",
        internal=(host_port_endpoint(JMX, "rmi", (host, 48551)),),
        attributes={"yarn:id": yarn_id, "yarn:persistence": "container"},
    )


def url_of(record: ServiceRecord, api: str) -> str:
    """Return the first URL of an external endpoint."""
    endpoint = record.external_endpoint(api)
    assert endpoint is not None
    url = endpoint.addresses[0]["uri"]
    assert url is not None
    return url


def test_a_core_service_is_found_by_its_name_and_moves(registry: BlockingRegistry) -> None:
    """A management tool registers HDFS. After a failover, the same name leads to the new address."""
    path = service_path("hdfs")
    registry.bind(path, hdfs("webhdfs://nn1.example.com:9870"))
    assert url_of(registry.resolve("/services/hdfs"), WEBHDFS) == "webhdfs://nn1.example.com:9870"
    registry.update(path, lambda was: replace(was, external=hdfs("webhdfs://nn2.example.com:9870").external))
    assert url_of(registry.resolve("/services/hdfs"), WEBHDFS) == "webhdfs://nn2.example.com:9870"
    assert registry.list("/services") == ("hdfs",)


def test_an_application_and_its_components(registry: BlockingRegistry) -> None:
    """The master finds its components' endpoints, they find the master, and clients find the application."""
    registry.bind(DEMO1, hbase("zk1", "zk2"))
    registry.mknode(f"{DEMO1}/components")
    for container, host in ((1, "rack1server28"), (2, "rack4server3")):
        registry.bind(*region_server(container, host))
    components = [
        registry.resolve(f"{DEMO1}/components/{name}") for name in registry.list(f"{DEMO1}/components")
    ]
    addresses = [endpoint.addresses[0] for each in components for endpoint in each.internal]
    assert addresses == [
        {"host": "rack1server28", "port": "48551"},
        {"host": "rack4server3", "port": "48551"},
    ]
    whole = registry.resolve("/users/joe/org-apache-hbase/demo1")
    assert [each.addresses[0]["uri"] for each in whole.internal if each.api == HEARTBEAT] == [
        "http://rack1server6:40743/heartbeat"
    ]
    binding = whole.external_endpoint(HBASE)
    assert binding is not None
    assert [address["hostname"] for address in binding.addresses] == ["zk1", "zk2"]


def test_a_balancer_follows_components_that_come_and_go(registry: BlockingRegistry) -> None:
    """The application's record exists before and after its components."""
    registry.bind(DEMO1, hbase("zk1"))
    registry.mknode(f"{DEMO1}/components")
    (first, record), (second, other) = region_server(1, "rack1server28"), region_server(2, "rack4server3")
    registry.bind(first, record)
    changes = registry.changes(f"{DEMO1}/components")
    seen = [next(changes) for _ in range(3)]
    assert isinstance(seen[1], Present)
    assert (seen[1].status.path, seen[2]) == (first, Current())
    registry.bind(second, other)
    come = next(changes)
    while not isinstance(come, Present) or come.status.path != second:  # the child count changed
        come = next(changes)
    assert come.record == other
    registry.delete(first)
    assert Removed(first) in iter(lambda: next(changes), None)
    assert registry.resolve(DEMO1) == hbase("zk1")


def test_a_service_of_another_cluster(cluster: Cluster, registry: BlockingRegistry) -> None:
    """A client may ask its registry directly, or use a copy of its records below /net, byte for byte."""
    with place_of_its_own(cluster) as far, nncache.open_registry(**far) as cluster4:
        cluster4.mknode("/services", create_parents=True)
        cluster4.bind("/services/hdfs", hdfs("webhdfs://nn.cluster4.example.com:9870"))
        here = "/net/cluster4/services/hdfs"
        registry.mknode("/net/cluster4/services", create_parents=True)
        registry.bind(here, cluster4.resolve("/services/hdfs"))
        assert url_of(registry.resolve("/net/cluster4/services/hdfs"), WEBHDFS) == (
            "webhdfs://nn.cluster4.example.com:9870"
        )
        assert registry.stat(here).size_bytes == cluster4.stat("/services/hdfs").size_bytes
        assert registry.resolve(here) == cluster4.resolve("/services/hdfs")


def test_a_user_lists_their_hbase_instances(registry: BlockingRegistry) -> None:
    """A list of the service class finds them. Other services are elsewhere."""
    for path in (DEMO1, "/users/joe/org-apache-hbase/demo2"):
        registry.bind(path, hbase("zk1"))
    registry.mknode("/users/joe/org-apache-tomcat", create_parents=True)
    registry.bind("/users/joe/org-apache-tomcat/test1", hdfs("http://balancer/"))
    assert registry.list("/users/joe/org-apache-hbase") == ("demo1", "demo2")


def test_all_hbase_services_are_found_by_their_api(registry: BlockingRegistry) -> None:
    """It finds the cluster's and each user's, and no other service."""
    ueli = f"{home_of('Üli')}/org-apache-hbase/main"
    registry.mknode(ueli.removesuffix("/main"), create_parents=True)
    for path in (service_path("hbase"), DEMO1, ueli):
        registry.bind(path, hbase("zk1"))
    registry.bind(service_path("hdfs"), hdfs("webhdfs://nn1.example.com:9870"))
    assert [entry.path for entry in registry.find(f"api={HBASE}")] == ["/services/hbase", DEMO1, ueli]
    assert [entry.path for entry in registry.find(f"api={HBASE}", "/users/joe")] == [DEMO1]


def test_an_application_binds_to_another_that_comes_later(registry: BlockingRegistry) -> None:
    """A web application waits for its HBase, and continues when that registers."""
    changes = registry.changes(DEMO1)
    assert next(changes) == Current()
    registry.bind(DEMO1, hbase("zk1"))
    found = next(changes)
    assert isinstance(found, Present)
    assert found.record == hbase("zk1")


def named(name: str, port: int = 0) -> AbstractContextManager[str]:
    """Serve HTTP with this name in each reply; yield host:port."""
    return serving(lambda _: (http.client.OK, {"Server-Name": name}, b""), port=port)


class Agent:
    """A client by the design: it resolves once, and again when a connection fails or another server answers."""

    def __init__(self, resolve: Callable[[], ServiceRecord], name: str) -> None:
        self.resolved = 0
        self._resolve = resolve
        self._name = name
        self._url: str | None = None

    def ask(self) -> None:
        """Ask until the right service has answered."""
        for _ in range(2):
            if self._url is None:
                self._url = url_of(self._resolve(), WEBHDFS)
                self.resolved += 1
            if self._is_answered(self._url):
                return
            self._url = None
        raise AssertionError("the name leads nowhere")

    def _is_answered(self, url: str) -> bool:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=HANG_S)
        try:
            connection.request("GET", "/")
            return connection.getresponse().getheader("Server-Name") == self._name
        except OSError:
            return False
        finally:
            connection.close()


def test_a_failed_connection_is_resolved_again(registry: BlockingRegistry) -> None:
    """The service has moved, or another program has taken its port: its name leads to the new address."""
    path = service_path("agents")
    agent = Agent(lambda: registry.resolve(path), "master")
    with named("master") as first:
        registry.bind(path, hdfs(f"http://{first}/"))
        agent.ask()
        agent.ask()
        assert agent.resolved == 1
    with named("master") as second:
        registry.bind(path, hdfs(f"http://{second}/"), overwrite=True)
        agent.ask()
        assert agent.resolved == 2
    with named("stranger", int(second.rpartition(":")[2])), named("master") as third:
        registry.bind(path, hdfs(f"http://{third}/"), overwrite=True)
        agent.ask()
        assert agent.resolved == 3
