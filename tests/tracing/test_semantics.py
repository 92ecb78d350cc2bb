"""Attributes of spans follow OpenTelemetry's semantic conventions for HTTP clients."""

from asyncio import CancelledError

import pytest

from nncache.hadoop.election_view import NameNode
from nncache.net.trace_context import TraceParent
from nncache.proxy.errors import UpstreamTimeoutError
from nncache.proxy.messages import Headers, RequestHead
from nncache.tracing.semantics import attributes_of, name_of, outcome_of, parent_of

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
NAMENODE = NameNode("nn1.example.com:9870", "nn1.example.com:8020")


def head_of(target: str = "/", method: str = "GET", *, headers: Headers = ()) -> RequestHead:
    """Return a request head as sent to a NameNode."""
    return RequestHead(method, target, headers)


def test_the_parent_is_the_first_that_the_request_names() -> None:
    """Access logs use the same one; header names are case-insensitive."""
    headers = (
        (b"Host", b"nn"),
        (b"TraceParent", f"00-{TRACE}-{PARENT}-01".encode()),
        (b"traceparent", b"\xff"),
    )
    assert parent_of(head_of(headers=headers)) == TraceParent(TRACE, PARENT, is_sampled=True)
    assert parent_of(head_of(headers=headers[::-1])) is None
    assert parent_of(head_of(headers=headers[:1])) is None


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/webhdfs/v1/w/f?op=OPEN&delegation=secret", "/webhdfs/v1/w/f"),
        ("/webhdfs/v1/w/f", "/webhdfs/v1/w/f"),
        ("/webhdfs/v1/w/\udcff%20x?", "/webhdfs/v1/w/%FF%20x"),
        ("/webhdfs/v1/f;delegation=secret", "/webhdfs/v1/f;delegation=..."),
        ("http://joe:secret@nn/webhdfs/v1/f?op=OPEN", "http://...@nn/webhdfs/v1/f"),
        ("/" + 9_000 * "a", "/" + 8_191 * "a" + "..."),
    ],
)
def test_a_path_holds_no_query_and_no_credential(target: str, path: str) -> None:
    """It is ASCII, with the length limit of the logs."""
    assert attributes_of(head_of(target), NAMENODE)["url.path"] == path


@pytest.mark.parametrize(
    ("method", "name", "value"), [("PUT", "PUT", "PUT"), ("put", "HTTP", "_OTHER"), ("X1", "HTTP", "_OTHER")]
)
def test_a_span_has_one_of_few_names(method: str, name: str, value: str) -> None:
    """A client cannot choose the name."""
    head = head_of(method=method)
    assert name_of(head) == name
    assert attributes_of(head, NAMENODE)["http.request.method"] == value


def test_the_server_is_the_namenode() -> None:
    """It is the NameNode that was called; an IPv6 address has no brackets."""
    found = attributes_of(head_of(), NAMENODE)
    assert (found["server.address"], found["server.port"]) == ("nn1.example.com", 9870)
    assert attributes_of(head_of(), NameNode("[::1]:1", "[::1]:2"))["server.address"] == "::1"


@pytest.mark.parametrize(
    ("status", "error", "outcome"),
    [
        (200, None, {"http.response.status_code": 200}),
        (307, None, {"http.response.status_code": 307}),
        (404, None, {"http.response.status_code": 404, "error.type": "404"}),
        (503, None, {"http.response.status_code": 503, "error.type": "503"}),
        (0, UpstreamTimeoutError("no answer"), {"error.type": "UpstreamTimeoutError"}),
        (
            200,
            UpstreamTimeoutError("stopped"),
            {"http.response.status_code": 200, "error.type": "UpstreamTimeoutError"},
        ),
        (0, None, {"error.type": "abandoned"}),
        (0, CancelledError(), {"error.type": "abandoned"}),
    ],
)
def test_an_outcome_names_its_error(
    status: int, error: BaseException | None, outcome: dict[str, str | int]
) -> None:
    """An exception that broke the reply off takes precedence over its status."""
    assert outcome_of(status, error) == outcome
