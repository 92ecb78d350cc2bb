"""What a stream of events tells its client.

Pure. Fields have the names that `nncache watch --json` gives them. The id of a message is a transaction: with it as
`Last-Event-ID` a client goes on behind that message. Of several events of one transaction only the last one has it, so
that none is lost if the connection is cut between them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nncache.events.source import After, Gap, Modified
from nncache.events.sse import encode_message
from nncache.hadoop.event_json import encode_event
from nncache.hadoop.events import EventBatch

STARTED: Final = "start"
MISSING: Final = "missing"
OUTAGE: Final = "outage"
MODIFIED: Final = "modified"
ENDED: Final = "end"

JOINED_BYTES: Final = 64 * 1024
"""Of messages that are written together: to write each by itself takes ten microseconds, for each client."""

_TO_DO: Final = "read the present state of the filter's paths from HDFS, then ask for the events {behind}"


@dataclass(frozen=True, slots=True)
class Frame:
    """The events of one transaction, as they are sent; or the word that the filter was modified behind it.

    Or several of these (`joined`).

    Attributes:
        txid: the transaction; of several the last one.
        data: the messages.
        events: how many they are.
        is_modified: it is that word, or ends with it; it stands behind the events of the same transaction.
    """

    txid: int
    data: bytes
    events: int
    is_modified: bool = False


def frame_of(filter_name: str, batch: EventBatch) -> Frame:
    """Return the messages of a transaction that matched."""
    last = len(batch.events) - 1
    messages = []
    for number, event in enumerate(batch.events):
        fields = encode_event(event)
        message = {"filter": filter_name, "txid": batch.txid, **fields}
        message_id = str(batch.txid) if number == last else None
        messages.append(encode_message(str(fields["type"]), _json(message), message_id))
    return Frame(batch.txid, b"".join(messages), len(messages))


def modified(filter_name: str, item: Modified) -> Frame:
    """Return what says that the filter has another glob or owner."""
    message = {
        "filter": filter_name,
        "modifiedAfter": item.after.txid,
        "before": {"pathGlob": item.glob_before, "owner": item.owner_before},
        "now": {"pathGlob": item.glob, "owner": item.owner},
    }
    data = encode_message(MODIFIED, _json(message), str(item.after.txid))
    return Frame(item.after.txid, data, 0, is_modified=True)


def joined(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield what is written together, of at most JOINED_BYTES, or a frame; nothing stands behind `is_modified`."""
    together, size = list[Frame](), 0
    for frame in frames:
        if together and (together[-1].is_modified or size + len(frame.data) > JOINED_BYTES):
            yield _one_of(together)
            together, size = [], 0
        together.append(frame)
        size += len(frame.data)
    if together:
        yield _one_of(together)


def _one_of(frames: list[Frame]) -> Frame:
    last = frames[-1]
    if len(frames) == 1:
        return last
    data, events = b"".join(each.data for each in frames), sum(each.events for each in frames)
    return Frame(last.txid, data, events, last.is_modified)


def started(filter_name: str, after: After) -> bytes:
    """Return what says that the events behind a position follow."""
    message: dict[str, object] = {"filter": filter_name, "after": after.txid}
    if after.chain is not None:
        message["chain"] = after.chain
    return encode_message(STARTED, _json(message), str(after.txid))


def missing(filter_name: str, gap: Gap) -> bytes:
    """Return what says that events are missing, and what to do; its id is where the events go on behind the gap."""
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
    # An empty id makes a client forget the one that it has.
    return encode_message(MISSING, _json(message), "" if go_on is None else str(go_on.txid))


def outage(filter_name: str, reason: str) -> bytes:
    """Return what says that it is not known what happens; the stream goes on when that is over."""
    return encode_message(OUTAGE, _json({"filter": filter_name, "outage": reason}))


def ended(filter_name: str, reason: str) -> bytes:
    """Return what says why the stream ends; a client that comes back goes on behind the last event that it has seen."""
    return encode_message(ENDED, _json({"filter": filter_name, "end": reason}))


def _json(message: Mapping[str, object]) -> str:
    return json.dumps(message, ensure_ascii=True)
