"""The parts of a publisher, built and run together: they start and end in order, with nothing to publish."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from nncache.clock import boottime
from nncache.daemons.publisher_wiring import PublisherSystem, host_name, run_publisher
from nncache.errors import ConfigurationError, StartError
from nncache.metrics.table import METRICS
from nncache.settings.commands import PUBLISHER, SettingsOfPublisher, load_settings
from tests.fake_namenode import FakeNameNode
from tests.processes import free_address

pytestmark = pytest.mark.usefixtures("collector")


def settings(**flags: object) -> SettingsOfPublisher:
    """Return settings with addresses where neither NameNode nor ZooKeeper listens."""
    given: dict[str, object] = {
        "admin": free_address(),
        "namenode_http": (free_address(),),
        "namenode_rpc": (free_address(),),
        "zookeeper": (free_address(),),
        "user": "hdfs",
    }
    return load_settings(PUBLISHER, None, given | flags)


@asynccontextmanager
async def running(chosen: SettingsOfPublisher) -> AsyncIterator[None]:
    """Run a publisher; at the end, stop it and wait for its orderly end."""
    stop = asyncio.Event()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(PublisherSystem(chosen, boottime).serve(stop))
        try:
            yield
        finally:
            stop.set()


async def page(chosen: SettingsOfPublisher, path: str) -> tuple[int, str]:
    """Wait for a listener; return the status and body of a page."""
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"http://{chosen.publisher.admin}{path}") as reply:
                    return reply.status, await reply.text()
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.01)  # polled until the test's timeout


async def reported(chosen: SettingsOfPublisher, key: str, value: str) -> None:
    """Wait until a key of /ready begins with this value; assert that nothing is published until then."""
    while True:
        status, text = await page(chosen, "/ready")
        readiness = json.loads(text)
        assert (status, readiness["ready"], readiness["published_txid"]) == (503, False, -1)
        if (readiness[key] or "").startswith(value):
            return
        await asyncio.sleep(0.02)  # polled until the test's timeout


async def test_without_zookeeper_it_lives_and_says_what_it_waits_for() -> None:
    """/health concerns only the process: a restart would not bring ZooKeeper back."""
    chosen = settings()
    async with running(chosen):
        assert (await page(chosen, "/health"))[0] == 200
        await reported(chosen, "state", "there is no connection to ZooKeeper")
        assert json.loads((await page(chosen, "/filters"))[1]) == {"published": [], "broken": {}}
        assert "there is no connection to ZooKeeper" in (await page(chosen, "/"))[1]


async def test_the_metrics_are_those_of_a_publisher() -> None:
    """/metrics has exactly a publisher's rows, in a form that Prometheus parses."""
    chosen = settings()
    async with running(chosen):
        _, text = await page(chosen, "/metrics")
    shown = {family.name for family in text_string_to_metric_families(text)}
    for metric in METRICS:
        assert (metric.name.removesuffix("_total") in shown) == ("publisher" in metric.daemons), metric.name


async def test_the_active_namenode_is_shown() -> None:
    """Probing the NameNodes does not wait for ZooKeeper."""
    async with FakeNameNode() as namenode:
        chosen = settings(namenode_http=(namenode.http,))
        async with running(chosen):
            await reported(chosen, "active", namenode.http)


async def test_an_address_in_use_ends_the_start() -> None:
    """The error is one line that names the setting. Everything opened before is closed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartError, match=f"^admin: {address}: "):
            await PublisherSystem(settings(admin=address), boottime).serve(asyncio.Event())


def test_an_output_that_is_none_ends_the_start() -> None:
    """The error comes before any socket is opened."""
    with pytest.raises(ConfigurationError, match=r"^output_stream: json:loads: must be zookeeper or package"):
        run_publisher(settings(output_stream="json:loads"), settings)


async def test_the_status_is_there_from_the_start() -> None:
    """It has the settings in force and the reason for not publishing. A page shows it."""
    chosen = settings(max_write_ops_per_s=7.0)
    async with running(chosen):
        await reported(chosen, "state", "there is no connection to ZooKeeper")
        status: dict[str, Any] = {"publishing": {"history": []}}
        while not status["publishing"]["history"]:  # the first sample comes within a quarter of a second
            status = json.loads((await page(chosen, "/status"))[1])
        assert (status["daemon"], status["publishing"]["is_publishing"]) == ("publisher", False)
        assert status["publishing"]["state"].startswith("there is no connection to ZooKeeper")
        assert status["publishing"]["history"][0]["is_publishing"] is False
        assert (status["writes"]["limit_per_s"], status["settings"]["max_write_ops_per_s"]) == (7.0, 7.0)
        assert status["zookeeper"]["is_connected"] is False
        assert "<h1>nncache publisher</h1>" in (await page(chosen, "/"))[1]


def test_two_machines_of_one_name_differ(tmp_path: Path) -> None:
    """The kernel draws a random id at each boot."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("3f0c9a52-1b6e-4a0e-9a53-77f1b0a9c111\n")
    other.write_text("a1b2c3d4-1b6e-4a0e-9a53-77f1b0a9c111\n")
    assert host_name(one) == f"{socket.gethostname()}-3f0c9a52"
    assert host_name(one) != host_name(other)


def test_without_a_boot_id_the_host_name_must_do(tmp_path: Path) -> None:
    """This is the case in a container without /proc."""
    assert host_name(tmp_path / "absent") == socket.gethostname()
