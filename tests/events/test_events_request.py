"""How a request for events is parsed, and the errors of an invalid one."""

import pytest

from nncache.events.events_request import EventsRequest, is_events, read_events_request
from nncache.events.source import AfterTxid
from nncache.proxy.errors import ClientError
from nncache.proxy.messages import Header


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/v1/events", True),
        ("/v1/events?filter=f", True),
        ("/v1/events?", True),
        ("/v1/events/", False),
        ("/v1/eventsx", False),
        ("/v1/event", False),
        ("/v1/events#a", False),
        ("/v1/%65vents", False),
        ("//v1/events", False),
        ("/webhdfs/v1/events?op=GETFILESTATUS", False),
        ("http://proxy/v1/events", False),
        ("/", False),
    ],
)
def test_which_targets_it_has(target: str, expected: bool) -> None:
    """There is one spelling; all other targets belong to other handlers."""
    assert is_events(target) is expected


@pytest.mark.parametrize(
    ("query", "headers", "expected"),
    [
        ("filter=f", (), EventsRequest("f", None, None, "")),
        ("filter=f&user.name=joe&from=0", (), EventsRequest("f", AfterTxid(0), "joe", "")),
        ("&from=12&&filter=a%2db&", (), EventsRequest("a-b", AfterTxid(12), None, "")),
        ("filter=f&from=12@f-1", (), EventsRequest("f", AfterTxid(12, "f-1"), None, "")),
        ("filter=f&from=12", ((b"Last-Event-ID", b"15"),), EventsRequest("f", AfterTxid(15), None, "")),
        ("filter=f", ((b"last-event-id", b" 15@c "),), EventsRequest("f", AfterTxid(15, "c"), None, "")),
        ("filter=f&from=12", ((b"Last-Event-ID", b""),), EventsRequest("f", AfterTxid(12), None, "")),
        ("filter=f", ((b"Last-Event-ID", b""), (b"Accept", b"*/*")), EventsRequest("f", None, None, "")),
        ("filter=a+b&user.name=", (), EventsRequest("a b", None, None, "")),
        ("filter=f&doas=bob", (), EventsRequest("f", None, None, "doas")),
        ("filter=f&delegation=T&doas=bob", (), EventsRequest("f", None, None, "delegation")),
        ("filter=f&from=9223372036854775807", (), EventsRequest("f", AfterTxid((1 << 63) - 1), None, "")),
    ],
)
def test_a_request_for_events(query: str, headers: tuple[Header, ...], expected: EventsRequest) -> None:
    """`Last-Event-ID` takes precedence over `from`, even if it is older."""
    assert read_events_request(f"/v1/events?{query}", headers) == expected


@pytest.mark.parametrize(
    ("query", "headers", "complaint"),
    [
        ("", (), "filter is missing: give the name of a filter, such as filter=joeSUCCESSFiles"),
        ("filter=", (), "filter is missing"),
        ("filter=f&from=", (), "from: '': must be a transaction id, such as 4711"),
        ("filter=f&from=-1", (), "from: '-1': must be a transaction id"),
        ("filter=f&from=1e3", (), "from: '1e3': must be"),
        ("filter=f&from=007", (), "from: '007': must be"),
        ("filter=f&from=%D9%A1", (), "from: '\u0661': must be"),
        ("filter=f&from=1@", (), "from: '1@': must be"),
        ("filter=f&from=1@a/b", (), "from: '1@a/b': must be"),
        ("filter=f&from=9223372036854775808", (), "must be a transaction id"),
        (f"filter=f&from={'9' * 70}", (), f"from: '{'9' * 64}...': must be"),
        ("filter=f&from=x", ((b"Last-Event-ID", b"15"),), "from: 'x'"),
        ("filter=f", ((b"Last-Event-ID", b"x"),), "Last-Event-ID: 'x': must be a transaction id"),
        ("filter=f", ((b"Last-Event-ID", b"\xff"),), "Last-Event-ID: '\ufffd': must be"),
        ("filter=f", ((b"Last-Event-ID", b"1"),) * 2, "Last-Event-ID is given more than once"),
        ("filter=f&filter=g", (), "filter is given more than once"),
        (
            "filter=f&form=1",
            (),
            "'form' is no parameter here: there are filter, from, user.name, doas, delegation",
        ),
        ("filter=%zz", (), "the query cannot be read"),
    ],
)
def test_what_is_wrong(query: str, headers: tuple[Header, ...], complaint: str) -> None:
    """The error names the parameter, its value and what is allowed."""
    with pytest.raises(ClientError) as raised:
        read_events_request(f"/v1/events?{query}", headers)
    assert str(raised.value).startswith(complaint) or complaint in str(raised.value)
    assert raised.value.status == 400
