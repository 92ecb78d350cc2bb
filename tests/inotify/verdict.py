"""Compare the events that a subscriber received with the NameNode's own log.

Each event must arrive exactly once and in order, or a gap must cover it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.inotify.subscriber_log import Begins, Event, Gap, Modified, Outage, SubscriberLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The faults of a subscriber's history, and how much it contained."""

    lost: tuple[Event, ...] = ()  # neither received nor covered by a gap
    duplicated: tuple[Event, ...] = ()
    disordered: tuple[Event, ...] = ()  # received after a later event
    made_up: tuple[Event, ...] = ()  # received, but not in the log
    events: int = 0  # received events that are in the log, with duplicates
    gaps: int = 0
    missed: int = 0  # events that gaps cover

    @property
    def is_right(self) -> bool:
        """Whether the history has no fault."""
        return not (self.lost or self.duplicated or self.disordered or self.made_up)


def judge(history: Sequence[SubscriberLog], log: Sequence[Event]) -> Verdict:
    """Judge a subscriber's history; `log` has all events of its filter, in order.

    The history begins at its first Begins, and must reach the end of the log.
    """
    counts = dict.fromkeys(log, 0)
    covered: list[tuple[int, int]] = []
    duplicated: list[Event] = []
    disordered: list[Event] = []
    made_up: list[Event] = []
    began: int | None = None
    reached = -1  # the last transaction that was received, or passed by a gap
    unknown: int | None = None  # a gap of unknown extent begins after this transaction
    last = -1  # the largest id of a received event
    for item in history:
        match item:
            case Begins(after):
                began = after if began is None else began
                if unknown is not None:
                    covered.append((unknown + 1, after))
                    unknown = None
                reached = max(reached, after)
            case Gap(int(first), int(end)):
                covered.append((first, end))
                reached = max(reached, end)
            case Gap():
                unknown = reached if unknown is None else unknown
            case Event() if item not in counts:
                made_up.append(item)
            case Event(txid):
                if counts[item]:
                    duplicated.append(item)
                elif txid < last:
                    disordered.append(item)
                counts[item] += 1
                last, reached = max(last, txid), max(reached, txid)
            case Outage() | Modified():
                pass
    start = -1 if began is None else began
    wanted = [event for event in log if event.txid > start and not counts[event]]
    missed = [event for event in wanted if any(first <= event.txid <= end for first, end in covered)]
    return Verdict(
        lost=tuple(event for event in wanted if event not in missed),
        duplicated=tuple(duplicated),
        disordered=tuple(disordered),
        made_up=tuple(made_up),
        events=sum(counts.values()),
        gaps=sum(isinstance(item, Gap) for item in history),
        missed=len(missed),
    )
