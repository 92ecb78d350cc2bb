"""The settings of tracing, and the factory of spans.

OpenTelemetry is imported only if `tracing` is on.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nncache.errors import StartError

if TYPE_CHECKING:
    from nncache.tracing.spans import CallSpans


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingSettings:
    """Whether calls have spans. The SDK's environment variables choose the calls and the destination."""

    tracing: bool = field(
        default=False,
        metadata={
            "help": "Whether a span is created for each call to a NameNode that a client's request needs, and exported "
            "as set by the OTEL_* environment variables (OTLP over HTTP). Requires the extra otel."
        },
    )


def call_spans_of(settings: TracingSettings) -> "CallSpans | None":
    """Return the factory of spans; None if tracing is off.

    Raises:
        StartError: OpenTelemetry is not installed, or does not accept its environment variables.
    """
    if not settings.tracing:
        return None
    try:
        from nncache.tracing.spans import CallSpans  # noqa: PLC0415 - OpenTelemetry is an extra
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise StartError(
            "tracing needs PyPI's opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http: "
            "pip install '.[otel]' in nncache's source, or set tracing = false"
        ) from exc
    try:
        return CallSpans.exported()
    except ValueError as exc:
        raise StartError(f"tracing: the OTEL_* environment variables are not accepted: {exc}") from exc
