"""The SDK's sampler decides which calls have spans, and no call waits for a collector."""

import logging
import sys
import threading
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from nncache.errors import StartError
from nncache.hadoop.election_view import NameNode
from nncache.proxy.messages import RequestHead
from nncache.tracing import spans
from nncache.tracing.settings import TracingSettings, call_spans_of
from nncache.tracing.spans import CallSpans
from tests.patience import HANG_S

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
NAMENODE = NameNode("nn1.example.com:9870", "nn1.example.com:8020")


def head_of(flags: str | None) -> RequestHead:
    """Return a head whose `traceparent` has these flags; None: without a `traceparent`."""
    headers = () if flags is None else ((b"traceparent", f"00-{TRACE}-{PARENT}-{flags}".encode()),)
    return RequestHead("GET", "/webhdfs/v1/f?op=LISTSTATUS", headers)


def exported(*flags: str | None, status: int = 200) -> tuple[ReadableSpan, ...]:
    """Return the spans of calls with these flags in `traceparent`."""
    exporter = InMemorySpanExporter()
    made = CallSpans(exporter)
    for each in flags:
        if (ended := made.sent(head_of(each), NAMENODE)) is not None:
            ended(status, None)
    made.close()
    return exporter.get_finished_spans()


def test_the_span_of_a_sampled_request_is_its_child() -> None:
    """It has kind client, a low-cardinality name, and all attributes of the call."""
    (span,) = exported("01")
    assert span.context is not None
    assert span.parent is not None
    assert (span.context.trace_id, span.parent.span_id) == (int(TRACE, 16), int(PARENT, 16))
    assert (span.name, span.kind, span.status.status_code) == ("GET", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes or {}) == {
        "http.request.method": "GET",
        "url.path": "/webhdfs/v1/f",
        "server.address": "nn1.example.com",
        "server.port": 9870,
        "http.response.status_code": 200,
    }
    assert span.resource.attributes["service.name"] == "nncache"


@pytest.mark.parametrize(
    ("sampler", "flags", "count"),
    [
        ("", "01", 1),
        ("", "00", 0),
        ("", None, 1),
        ("parentbased_always_off", "01", 1),
        ("parentbased_always_off", None, 0),
        ("always_on", "00", 1),
        ("always_off", "01", 0),
    ],
)
def test_the_sampler_of_the_environment_decides(
    sampler: str, flags: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default the client's sampling flag decides, and a request without one is sampled."""
    if sampler:
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    made = exported(flags)
    assert len(made) == count
    assert all((span.parent is None) is (flags is None) for span in made)


def test_a_call_that_failed_is_an_error() -> None:
    """This includes calls with an error status (semantic conventions for HTTP clients)."""
    (span,) = exported("01", status=404)
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "404"


def test_the_operator_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's own variable sets the name."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "proxy-eu")
    (span,) = exported("01")
    assert span.resource.attributes["service.name"] == "proxy-eu"


class Stuck(SpanExporter):
    """A collector that blocks until released."""

    def __init__(self) -> None:
        self.is_stuck = threading.Event()
        self.goes_on = threading.Event()
        self.taken = 0

    def export(self, batch: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: D102 - the SDK's
        self.is_stuck.set()
        assert self.goes_on.wait(HANG_S)
        self.taken += len(batch)
        return SpanExportResult.SUCCESS


def test_a_dead_collector_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No call waits, nor does the shutdown; the queue of spans is bounded."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    monkeypatch.setattr(spans, "CLOSE_S", 0.01)
    exporter = Stuck()
    made = CallSpans(exporter)
    try:
        for count in range(1_000):
            ended = made.sent(head_of("01"), NAMENODE)
            assert ended is not None
            ended(200, None)
            assert count != 10 or exporter.is_stuck.wait(HANG_S)
        with caplog.at_level(logging.WARNING):
            made.close()
        assert any("the last spans are lost" in message for message in caplog.messages)
        assert exporter.taken == 0
    finally:
        exporter.goes_on.set()
    for thread in threading.enumerate():
        if thread.name == "end of tracing":
            thread.join(HANG_S)
    assert 20 <= exporter.taken <= 20 + 2 * 10


def test_an_internal_error_costs_a_span_and_no_call(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """FailToNameNode: this holds at the beginning and at the end of a call."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    exporter = InMemorySpanExporter()
    made = CallSpans(exporter)
    ended = made.sent(head_of("01"), NAMENODE)
    assert ended is not None
    monkeypatch.setattr(spans, "attributes_of", broken)
    monkeypatch.setattr(spans, "outcome_of", broken)
    ended(200, None)
    assert made.sent(head_of("01"), NAMENODE) is None
    made.close()
    assert exporter.get_finished_spans() == ()
    assert [message.partition(": ")[0] for message in caplog.messages] == ["internal error"]


def test_without_the_extra_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """If spans are off, the extra is not needed."""
    monkeypatch.delitem(sys.modules, "nncache.tracing.spans")
    monkeypatch.setitem(sys.modules, "opentelemetry.context", None)
    assert call_spans_of(TracingSettings()) is None
    with pytest.raises(StartError, match=r"opentelemetry-exporter-otlp-proto-http: pip install '\.\[otel\]'"):
        call_spans_of(TracingSettings(tracing=True))


def test_a_variable_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the SDK's own words."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    with pytest.raises(StartError, match=r"OTEL_.* max_queue_size must be a positive integer"):
        call_spans_of(TracingSettings(tracing=True))
