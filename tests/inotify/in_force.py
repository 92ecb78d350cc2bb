"""Which glob of a filter was in force when, as its subscriber was told."""

from collections.abc import Callable, Sequence

from tests.inotify.subscriber_log import Event, Gap, Modified, SubscriberLog

Matches = Callable[[str, Event], bool]


def in_force(
    history: Sequence[SubscriberLog], last: str, globs: Sequence[str], matches: Matches
) -> Callable[[int], str]:
    """Return what tells the glob in force for a transaction.

    A gap may cover that a filter was modified. What was told between two gaps is judged by what was said there of
    modifications; where nothing was, by the glob that its first event matches. `last` is what HDFS has in the end.
    """
    parts: list[list[SubscriberLog]] = [[]]
    for item in history:
        if isinstance(item, Gap):
            parts.append([])
        else:
            parts[-1].append(item)
    changes: list[tuple[int, str]] = []  # up to which transaction which glob was in force, in order
    known = last
    for part in reversed(parts):
        said = [item for item in part if isinstance(item, Modified)]
        events = [item for item in part if isinstance(item, Event)]
        if not said and events:
            fitting = [glob for glob in globs if matches(glob, events[0])]
            if fitting and known not in fitting:
                changes.insert(0, (events[-1].txid, fitting[0]))
                known = fitting[0]
        for item in reversed(said):
            after = [event for event in events if event.txid > item.after]
            if item.now != known and after:
                changes.insert(0, (after[-1].txid, item.now))
            changes.insert(0, (item.after, item.before))
            known = item.before

    def glob_at(txid: int) -> str:
        return next((glob for through, glob in changes if txid <= through), last)

    return glob_at
