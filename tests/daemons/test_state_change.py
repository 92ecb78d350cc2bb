"""Each change of the active NameNode is logged once."""

import pytest

from nncache.daemons.state_change import StateLine, about_active
from nncache.hadoop.election_view import Active, NameNode

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
RESTARTED = Active(namenode=ACTIVE.namenode, started_ms=2, transition_ms=2, term=4)


NONE = StateLine(
    "no active NameNode is known: nn1:9870 is standby; wait; "
    "see that one NameNode is active and that namenode_http names them all",
    is_bad=True,
)


@pytest.mark.parametrize(
    ("before", "now", "is_first", "changes"),
    [
        (None, ACTIVE, True, (StateLine("NameNode nn1:9870 is active (term 3)"),)),
        (None, None, True, (NONE,)),
        (None, None, False, ()),
        (ACTIVE, ACTIVE, False, ()),
        (ACTIVE, RESTARTED, False, (StateLine("NameNode nn1:9870 is active (term 4)"),)),
        (ACTIVE, None, False, (NONE,)),
        (None, ACTIVE, False, (StateLine("NameNode nn1:9870 is active (term 3)"),)),
    ],
)
def test_who_is_active_is_logged_when_it_is_news(
    before: Active | None, now: Active | None, is_first: bool, changes: tuple[StateLine, ...]
) -> None:
    """At the start, the current state is news. A restarted NameNode has the same address and a new term."""
    why = "nn1:9870 is standby"
    assert about_active(before, now, is_first=is_first, why_none=why, without="wait") == changes


def test_nothing_is_made_up_where_the_namenodes_say_nothing() -> None:
    """The pool has no NameNode to report about."""
    (news,) = about_active(None, None, is_first=True, why_none="", without="wait")
    assert news.text.startswith("no active NameNode is known; wait; ")
