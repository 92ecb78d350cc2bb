"""What cached replies of one kind have in common, rendered once a second."""

from email.utils import parsedate_to_datetime

from cache.replies import Reply
from proxy.hit_text import DateText, HitFrame, rest_of_head

KEPT = Reply(404, ((b"Cache-Control", b"no-cache"), (b"Pragma", b"no-cache")), b"")


def test_the_head_has_what_a_cached_reply_needs() -> None:
    """The NameNode's fields in its order between ours; Expires equals Date; Age in whole seconds."""
    head = HitFrame(KEPT).at(107.9, DateText()) + rest_of_head(7.9, 2)
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
    frame, dates = HitFrame(KEPT), DateText()
    assert frame.at(101.1, dates) is frame.at(101.9, dates)
    assert frame.at(102.0, dates) is not frame.at(103.0, dates)
    assert rest_of_head(-1.0, 0).startswith(b"0\r\n")
