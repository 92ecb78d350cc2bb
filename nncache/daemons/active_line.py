"""What the log says of who is active. (nncache/daemons/active_line.py)"""

from nncache.hadoop.election_view import Active


def about_active(
    before: Active | None, now: Active | None, *, is_first: bool, without: str
) -> tuple[str, ...]:
    """Return the line about who is active, if that is news; `without` says what happens while none is."""
    if not is_first and _identity(before) == _identity(now):
        return ()
    if now is None:
        return (f"no active NameNode is known; {without}",)
    return (f"NameNode {now.namenode.http} is active (term {now.term})",)


def _identity(active: Active | None) -> object:
    return None if active is None else (active.namenode, active.term)
