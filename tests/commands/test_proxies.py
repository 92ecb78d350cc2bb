"""`nncache proxies`, with daemons that are ready, that are not, and that are gone."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from click.testing import CliRunner

import nncache
from nncache.commands.group import nncache as command
from nncache.errors import RegistryCommandError
from nncache.registry.daemon_record import PLACE, PROXY, PUBLISHER, RegisteredDaemon
from nncache.testbed import Cluster
from tests.http_server import Answer, serving
from tests.processes import free_address
from tests.registry.samples import place_of_its_own

REPLIES = {
    "/good/ready": (200, b'{"ready": true}'),
    "/bad/ready": (503, b'{"ready": false, "state": "no NameNode is active"}'),
    "/odd/ready": (503, b"[]"),
    "/broken/ready": (200, b"<html>"),
}


@pytest.fixture
def pages() -> Iterator[str]:
    """Yield where the pages of several daemons are."""

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        status, body = REPLIES[request.path]
        return status, {}, body

    with serving(answer) as address:
        yield f"http://{address}"


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry of its own, with a root."""
    with place_of_its_own(cluster) as settings:
        with nncache.open_registry(**settings) as registry:
            registry.mknode("/services", create_parents=True)
        yield settings


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
