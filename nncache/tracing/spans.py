"""Spans of the calls to NameNodes for clients' requests, created and exported by OpenTelemetry's SDK.

The SDK's environment variables choose the calls that have spans (OTEL_TRACES_SAMPLER; by default those for sampled
requests and for requests without a `traceparent`), the destination, and the size of the queue (OTEL_BSP_*).
"""

import logging
import threading
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Final, Self

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from nncache.clock import boottime
from nncache.hadoop.election_view import NameNode
from nncache.net.log_throttle import ThrottledLog
from nncache.net.trace_context import TraceParent
from nncache.proxy.messages import CallEnded, RequestHead
from nncache.tracing.semantics import ERROR_TYPE, attributes_of, name_of, outcome_of, parent_of

_log = logging.getLogger(__name__)

CLOSE_S: Final = 2.0
"""Seconds to export the queued spans at shutdown."""


class CallSpans:
    """Creates spans. They wait in a bounded queue for the SDK's thread, the only one that calls the collector."""

    def __init__(self, exporter: SpanExporter, clock: Callable[[], float] = boottime) -> None:
        """Export spans with `exporter`.

        Raises:
            ValueError: an environment variable of the SDK is invalid.
        """
        named = OTELResourceDetector().detect().attributes
        resource = Resource.create({} if SERVICE_NAME in named else {SERVICE_NAME: "nncache"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("nncache", version("nncache"))
        self._throttled = ThrottledLog(_log, clock)

    @classmethod
    def exported(cls) -> Self:
        """Return a factory that exports spans with OTLP over HTTP. Raises ValueError as the constructor."""
        return cls(OTLPSpanExporter())

    def sent(self, head: RequestHead, namenode: NameNode) -> CallEnded | None:
        """Start the span of a call; return None if the call has no span. A `nncache.proxy.messages.CallSent`."""
        try:
            span = self._tracer.start_span(
                name_of(head),
                _context_of(parent_of(head)),
                SpanKind.CLIENT,
                attributes_of(head, namenode),
            )
        except Exception as error:  # noqa: BLE001 - FailToNameNode: the call goes on without a span
            self._throttled.warn(f"internal error: a call has no span: {error!r}")
            return None
        return partial(self._ended, span) if span.is_recording() else None

    def _ended(self, span: Span, status: int, error: BaseException | None) -> None:
        try:
            outcome = outcome_of(status, error)
            span.set_attributes(outcome)
            if ERROR_TYPE in outcome:
                span.set_status(StatusCode.ERROR)
            span.end()
        except Exception as fault:  # noqa: BLE001 - as above
            self._throttled.warn(f"internal error: a span is lost: {fault!r}")

    def close(self) -> None:
        """Export the queued spans for at most CLOSE_S, and shut down."""
        ending = threading.Thread(target=self._provider.shutdown, name="end of tracing", daemon=True)
        ending.start()
        ending.join(CLOSE_S)
        if ending.is_alive():
            _log.warning("the last spans are lost: no collector has taken them in %g s", CLOSE_S)


def _context_of(parent: TraceParent | None) -> Context:
    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if parent.is_sampled else TraceFlags.DEFAULT)
    known = SpanContext(
        int(parent.trace_id, 16), int(parent.parent_id, 16), is_remote=True, trace_flags=flags
    )
    return set_span_in_context(NonRecordingSpan(known), Context())
