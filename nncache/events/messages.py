"""The messages of a stream of events.

Pure. Fields have the names of `nncache watch --json`. The id of a message is a transaction id: a client that sends it
as `Last-Event-ID` resumes after that message. Of several events of one transaction only the last has an id, so that no
event is lost if the connection is cut between them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nncache.events.source import AfterTxid, EventsGap, FilterRedefined
from nncache.events.sse import encode_message
from nncache.hadoop.event_json import encode_event
from nncache.hadoop.events import EventBatch

STARTED: Final = "start"
MISSING: Final = "missing"
OUTAGE: Final = "outage"
MODIFIED: Final = "modified"
ENDED: Final = "end"

JOINED_BYTES: Final = 64 * 1024
"""Maximum size of messages that are written together: each separate write costs ten microseconds for each client."""

_TO_DO: Final = "read the present state of the filter's paths from HDFS, then ask for the events {behind}"


@dataclass(frozen=True, slots=True)
class EventFrame:
    """The encoded events of one transaction, or the message that the filter was modified after it.

    Or several of these (`joined`).

    Attributes:
        txid: the transaction id, of several transactions the last one.
        data: the encoded messages.
        events: the number of events.
        is_modified: whether it ends with a modification, which follows the events of the same transaction.
    """

    txid: int
    data: bytes
    events: int
    is_modified: bool = False


def frame_of(filter_name: str, batch: EventBatch) -> EventFrame:
    """Return the messages of a transaction that matched the filter."""
    last = len(batch.events) - 1
    messages = []
    for number, event in enumerate(batch.events):
        fields = encode_event(event)
        message = {"filter": filter_name, "txid": batch.txid, **fields}
        message_id = str(batch.txid) if number == last else None
        messages.append(encode_message(str(fields["type"]), _json(message), message_id))
    return EventFrame(batch.txid, b"".join(messages), len(messages))


def modified(filter_name: str, item: FilterRedefined) -> EventFrame:
    """Return the message that the filter has another glob or owner."""
    message = {
        "filter": filter_name,
        "modifiedAfter": item.after.txid,
        "before": {"pathGlob": item.glob_before, "owner": item.owner_before},
        "now": {"pathGlob": item.glob, "owner": item.owner},
    }
    data = encode_message(MODIFIED, _json(message), str(item.after.txid))
    return EventFrame(item.after.txid, data, 0, is_modified=True)


def joined(frames: Iterable[EventFrame]) -> Iterator[EventFrame]:
    """Yield the frames, joined up to JOINED_BYTES; a frame that `is_modified` is the last one of its group."""
    together, size = list[EventFrame](), 0
    for frame in frames:
        if together and (together[-1].is_modified or size + len(frame.data) > JOINED_BYTES):
            yield _one_of(together)
            together, size = [], 0
        together.append(frame)
        size += len(frame.data)
    if together:
        yield _one_of(together)


def _one_of(frames: list[EventFrame]) -> EventFrame:
    last = frames[-1]
    if len(frames) == 1:
        return last
    data, events = b"".join(each.data for each in frames), sum(each.events for each in frames)
    return EventFrame(last.txid, data, events, last.is_modified)


def started(filter_name: str, after: AfterTxid) -> bytes:
    """Return the message that the events after a position follow."""
    message: dict[str, object] = {"filter": filter_name, "after": after.txid}
    if after.chain is not None:
        message["chain"] = after.chain
    return encode_message(STARTED, _json(message), str(after.txid))


def missing(filter_name: str, gap: EventsGap) -> bytes:
    """Return the message of a gap, with the remedy; its id is the position after the gap."""
    known = {"firstTxid": gap.first_txid, "lastTxid": gap.last_txid}
    go_on = gap.after
    behind = "from then on, without Last-Event-ID" if go_on is None else f"behind transaction {go_on.txid}"
    message: dict[str, object] = {
        "filter": filter_name,
        "gap": gap.reason,
        **{key: txid for key, txid in known.items() if txid is not None},
        **({} if go_on is None else {"after": go_on.txid}),
        "next": _TO_DO.format(behind=behind),
    }
    # An empty id makes a client forget its last one.
    return encode_message(MISSING, _json(message), "" if go_on is None else str(go_on.txid))


def outage(filter_name: str, reason: str) -> bytes:
    """Return the message of an outage; the stream continues after it."""
    return encode_message(OUTAGE, _json({"filter": filter_name, "outage": reason}))


def ended(filter_name: str, reason: str) -> bytes:
    """Return the last message of a stream, with its reason; a client that reconnects resumes after its last event."""
    return encode_message(ENDED, _json({"filter": filter_name, "end": reason}))


def _json(message: Mapping[str, object]) -> str:
    return json.dumps(message, ensure_ascii=True)
