"""The parts of a proxy, built and run together: they start, serve and end in order despite faults around them."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from nncache.clock import boottime
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.daemons.start_lines import say_where
from nncache.errors import StartError
from nncache.metrics.table import METRICS
from nncache.proxy.settings import ProxySettings
from nncache.settings.commands import PROXY, SettingsOfProxy, load_settings
from nncache.settings.federation import Federation
from tests.fake_namenode import FakeNameNode
from tests.processes import free_address
from tests.proxy.wire import RawNameNode, is_silent, until

pytestmark = pytest.mark.usefixtures("collector")


def settings(namenode_http: str, **flags: str) -> SettingsOfProxy:
    """Return settings for a NameNode whose RPC port refuses connections."""
    given: dict[str, object] = {
        "listen": free_address(),
        "admin": free_address(),
        "namenode_http": (namenode_http,),
        "namenode_rpc": (free_address(),),
        "glob": ("/w/*",),
        "failover_wait_s": "0.2",
        "drain_timeout_s": "5",
    }
    return load_settings(PROXY, None, given | flags)


@asynccontextmanager
async def running(chosen: SettingsOfProxy) -> AsyncIterator[asyncio.Event]:
    """Run a proxy; yield the event that stops it, and wait for its end."""
    stop = asyncio.Event()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(ProxySystem(Federation.of_one(chosen), boottime).serve(stop))
        try:
            await answers(chosen.proxy.admin)
            yield stop
        finally:
            stop.set()


async def answers(address: str) -> None:
    """Wait until a server listens at the address."""
    host, _, port = address.partition(":")
    while True:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            await asyncio.sleep(0.01)  # polled until the test's timeout
        else:
            writer.close()
            await writer.wait_closed()
            return


async def get(url: str) -> tuple[int, str]:
    """Return the status and body."""
    async with aiohttp.ClientSession() as session, session.get(url) as reply:
        return reply.status, await reply.text()


async def ready(chosen: SettingsOfProxy, status: int) -> str:
    """Wait until /ready has this status; return its body."""
    while True:
        seen, text = await get(f"http://{chosen.proxy.admin}/ready")
        if seen == status:
            return text
        await asyncio.sleep(0.02)  # polled until the test's timeout


async def test_without_edits_every_call_is_forwarded() -> None:
    """FailToNameNode: without RPC nothing is cached, and no call fails."""
    async with FakeNameNode() as namenode:
        chosen = settings(namenode.http)
        async with running(chosen):
            assert '"gate": "closed: the NameNode\'s changes are not being read' in await ready(chosen, 200)
            url = f"http://{chosen.proxy.listen}/webhdfs/v1/w/x?op=GETFILESTATUS&user.name=joe"
            for _ in range(2):
                status, _ = await get(url)
                assert status == 200
    assert namenode.calls == ["/webhdfs/v1/w/x?op=GETFILESTATUS&user.name=joe"] * 2


async def test_without_a_namenode_it_lives_and_is_not_ready() -> None:
    """/health concerns only the process; /ready and calls report that no NameNode answers."""
    chosen = settings(free_address())
    async with running(chosen):
        assert (await get(f"http://{chosen.proxy.admin}/health"))[0] == 200
        await ready(chosen, 503)
        assert (await get(f"http://{chosen.proxy.listen}/webhdfs/v1/w/x?op=GETFILESTATUS"))[0] == 503


async def test_a_glob_that_matches_less_than_it_seems_to_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """This happens at the start, and at each reload with a new glob."""
    chosen = settings(free_address(), glob=("/w/**/x", "/w/*"))  # type: ignore[arg-type] # a list's flag
    async with running(chosen):
        pass
    reported = [message for message in caplog.messages if "stays within one level" in message]
    assert [message.partition(": ")[0] for message in reported] == ["--glob /w/**/x"]
    caplog.clear()
    system = ProxySystem(Federation.of_one(chosen), boottime)
    system.take(chosen, frozenset({"glob"}))
    assert len([message for message in caplog.messages if "stays within one level" in message]) == 1


async def test_what_the_log_says_of_a_silent_namenode_is_what_happens(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A frozen NameNode accepts connections and calls but never replies. A read or a write costs one timeout."""
    caplog.set_level(logging.WARNING)
    async with RawNameNode(is_silent) as frozen:
        address = frozen.namenode.http
        chosen = settings(address, upstream_timeout_s="0.6", namenode_probe_timeout_s="0.2")
        async with running(chosen), aiohttp.ClientSession() as session:
            for method, op, calls in (
                ("GET", "GETFILESTATUS", 1),
                ("GET", "LISTSTATUS", 1),
                ("PUT", "MKDIRS", 1),
            ):
                url = f"http://{chosen.proxy.listen}/webhdfs/v1/w/x?op={op}&user.name=joe"
                began = boottime()
                async with session.request(method, url) as reply:
                    assert reply.status == 504
                assert boottime() - began >= 0.6
                assert sum(op.encode() in head for head in frozen.heads) == calls
            advice = "calls get 503 where none takes them for 0.2 s, 504 where one takes them and is silent for 0.6 s"
            await until(lambda: advice in caplog.text)
    (line,) = (record for record in caplog.records if advice in record.getMessage())
    assert line.levelname == "WARNING"
    reason = f"{address} cannot be asked (JMX of {address}: no answer in 0.2 s)"
    assert f"no active NameNode is known: {reason}; each NameNode is tried" in line.getMessage()


async def test_the_admin_port_shows_metrics_and_explains() -> None:
    """Prometheus can parse every row of the table. /explain shows what is known of a path."""
    chosen = settings(free_address())
    async with running(chosen):
        _, page = await get(f"http://{chosen.proxy.admin}/metrics")
        _, explained = await get(f"http://{chosen.proxy.admin}/explain?path=/w/x")
    shown = {family.name for family in text_string_to_metric_families(page)}
    assert {metric.name.removesuffix("_total") for metric in METRICS if "proxy" in metric.daemons} <= shown
    assert '"answer": "stream-closed"' in explained


async def test_the_status_shows_what_was_asked_and_a_purge_is_done() -> None:
    """/status shows the caller, the reason of the forward, and the time at which the gate closed."""
    async with FakeNameNode() as namenode:
        chosen = settings(namenode.http)
        async with running(chosen):
            await ready(chosen, 200)
            await get(f"http://{chosen.proxy.listen}/webhdfs/v1/w/x?op=GETFILESTATUS&user.name=joe")
            status = json.loads((await get(f"http://{chosen.proxy.admin}/status"))[1])
            while not status["gate"]["history"]:  # sampled every LOOK_EVERY_S
                status = json.loads((await get(f"http://{chosen.proxy.admin}/status"))[1])
            url = f"http://{chosen.proxy.admin}/purge?filter=/w/*"
            async with aiohttp.ClientSession() as session, session.post(url) as reply:
                purged = await reply.json()
    assert [each["name"] for each in status["hottest"]["paths"]] == ["/w/x"]
    assert [each["name"] for each in status["hottest"]["callers"]] == ["joe"]
    assert [(each["reason"], each["requests"]) for each in status["misses"]] == [("stream-closed", 1)]
    assert status["saved"]["since_start"]["requests"] == 1
    assert [each["is_open"] for each in status["gate"]["history"]] == [False]
    assert [(each["http"], each["state"]) for each in status["namenodes"]] == [(namenode.http, "active")]
    assert status["settings"]["glob"] == ["/w/*"]
    assert purged == {"purged": [{"path": "/w", "is_subtree": True, "was_held": False}]}


async def test_each_request_is_logged_with_its_id(tmp_path: Path) -> None:
    """The id is the client's X-Request-Id, if there is one. No line contains a token."""
    log = tmp_path / "access"
    async with FakeNameNode() as namenode:
        chosen = settings(namenode.http, access_log=str(log), access_log_format="json")
        async with running(chosen), aiohttp.ClientSession() as session:
            await ready(chosen, 200)
            url = f"http://{chosen.proxy.listen}/webhdfs/v1/w/x"
            for query in ("?op=LISTSTATUS&user.name=joe", "?op=LISTSTATUS&delegation=secret", "#"):
                async with session.get(url + query, headers={"X-Request-Id": "7b"}) as reply:
                    await reply.read()
            async with session.get(f"http://{chosen.proxy.listen}/", headers={"Host": "a b"}) as reply:
                assert reply.status == 400
    read = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["caller"], line["operation"], line["result"], line["status"]) for line in read] == [
        ("joe", "LISTSTATUS", "forwarded", 200),
        (None, "LISTSTATUS", "forwarded", 200),
        (None, "other", "forwarded", 200),
        (None, "other", "refused", 400),
    ]
    assert [line["request_id"] for line in read[:3]] == ["7b"] * 3
    assert "secret" not in log.read_text()


@pytest.mark.parametrize("tracing", ["false", "true"])
async def test_a_trace_is_logged_and_goes_to_the_namenode_as_it_came(
    tracing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This holds for a valid and for a malformed traceparent, with and without the proxy's own spans."""
    monkeypatch.setenv("NNCACHE_TRACING", tracing)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{free_address()}")
    log = tmp_path / "access"
    valid, broken = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-XYZ-1"
    async with FakeNameNode() as namenode:
        chosen = settings(namenode.http, access_log=str(log), access_log_format="json")
        async with running(chosen), aiohttp.ClientSession() as session:
            await ready(chosen, 200)
            for method, op in (("GET", "LISTSTATUS"), ("PUT", "MKDIRS"), ("GET", "GETFILESTATUS")):
                for traceparent in (valid, broken):
                    url = f"http://{chosen.proxy.listen}/webhdfs/v1/w/x?op={op}&user.name=joe"
                    async with session.request(method, url, headers={"TraceParent": traceparent}) as reply:
                        await reply.read()
    asked = [sent for call, sent in zip(namenode.calls, namenode.traceparents, strict=True) if "op=" in call]
    assert asked == [valid, broken] * 3
    read = [json.loads(line) for line in log.read_text().splitlines()]
    trace = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    assert [(line["trace_id"], line["parent_id"]) for line in read] == [trace, (None, None)] * 3


async def test_requests_are_counted_by_user_where_that_is_asked_for() -> None:
    """The setting is off by default, because /metrics names users to every client."""
    async with FakeNameNode() as namenode:
        for chosen, count in (
            (settings(namenode.http), None),
            (settings(namenode.http, tenants_by="user"), 'nncache_tenant_calls_total{tenant="joe"} 2.0'),
        ):
            async with running(chosen):
                await ready(chosen, 200)
                for _ in range(2):
                    await get(f"http://{chosen.proxy.listen}/webhdfs/v1/w/x?op=LISTSTATUS&user.name=joe")
                _, page = await get(f"http://{chosen.proxy.admin}/metrics")
                assert ("joe" in page) is (count is not None)
                assert count is None or f"\n{count}\n" in page


async def test_a_request_under_way_is_finished_before_the_end() -> None:
    """SIGTERM closes the listening socket immediately and interrupts no call."""
    async with FakeNameNode() as namenode:
        chosen = settings(namenode.http)
        async with running(chosen) as stop, asyncio.TaskGroup() as group:
            await ready(chosen, 200)
            slow = group.create_task(get(f"http://{chosen.proxy.listen}/webhdfs/v1/slow?op=LISTSTATUS"))
            await namenode.asked_slowly.wait()
            stop.set()
            try:
                await refused(chosen.proxy.listen)
            finally:
                namenode.may_answer.set()
        assert slow.result()[0] == 200


async def refused(address: str) -> None:
    """Wait until connections are refused."""
    host, _, port = address.partition(":")
    while True:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except ConnectionError:  # refused, or reset from the closed backlog
            return
        writer.close()
        await asyncio.sleep(0.01)  # polled until the test's timeout


@pytest.mark.parametrize("key", ["listen", "admin"])
async def test_an_address_in_use_ends_the_start(key: str) -> None:
    """The error is one line that names the setting. Everything opened before is closed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        chosen = settings(free_address(), **{key: address})
        with pytest.raises(StartError, match=f"^{key}: {address}: "):
            await ProxySystem(Federation.of_one(chosen), boottime).serve(asyncio.Event())


@pytest.mark.parametrize(
    ("proxy", "addresses"),
    [
        (ProxySettings(), "serves WebHDFS on 127.0.0.1:9871 in front"),
        (
            ProxySettings(tls_listen="0.0.0.0:9875", tls_certificate="/c.pem", tls_key="/k.pem"),
            "serves WebHDFS on 127.0.0.1:9871 and with TLS on 0.0.0.0:9875 in front",
        ),
    ],
    ids=["plain alone", "TLS beside it"],
)
def test_every_port_for_clients_is_named(
    proxy: ProxySettings, addresses: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The TLS port is included."""
    caplog.set_level(logging.INFO)
    say_where(Federation.of_one(SettingsOfProxy(proxy=proxy)), 9871, "http://127.0.0.1:9872/")
    assert addresses in caplog.messages[0]
