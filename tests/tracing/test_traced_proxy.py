"""A proxy, a NameNode and a collector in processes or threads: a span for each call, none for a hit."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.daemon import ProxyDaemon
from nncache.tracing.spans import CLOSE_S
from tests.http_server import Answer, serving
from tests.patience import HANG_S, SLACK_S, until
from tests.processes import free_address
from tests.real.light_server import LightServer
from tests.real.proxied_cluster import differences

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GONE = "/webhdfs/v1/gone?op=GETFILESTATUS&user.name=alice"


@dataclass
class Collector:
    """Receives the spans of an OTLP exporter over HTTP."""

    spans: list[Span] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> Answer:
        """Receive a batch."""
        assert request.path == "/v1/traces"
        body = request.rfile.read(int(request.headers["Content-Length"]))
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for of_scope in of_resource.scope_spans:
                self.spans += of_scope.spans
        return 200, {"Content-Type": "application/x-protobuf"}, b""

    def children_of(self, parent: int) -> list[Span]:
        """Return the spans whose parent id is this number."""
        return [each for each in self.spans if each.parent_span_id == parent.to_bytes(8, "big")]


@pytest.fixture(scope="module")
def light() -> Iterator[LightServer]:
    """A NameNode in a process of its own."""
    with LightServer() as server:
        yield server


@contextmanager
def traced_proxy(light: LightServer) -> Iterator[ProxyDaemon]:
    """Run a proxy with spans in front of it; yield it once its gate is open."""
    (namenode,) = light.namenodes
    with ProxyDaemon(
        *("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc, "--user", light.superuser),
        *("--channel", "direct", "--glob", "/*", "--tracing"),
    ) as proxy:
        proxy.await_gate()
        yield proxy


def ask(asker: Asker, target: str, number: int, flags: str = "01") -> RawReply:
    """Send a GET whose `traceparent` has this number as its parent id."""
    return asker.ask("GET", target, headers={"traceparent": f"00-{TRACE}-{number:016x}-{flags}"})


def test_each_call_to_a_namenode_is_a_span_and_no_hit(
    light: LightServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Misses and forwarded calls, with and without a task, are children of the request if its client samples it."""
    collector = Collector()
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    with serving(collector.answer) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{address}")
        with traced_proxy(light) as proxy, Asker(proxy.address) as asker:
            hits, number = set[int](), 1
            while len(hits) < 3:  # the first requests are misses, and not every reply can be cached
                reply = ask(asker, GONE, number)
                assert reply.status == 404
                hits |= {number} if reply.is_hit else set()
                number += 1
            misses = set(range(1, number)) - hits
            unsampled, listed, made = number, number + 1, number + 2
            ask(asker, "/webhdfs/v1/?op=LISTSTATUS&user.name=alice", unsampled, "00")
            ask(asker, "/webhdfs/v1/?op=LISTSTATUS&user.name=alice", listed)
            asker.ask(
                "PUT",
                f"/webhdfs/v1/made?op=MKDIRS&user.name={light.superuser}",
                headers={"traceparent": f"00-{TRACE}-{made:016x}-01"},
            )
            until(lambda: collector.children_of(made))
    assert misses
    counted = {each: len(collector.children_of(each)) for each in range(1, made + 1)}
    assert counted == {each: int(each in {*misses, listed, made}) for each in counted}
    first, last = collector.children_of(min(misses))[0], collector.children_of(made)[0]
    assert first.trace_id == bytes.fromhex(TRACE)
    host, _, port = light.namenodes[0].http.partition(":")
    assert (first.kind, first.status.code) == (Span.SPAN_KIND_CLIENT, Status.STATUS_CODE_ERROR)
    assert {each.key: each.value.string_value or each.value.int_value for each in first.attributes} == {
        "http.request.method": "GET",
        "url.path": "/webhdfs/v1/gone",
        "server.address": host,
        "server.port": int(port),
        "http.response.status_code": 404,
        "error.type": "404",
    }
    assert (last.name, last.status.code) == ("PUT", Status.STATUS_CODE_UNSET)
    assert first.start_time_unix_nano < first.end_time_unix_nano <= last.start_time_unix_nano


@pytest.mark.parametrize("is_silent", [False, True], ids=["refusing", "silent"])
def test_without_a_collector_each_answer_is_the_namenodes(
    light: LightServer, monkeypatch: pytest.MonkeyPatch, *, is_silent: bool
) -> None:
    """The calls exceed the span queue; the proxy still stops in time."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", f"{HANG_S:g}")  # longer than an answer is awaited
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "127.0.0.1:{1}".format(*silent.getsockname()) if is_silent else free_address()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{address}")
        with (
            traced_proxy(light) as proxy,
            Asker(proxy.address) as asker,
            Asker(light.namenodes[0].http) as namenode,
        ):
            for number in range(1, 21):
                target = f"/webhdfs/v1/{number}?op=LISTSTATUS&user.name=alice"
                assert differences(ask(asker, target, number), namenode.ask("GET", target)) == []
            proxy.process.terminate()
            assert proxy.process.wait(CLOSE_S + SLACK_S)
            log = proxy.process.log.read_text(encoding="utf-8")
    assert re.search(r"retrying in|the last spans are lost", log), log
