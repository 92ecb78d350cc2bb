"""Format the items of a subscription as lines, for people or for programs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nncache.hadoop.event_json import encode_event
from nncache.hadoop.events import Event
from nncache.invalidation.subscriber.events import FilterModified, SubscriptionStart
from nncache.logs import one_line

_TXID_WIDTH: Final = 10
_TYPE_WIDTH: Final = 8  # METADATA and TRUNCATE are the longest
_NAMES: Final = ("path", "srcPath", "dstPath")


@dataclass(frozen=True, slots=True)
class EventItem:
    """An event of a matching transaction."""

    txid: int
    event: Event


@dataclass(frozen=True, slots=True)
class GapItem:
    """Events are missing, of transactions `first_txid` to `last_txid` if these are known."""

    reason: str
    first_txid: int | None = None
    last_txid: int | None = None


@dataclass(frozen=True, slots=True)
class OutageItem:
    """An outage: no events are known until ZooKeeper or the publisher is back."""

    reason: str


WatchItem = SubscriptionStart | EventItem | GapItem | OutageItem | FilterModified
"""A Position means that the events after it follow."""


def text_line(filter_name: str, item: WatchItem, now: datetime) -> str:
    """Return a line for people: the time of printing, transaction, type of event, path, and other fields.

    Control characters are escaped.
    """
    return one_line(f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z {_text(filter_name, item)}")


def _text(filter_name: str, item: WatchItem) -> str:
    match item:
        case SubscriptionStart(txid):
            return f"-- following {filter_name} after transaction {txid}"
        case FilterModified(txid, glob_before, owner_before, glob, owner):
            parts = (
                f"{what} {before} -> {after}"
                for what, before, after in (
                    ("glob", glob_before, glob),
                    ("owner", owner_before, owner),
                )
                if before != after
            )
            return f"-- {filter_name} was modified after transaction {txid}: {'; '.join(parts)}"
        case GapItem(reason):
            return f"-- gap: {reason}"
        case OutageItem(reason):
            return f"-- outage: {reason}"
        case EventItem(txid, event):
            fields = encode_event(event)
            paths = " -> ".join(str(fields[name]) for name in _NAMES if name in fields)
            return f"{txid:>{_TXID_WIDTH}} {fields['type']!s:<{_TYPE_WIDTH}} {paths}{_rest(fields)}"


def json_line(filter_name: str, item: WatchItem) -> str:
    """Return a line for programs: one JSON object.

    An event has the key `type`, a gap `gap`, an outage `outage`, a start `after`, a modified filter `modifiedAfter`.
    """
    return json.dumps({"filter": filter_name, **_fields(item)})


def _fields(item: WatchItem) -> Mapping[str, object]:
    match item:
        case SubscriptionStart(txid):
            return {"after": txid}
        case FilterModified(txid, glob_before, owner_before, glob, owner):
            return {
                "modifiedAfter": txid,
                "before": {"pathGlob": glob_before, "owner": owner_before},
                "now": {"pathGlob": glob, "owner": owner},
            }
        case GapItem(reason, first_txid, last_txid):
            known = {"firstTxid": first_txid, "lastTxid": last_txid}
            return {"gap": reason, **{key: txid for key, txid in known.items() if txid is not None}}
        case OutageItem(reason):
            return {"outage": reason}
        case EventItem(txid, event):
            return {"txid": txid, **encode_event(event)}


def _rest(fields: Mapping[str, object]) -> str:
    return "".join(
        f"  {name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in fields.items()
        if name not in ("type", *_NAMES)
    )
