"""What streams of events a proxy serves."""

from nncache.metrics.metric import Metric, counter, gauge
from nncache.proxy.events.stream import STREAM_ENDS

EVENT_ROWS: tuple[Metric, ...] = (
    gauge("events.streams", "event_streams", "streams", "Streams of GET /v1/events that are open."),
    gauge("events.followed", "event_filters", "filters", "Filters whose events are streamed."),
    counter("events.sent", "events_streamed", "events", "Events sent to streams."),
    counter(
        "events.ended",
        "event_streams_ended",
        "streams",
        "Streams that have ended, by reason.",
        "end",
        STREAM_ENDS,
    ),
    counter(
        "events.not_admitted",
        "event_streams_not_admitted",
        "requests",
        "Answered 503, beyond max_event_streams, or 429, after too many refusals.",
    ),
)
