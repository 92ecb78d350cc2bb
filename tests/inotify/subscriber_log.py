"""Parse the lines of `nncache watch --json`, or the data of a stream over HTTP. (tests/inotify/subscriber_log.py)"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """An event, reduced to the fields that are compared: those that the NameNode's log states directly."""

    txid: int
    type: str  # as in org.apache.hadoop.hdfs.inotify.Event
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Begins:
    """The events after this transaction follow."""

    after: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Events are missing; `first` and `last` are the bounds of their transactions, if known."""

    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Outage:
    """The state of the stream is unknown at present."""


@dataclass(frozen=True, slots=True)
class Modified:
    """The filter has another glob for transactions after this one."""

    after: int
    before: str
    now: str


SubscriberLog: TypeAlias = Begins | Event | Gap | Outage | Modified


def subscriber_log(lines: Iterable[Mapping[str, Any]]) -> tuple[SubscriberLog, ...]:
    """Parse the lines. Raises ValueError for a line of no known kind."""
    return tuple(map(_subscriber_log, lines))


def _subscriber_log(line: Mapping[str, Any]) -> SubscriberLog:
    match line:
        case {"type": str(kind), "txid": int(txid)}:
            names = ("srcPath", "dstPath") if kind == "RENAME" else ("path",)
            return Event(txid, kind, tuple(line[name] for name in names))
        case {"modifiedAfter": int(after), "before": {"pathGlob": before}, "now": {"pathGlob": now}}:
            return Modified(after, before, now)
        case {"gap": str()}:  # over HTTP it also says where the next stream begins
            return Gap(line.get("firstTxid"), line.get("lastTxid"))
        case {"after": int(after)}:
            return Begins(after)
        case {"outage": str()}:
            return Outage()
        case _:
            raise ValueError(f"a line of no known kind: {line}")
