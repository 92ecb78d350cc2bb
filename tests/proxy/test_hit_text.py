"""A cached reply on the wire: the same bytes from the fast path as from the ordinary one."""

from email.utils import parsedate_to_datetime

import pytest
from aiohttp import web

from cache.entries import Reply
from proxy.cached_reply import cached_reply
from proxy.headers import HIT
from proxy.hit_text import DateText, HitText
from tests.proxy.wire import GET, RawClient, serving

KEPT = Reply(
    404,
    ((b"Cache-Control", b"no-cache"), (b"Pragma", b"no-cache"), (b"Content-Type", b"application/json")),
    b"the NameNode's own",
)


def test_the_text_has_what_a_cached_reply_needs() -> None:
    """The NameNode's fields in its order between ours; Expires equals Date; Age in whole seconds."""
    text = HitText(KEPT, b"{}", 100.0).at(107.9, DateText())
    head, _, body = text.partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    assert (line, body) == (b"HTTP/1.1 404 Not Found", b"{}")
    names = [field.partition(b": ")[0] for field in fields]
    assert names == [
        b"Date",
        b"Expires",
        b"Cache-Control",
        b"Pragma",
        b"Content-Type",
        b"Age",
        b"Cache-Status",
        b"Content-Length",
    ]
    values = dict(field.decode().split(": ", 1) for field in fields)
    assert values["Date"] == values["Expires"]
    assert parsedate_to_datetime(values["Date"]).year > 2000
    assert (values["Age"], values["Cache-Status"], values["Content-Length"]) == ("7", "nncache; hit", "2")


def test_age_and_date_move_with_the_seconds() -> None:
    """Within a second the text is the same object; a reply from the future has the age 0."""
    text, dates = HitText(KEPT, b"{}", 100.5), DateText()
    assert text.at(101.1, dates) is text.at(101.9, dates)
    assert b"Age: 9\r\n" in text.at(110.0, dates)
    assert b"Age: 0\r\n" in text.at(99.0, dates)


@pytest.mark.parametrize("status", [200, 404])
async def test_both_paths_say_the_same(status: int) -> None:
    """Byte for byte, on a connection that goes on."""
    kept = Reply(status, KEPT.headers, b"[]")
    dates = DateText()

    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return cached_reply(kept, b"[]", HIT, replied_at=3.0, now=5.0, dates=dates)

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        expected = HitText(kept, b"[]", 3.0).at(5.0, dates)
        assert await client.reader.readexactly(len(expected)) == expected
