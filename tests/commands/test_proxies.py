"""`nncache proxies`, with daemons that are ready, that are not, and that are gone."""

import asyncio
import json
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import CliRunner

import nncache
from nncache.commands.group import nncache as command
from nncache.errors import RegistryCommandError
from nncache.registry.daemon_record import PLACE, PROXY, PUBLISHER, RegisteredDaemon
from nncache.testbed import Cluster
from tests.coordination.simulations import connected, remove
from tests.processes import free_address

REPLIES = {
    "/good/ready": (200, b'{"ready": true}'),
    "/bad/ready": (503, b'{"ready": false, "state": "no NameNode is active"}'),
    "/odd/ready": (503, b"[]"),
    "/broken/ready": (200, b"<html>"),
}


class Pages(BaseHTTPRequestHandler):
    """Pages of several daemons."""

    def do_GET(self) -> None:
        """Answer."""
        status, body = REPLIES[self.path]
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def pages() -> Iterator[str]:
    """Yield where they are."""
    server = HTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry of its own, which is removed."""
    assert cluster.zookeeper is not None
    address, root = cluster.zookeeper.address, f"/registry-{uuid.uuid4().hex[:12]}"
    with nncache.open_registry(zookeeper=address, registry_root=root) as registry:
        registry.mknode("/services", create_parents=True)
    yield {"zookeeper": address, "registry_root": root}

    async def clean() -> None:
        async with connected(address) as session:
            await remove(session, root)

    asyncio.run(clean())


def listed(place: dict[str, str], *flags: str) -> str:
    """Return what it prints."""
    own = ("--zookeeper", place["zookeeper"], "--registry-root", place["registry_root"])
    result = CliRunner().invoke(command, ["proxies", *own, *flags])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_each_is_asked_for_its_state(place: dict[str, str], pages: str) -> None:
    """A proxy is shown with its URL, a publisher with its pages."""
    assert listed(place) == ""
    assert json.loads(listed(place, "--json")) == []
    found = {
        "a": f"{pages}/good/",
        "b": f"{pages}/bad/",
        "c": f"http://{free_address()}/",
        "d": f"{pages}/odd/",
        "e": f"{pages}/broken/",
    }
    with nncache.open_registry(**place) as registry:
        registry.mknode(PLACE, create_parents=True)
        for host, admin in found.items():
            daemon = RegisteredDaemon(
                kind=PROXY, host=host, port=1, webhdfs=(f"http://{host}:1/webhdfs/v1",), admin=admin
            )
            registry.bind(daemon.path, daemon.record)
        publisher = RegisteredDaemon(kind=PUBLISHER, host="p", port=2, admin=f"{pages}/good/")
        registry.bind(publisher.path, publisher.record)
    assert listed(place).splitlines() == [
        "proxy-a-1      ready                  http://a:1/webhdfs/v1",
        "proxy-b-1      no NameNode is active  http://b:1/webhdfs/v1",
        "proxy-c-1      no answer              http://c:1/webhdfs/v1",
        "proxy-d-1      not ready              http://d:1/webhdfs/v1",
        "proxy-e-1      no answer              http://e:1/webhdfs/v1",
        f"publisher-p-2  ready                  {pages}/good/",
    ]
    first = json.loads(listed(place, "--json"))[0]
    assert first == {
        "name": "proxy-a-1",
        "kind": "proxy",
        "state": "ready",
        "webhdfs": ["http://a:1/webhdfs/v1"],
        "admin": [f"{pages}/good/"],
    }


def test_a_root_without_a_registry_is_named(cluster: Cluster) -> None:
    """Nothing that is printed would say that all is well."""
    assert cluster.zookeeper is not None
    place = ("--zookeeper", cluster.zookeeper.address, "--registry-root", "/nope")
    result = CliRunner().invoke(command, ["proxies", *place])
    assert isinstance(result.exception, RegistryCommandError)
    assert "there is no registry at /nope in ZooKeeper" in str(result.exception)
