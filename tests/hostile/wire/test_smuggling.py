"""For each row of the table, no smuggled bytes become part of a forwarded request."""

import pytest

from tests.hostile.wire.serving import ServedReply, send
from tests.hostile.wire.smuggling import ROWS, SMUGGLED, Row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_nothing_is_smuggled(row: Row) -> None:
    """In one piece, and in small pieces."""
    for piece in (0, 17):
        outcome = await send(row, piece)
        assert outcome.wrongs(row) == [], (row.section, row.raw, outcome)


async def test_what_is_smuggled_would_be_seen() -> None:
    """A smuggled request that is sent openly arrives, and counts as a fault."""
    row = Row(name="openly", section="9.3", raw=SMUGGLED, statuses=(200,))
    outcome = await send(row)
    assert outcome.heads != ()
    assert outcome.wrongs(row) != []
    assert ServedReply((500,), ()).wrongs(row) != []
