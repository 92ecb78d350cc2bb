"""The messages of a stream, with the fields of `nncache watch --json`."""

import json

import pytest

from nncache.commands.event_lines import EventItem, GapItem, OutageItem, json_line
from nncache.events.messages import (
    JOINED_BYTES,
    EventFrame,
    ended,
    frame_of,
    joined,
    missing,
    modified,
    outage,
    started,
)
from nncache.events.source import AfterTxid, EventsGap, FilterRedefined
from nncache.hadoop.events import Append, EventBatch, Unlink
from nncache.invalidation.subscriber.events import FilterModified, SubscriptionStart
from tests.events.reader import read_stream


def test_events_have_the_fields_of_watch() -> None:
    """The type is that of the event; the last event of a transaction has its id."""
    events = (Append("/a", new_block=True), Unlink("/b\n", 7))
    frame = frame_of("f", EventBatch(12, events))
    assert (frame.txid, frame.events) == (12, 2)
    (append, data_a, id_a), (unlink, data_b, id_b) = read_stream(frame.data)
    assert (append, unlink, id_a, id_b) == ("APPEND", "UNLINK", "", "12")
    assert [json.loads(reported) for reported in (data_a, data_b)] == [
        json.loads(json_line("f", EventItem(12, event))) for event in events
    ]


def test_where_it_begins() -> None:
    """The message has the id from which to resume, and the chain for clients that store positions themselves."""
    ((event, reported, last_id),) = read_stream(started("f", AfterTxid(43, "f-1")))
    assert (event, last_id) == ("start", "43")
    assert json.loads(reported) == {**json.loads(json_line("f", SubscriptionStart(43))), "chain": "f-1"}
    ((_, reported, _),) = read_stream(started("f", AfterTxid(43)))
    assert json.loads(reported) == json.loads(json_line("f", SubscriptionStart(43)))


@pytest.mark.parametrize(
    ("gap", "last_id", "more"),
    [
        (EventsGap("why", 3, 5, AfterTxid(5, "c")), "5", {"after": 5}),
        (EventsGap("why", None, None, AfterTxid(8, "c")), "8", {"after": 8}),
        (EventsGap("why", None, None, None), "", {}),
    ],
)
def test_a_gap(gap: EventsGap, last_id: str, more: dict[str, object]) -> None:
    """The message has the missing transactions, what to do, and an id from which a client can resume."""
    stream = b"id: 1\n\n" + missing("f", gap)
    ((event, reported, shown_id),) = read_stream(stream)
    assert (event, shown_id) == ("missing", last_id)
    fields = json.loads(reported)
    to_do = fields.pop("next")
    expected = GapItem(gap.reason, gap.first_txid, gap.last_txid)
    assert fields == {**json.loads(json_line("f", expected)), **more}
    assert to_do.startswith(
        "read the present state of the filter's paths from HDFS, then ask for the events "
    )
    assert to_do.endswith(
        f"behind transaction {last_id}" if last_id else "from then on, without Last-Event-ID"
    )


def test_a_modified_filter() -> None:
    """The message has the old and the new glob and owner, and the position."""
    frame = modified("f", FilterRedefined(AfterTxid(9, "c"), "/a", "joe", "/b", "ann"))
    assert (frame.txid, frame.events, frame.is_modified) == (9, 0, True)
    ((event, reported, last_id),) = read_stream(frame.data)
    assert (event, last_id) == ("modified", "9")
    assert json.loads(reported) == json.loads(json_line("f", FilterModified(9, "/a", "joe", "/b", "ann")))


def test_an_outage() -> None:
    """It keeps the id: after the outage, events continue from there."""
    ((event, reported, last_id),) = read_stream(b"id: 9\n\n" + outage("f", "why"))
    assert (event, last_id) == ("outage", "9")
    assert json.loads(reported) == json.loads(json_line("f", OutageItem("why")))


def test_why_a_stream_ends() -> None:
    """The message has no id, so a client resumes after its last event."""
    assert ended("f", "too old") == b'event: end\ndata: {"filter": "f", "end": "too old"}\n\n'


def test_what_is_written_together() -> None:
    """A write has as many frames as fit, or one. No frame follows one that says that the filter was modified."""
    half, large = b"x" * (JOINED_BYTES // 2), b"y" * (JOINED_BYTES + 1)
    frames = [
        EventFrame(1, half, 1),
        EventFrame(2, half, 2),
        EventFrame(3, large, 3),
        EventFrame(3, b"m", 0, is_modified=True),
    ]
    frames += [EventFrame(4, b"a", 1), EventFrame(5, b"b", 1)]
    assert list(joined(frames)) == [
        EventFrame(2, half + half, 3),
        EventFrame(3, large, 3),
        EventFrame(3, b"m", 0, is_modified=True),
        EventFrame(5, b"ab", 2),
    ]
    assert list(joined(())) == []
