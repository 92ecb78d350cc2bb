"""`nncache proxies`, with daemons that are ready, not ready, and gone."""

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner

import nncache
from nncache.commands.group import nncache as command
from nncache.commands.proxies import MAX_ANSWER_BYTES
from nncache.coordination.zookeeper import CreateOp
from nncache.errors import RegistryCommandError
from nncache.registry.daemon_record import PLACE, PROXY, PUBLISHER, RegisteredDaemon
from nncache.testbed import Cluster
from nncache.testbed.certificates import Authority
from tests.coordination.simulations import connected
from tests.http_server import Answer, answering, serving
from tests.processes import free_address
from tests.registry.samples import place_of_its_own
from tests.tls import server_context

REPLIES = {
    "/good/ready": (200, b'{"ready": true}'),
    "/bad/ready": (503, b'{"ready": false, "state": "no NameNode is active"}'),
    "/odd/ready": (503, b"[]"),
    "/broken/ready": (200, b"<html>"),
    "/deep/ready": (200, b"[" * (MAX_ANSWER_BYTES - 1)),
    "/large/ready": (200, b'{"ready": "' + b"x" * MAX_ANSWER_BYTES + b'"}'),
}


@pytest.fixture
def pages() -> Iterator[str]:
    """Yield the base URL of the pages of several daemons."""

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        status, body = REPLIES[request.path]
        return status, {}, body

    with serving(answer) as address:
        yield f"http://{address}"


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a separate registry with a root."""
    with place_of_its_own(cluster) as settings:
        with nncache.open_registry(**settings) as registry:
            registry.mknode("/services", create_parents=True)
        yield settings


def listed(place: dict[str, str], *flags: str) -> str:
    """Return the command's output."""
    own = ("--zookeeper", place["zookeeper"], "--registry-root", place["registry_root"])
    result = CliRunner().invoke(command, ["proxies", *own, *flags])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_each_is_asked_for_its_state(place: dict[str, str], pages: str) -> None:
    """A proxy is shown with its WebHDFS URL, a publisher with its admin URL."""
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


def bound(place: dict[str, str], host: str, admin: str) -> None:
    """Register a proxy."""
    urls = (f"http://{host}:1/webhdfs/v1",)
    daemon = RegisteredDaemon(kind=PROXY, host=host, port=1, webhdfs=urls, admin=admin)
    with nncache.open_registry(**place) as registry:
        registry.mknode(PLACE, create_parents=True)
        registry.bind(daemon.path, daemon.record)


@pytest.mark.parametrize("page", ["deep", "large"])
def test_an_answer_that_is_none_costs_no_other(place: dict[str, str], pages: str, page: str) -> None:
    """Any client that may write to the registry chooses the address. A nested or large answer counts as no answer."""
    bound(place, "a", f"{pages}/{page}/")
    bound(place, "b", f"{pages}/good/")
    assert [line.split("  ")[1] for line in listed(place).splitlines()] == ["no answer", "ready"]


def test_a_certificate_of_another_authority_is_no_silence(place: dict[str, str], tmp_path: Path) -> None:
    """That daemon is well. `nncache fleet` can be given the authority."""
    with answering(200, b"{}", tls=server_context(Authority(tmp_path))) as (address, asked):
        bound(place, "a", f"https://{address}/")
        assert listed(place).split("  ")[1].startswith("its certificate is not trusted here")
    assert asked == []


def test_a_fault_of_the_network_is_no_answer(
    place: dict[str, str], pages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An OSError that aiohttp does not wrap counts as well."""

    def get(*_: object, **__: object) -> None:
        raise OSError("no buffer space")

    bound(place, "a", f"{pages}/good/")
    monkeypatch.setattr(aiohttp.ClientSession, "get", get)
    assert listed(place) == "proxy-a-1  no answer  http://a:1/webhdfs/v1\n"


def test_what_cannot_be_read_is_named(place: dict[str, str], pages: str) -> None:
    """The warning goes to standard error: the broken entry may be a proxy's."""
    bound(place, "a", f"{pages}/good/")
    path = place["registry_root"] + PLACE + "/proxy-b-1"

    async def write() -> None:
        async with connected(place["zookeeper"]) as session:
            await session.commit([CreateOp(path, b'{"type":"JSONServiceRecord"')])

    asyncio.run(write())
    own = ("--zookeeper", place["zookeeper"], "--registry-root", place["registry_root"])
    result = CliRunner().invoke(command, ["proxies", *own])
    assert result.stdout == "proxy-a-1  ready  http://a:1/webhdfs/v1\n"
    assert result.stderr.startswith(f"{PLACE}/proxy-b-1: the record is no JSON")
    assert result.exit_code == 0


def test_a_root_without_a_registry_is_named(cluster: Cluster) -> None:
    """An empty list would look as if no proxy were registered."""
    place = ("--zookeeper", cluster.zookeeper.address, "--registry-root", "/nope")
    result = CliRunner().invoke(command, ["proxies", *place])
    assert isinstance(result.exception, RegistryCommandError)
    assert "there is no registry at /nope in ZooKeeper" in str(result.exception)
