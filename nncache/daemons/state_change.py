"""A change of a daemon's state, as its log reports it."""

from dataclasses import dataclass

from nncache.hadoop.election_view import Active


@dataclass(frozen=True, slots=True)
class StateLine:
    """One log line.

    Attributes:
        text: what happened and what follows from it; for a bad state, also what to do.
        is_bad: a bad state begins. The end of a bad state is not bad.
    """

    text: str
    is_bad: bool = False


def about_active(
    before: Active | None, now: Active | None, *, is_first: bool, why_none: str, without: str
) -> tuple[StateLine, ...]:
    """Return the log line about the active NameNode, if it has changed.

    Args:
        before: the last known active NameNode.
        now: the active NameNode that is known now.
        is_first: nothing was logged yet.
        why_none: what each NameNode reports, if none is known to be active.
        without: what happens while no active NameNode is known.
    """
    if not is_first and _identity(before) == _identity(now):
        return ()
    if now is None:
        why = f": {why_none}" if why_none else ""
        what_to_do = "see that one NameNode is active and that namenode_http names them all"
        return (StateLine(f"no active NameNode is known{why}; {without}; {what_to_do}", is_bad=True),)
    return (StateLine(f"NameNode {now.namenode.http} is active (term {now.term})"),)


def _identity(active: Active | None) -> object:
    return None if active is None else (active.namenode, active.term)
