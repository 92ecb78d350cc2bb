"""What a subscriber was told, from what `nncache watch --json` prints, or a stream over HTTP says.

(tests/inotify/subscriber_log.py)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """An event, as far as it is compared: the NameNode's log has no more of it in plain words."""

    txid: int
    type: str  # as in org.apache.hadoop.hdfs.inotify.Event
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Begins:
    """The events behind this transaction follow."""

    after: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Events are missing: of these transactions, where that is known."""

    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class Outage:
    """Nothing can be known now."""


@dataclass(frozen=True, slots=True)
class Modified:
    """The filter has another glob: for what is behind this transaction."""

    after: int
    before: str
    now: str


SubscriberLog: TypeAlias = Begins | Event | Gap | Outage | Modified


def subscriber_log(lines: Iterable[Mapping[str, Any]]) -> tuple[SubscriberLog, ...]:
    """Read the lines. Raises ValueError for one of no known kind."""
    return tuple(map(_subscriber_log, lines))


def _subscriber_log(line: Mapping[str, Any]) -> SubscriberLog:
    match line:
        case {"type": str(kind), "txid": int(txid)}:
            names = ("srcPath", "dstPath") if kind == "RENAME" else ("path",)
            return Event(txid, kind, tuple(line[name] for name in names))
        case {"modifiedAfter": int(after), "before": {"pathGlob": before}, "now": {"pathGlob": now}}:
            return Modified(after, before, now)
        case {"gap": str()}:  # of a stream over HTTP it says as well where the next stream begins
            return Gap(line.get("firstTxid"), line.get("lastTxid"))
        case {"after": int(after)}:
            return Begins(after)
        case {"outage": str()}:
            return Outage()
        case _:
            raise ValueError(f"a line of no known kind: {line}")
