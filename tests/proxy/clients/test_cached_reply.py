"""A kept reply becomes an answer with the NameNode's own words."""

from email.utils import parsedate_to_datetime

import pytest

from nncache.cache import Reply
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.clients.cached_reply import DateText, HitFrame, body_of, cached_reply, rest_of_head
from nncache.proxy.headers import HIT

KEPT = ((b"Cache-Control", b"no-cache"), (b"Content-Type", b"application/json"))


def test_a_404_is_worded_for_the_path_as_it_was_asked_for() -> None:
    """Verbatim: the kept body quotes another spelling."""
    reply = Reply(404, KEPT, render_missing("/w/f"))
    assert body_of(reply, "//w/f/") == render_missing("//w/f/")


def test_a_200_is_the_very_bytes() -> None:
    """Verbatim: nothing is rendered anew."""
    reply = Reply(200, KEPT, b'{"FileStatus":{}}')
    assert body_of(reply, "//w/f/") is reply.body


@pytest.mark.parametrize(("now", "age"), [(100.0, b"0"), (100.9, b"0"), (163.2, b"63"), (99.0, b"0")])
def test_the_age_counts_from_the_namenodes_word(now: float, age: bytes) -> None:
    """RFC 9111, 5.1: whole seconds, never negative."""
    made = cached_reply(Reply(200, KEPT, b"{}"), b"{}", HIT, replied_at=100.0, now=now, dates=DateText())
    assert dict(made._fields)[b"Age"] == age


@pytest.mark.parametrize("status", [200, 404])
def test_both_paths_say_the_same(status: int) -> None:
    """The fast path and the ordinary one send the same fields in the same order."""
    reply, dates = Reply(status, KEPT, b"{}"), DateText()
    made = cached_reply(reply, b"{}", HIT, replied_at=100.0, now=104.0, dates=dates)
    head = (HitFrame(reply).at(104.0, dates) + rest_of_head(4.0, 2)).removesuffix(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    fields = [(name, value) for name, _, value in (field.partition(b": ") for field in lines)]
    assert line == f"HTTP/1.1 {made.status} {made.reason}".encode()
    assert [field for field in fields if field[0] != b"Content-Length"] == list(made._fields)


def test_expires_is_now() -> None:
    """As the NameNode has it: nobody downstream may keep it without asking."""
    made = cached_reply(Reply(200, KEPT, b"{}"), b"{}", HIT, replied_at=100.0, now=104.0, dates=DateText())
    fields = dict(made._fields)
    assert fields[b"Expires"] == fields[b"Date"]
    assert parsedate_to_datetime(fields[b"Date"].decode()).tzinfo is not None


MISSING = Reply(404, ((b"Cache-Control", b"no-cache"), (b"Pragma", b"no-cache")), b"")


def test_the_head_has_what_a_cached_reply_needs() -> None:
    """The NameNode's fields in its order between ours; Expires equals Date; Age in whole seconds."""
    head = HitFrame(MISSING).at(107.9, DateText()) + rest_of_head(7.9, 2)
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert line == b"HTTP/1.1 404 Not Found"
    names = [field.partition(b": ")[0] for field in fields]
    assert names == [
        b"Date",
        b"Expires",
        b"Cache-Control",
        b"Pragma",
        b"Age",
        b"Cache-Status",
        b"Content-Length",
    ]
    values = dict(field.decode().split(": ", 1) for field in fields)
    assert values["Date"] == values["Expires"]
    assert parsedate_to_datetime(values["Date"]).year > 2000
    assert (values["Age"], values["Cache-Status"], values["Content-Length"]) == ("7", "nncache; hit", "2")


def test_the_date_moves_with_the_seconds() -> None:
    """Within a second it is the same object; a reply from the future has the age 0."""
    frame, dates = HitFrame(MISSING), DateText()
    assert frame.at(101.1, dates) is frame.at(101.9, dates)
    assert frame.at(102.0, dates) is not frame.at(103.0, dates)
    assert rest_of_head(-1.0, 0).startswith(b"0\r\n")
