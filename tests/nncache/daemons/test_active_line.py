"""Who is active is said once per change."""

import pytest

from nncache.daemons.active_line import about_active
from nncache.hadoop.election_view import Active, NameNode

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
RESTARTED = Active(namenode=ACTIVE.namenode, started_ms=2, transition_ms=2, term=4)


@pytest.mark.parametrize(
    ("before", "now", "is_first", "said"),
    [
        (None, ACTIVE, True, ("NameNode nn1:9870 is active (term 3)",)),
        (None, None, True, ("no active NameNode is known; wait",)),
        (None, None, False, ()),
        (ACTIVE, ACTIVE, False, ()),
        (ACTIVE, RESTARTED, False, ("NameNode nn1:9870 is active (term 4)",)),
        (ACTIVE, None, False, ("no active NameNode is known; wait",)),
        (None, ACTIVE, False, ("NameNode nn1:9870 is active (term 3)",)),
    ],
)
def test_who_is_active_is_said_when_it_is_news(
    before: Active | None, now: Active | None, is_first: bool, said: tuple[str, ...]
) -> None:
    """At first the state itself is; a restarted NameNode has the same address and another term."""
    assert about_active(before, now, is_first=is_first, without="wait") == said
