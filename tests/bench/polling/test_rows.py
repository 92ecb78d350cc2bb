"""What pollers saw is in the columns that the table has, whatever it was."""

import math

import pyarrow as pa
import pytest

from nncache.bench.polling.replies import Reply, digest_of
from nncache.bench.polling.rows import Rows
from nncache.bench.tables import POLLS
from tests.bench.polling_server import BODY

DENIAL = b'{"RemoteException":{"message":"Permission denied: user=u0001"}}'


def said(status: int = 200, served: str = "", body: bytes = BODY) -> Reply:
    """Return a reply."""
    return Reply(status, served, body, keeps=True)


def table(rows: Rows, clock_error_s: float = 0.0) -> pa.Table:
    """Return all rows as one table."""
    return pa.Table.from_batches(rows.batches(clock_error_s), POLLS)


def test_a_reply_is_a_row() -> None:
    """With its times, what it said, and by how much the clock may be off."""
    rows = Rows()
    rows.add_reply(7, 3, 1.0, 1.25, 1.5, said(served="hit"))
    (row,) = table(rows, clock_error_s=0.125).to_pylist()
    assert row == {
        "poller": 7,
        "path_id": 3,
        "due_s": 1.0,
        "sent_s": 1.25,
        "replied_s": 1.5,
        "status": 200,
        "digest": digest_of(200, BODY),
        "file_id": 16389,
        "served": "hit",
        "error": None,
        "clock_error_s": 0.125,
    }


def test_without_a_reply_there_is_why() -> None:
    """A poll that was never sent has no time of sending."""
    rows = Rows()
    rows.add_reply(0, 0, 0.0, 0.0, 0.5, said())
    rows.add_failure(1, 0, 1.0, 1.0, 1.5, "connection refused")
    rows.add_unsent(2, 0, 2.0, 2.5)
    replied, failed, unsent = table(rows).to_pylist()
    assert [row["error"] for row in (replied, failed, unsent)] == [None, "connection refused", "not sent"]
    assert {(row["status"], row["digest"], row["file_id"], row["served"]) for row in (failed, unsent)} == {
        (0, 0, 0, "")
    }
    assert (failed["sent_s"], unsent["replied_s"]) == (1.0, 2.5)
    assert math.isnan(unsent["sent_s"])


def test_failures_are_counted() -> None:
    """No reply, or an error of the server's; what a client may not see or what is missing is an answer."""
    rows = Rows()
    for status in (200, 403, 404, 500, 503):
        rows.add_reply(0, 0, 0.0, 0.0, 0.0, said(status, body=DENIAL))
    rows.add_failure(0, 0, 0.0, 0.0, 0.0, "cut off")
    rows.add_unsent(0, 0, 0.0, 0.0)
    assert (rows.polls, rows.failed) == (7, 4)
    assert [row["digest"] == 0 for row in table(rows).to_pylist()] == [
        False,
        True,  # it names the caller
        *(False,) * 3,
        *(True,) * 2,
    ]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 7])
def test_rows_come_in_their_order_however_they_are_cut(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and errors stay with their rows, also in later batches."""
    monkeypatch.setattr("nncache.bench.polling.rows.BATCH", 3)
    rows = Rows()
    for number in range(count):
        if number % 3 == 1:
            rows.add_failure(number, 0, 0.0, 0.0, 0.0, f"error {number}")
        else:
            rows.add_reply(number, 0, 0.0, 0.0, 0.0, said(served=("hit", "", "miss")[number % 3]))
    batches = list(rows.batches(0.0))
    assert all(batch.num_rows <= 3 for batch in batches)
    seen = [(row["poller"], row["served"], row["error"]) for row in table(rows).to_pylist()]
    assert seen == [
        (number, ("hit", "", "miss")[number % 3], f"error {number}" if number % 3 == 1 else None)
        for number in range(count)
    ]
