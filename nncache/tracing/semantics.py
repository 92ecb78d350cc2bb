"""The name and attributes of a call's span, by OpenTelemetry's stable semantic conventions for HTTP client spans.

`url.full` is omitted, and `url.path` is masked as in access logs: a query may hold a delegation token.
"""

from typing import Final, TypeAlias

from nncache.hadoop.election_view import NameNode
from nncache.net.addresses import split_address
from nncache.net.trace_context import TraceParent, parse_traceparent
from nncache.proxy.messages import RequestHead
from nncache.request_logs.masking import masked

Attributes: TypeAlias = dict[str, str | int]

ERROR_TYPE: Final = "error.type"
"""The attribute that only a failed call has."""

GIVEN_UP: Final = "abandoned"
"""`error.type` of an abandoned call: its client has disconnected, or the proxy is stopping."""

_KNOWN_METHODS: Final = frozenset(
    {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
)
_OTHER_METHOD: Final = "_OTHER"
_FIRST_ERROR: Final = 400


def parent_of(head: RequestHead) -> TraceParent | None:
    """Return the client's span. The first of several `traceparent` fields counts, as in access logs."""
    field = next((value for name, value in head.headers if name.lower() == b"traceparent"), b"")
    return parse_traceparent(field.decode("latin-1"))


def name_of(head: RequestHead) -> str:
    """Return the name of a call's span. There are few different names."""
    return head.method if head.method in _KNOWN_METHODS else "HTTP"


def attributes_of(head: RequestHead, namenode: NameNode) -> Attributes:
    """Return the attributes that are known when a call is sent."""
    host, port = split_address(namenode.http)
    return {
        "http.request.method": head.method if head.method in _KNOWN_METHODS else _OTHER_METHOD,
        "url.path": masked(head.target.partition("?")[0]),
        "server.address": host,
        "server.port": port,
    }


def outcome_of(status: int, error: BaseException | None) -> Attributes:
    """Return the attributes that are known when a call ends, from its status (0 without a reply) and its error."""
    found: Attributes = {"http.response.status_code": status} if status else {}
    if isinstance(error, Exception):
        found[ERROR_TYPE] = type(error).__qualname__
    elif error is not None or not status:  # cancelled or abandoned
        found[ERROR_TYPE] = GIVEN_UP
    elif status >= _FIRST_ERROR:
        found[ERROR_TYPE] = str(status)
    return found
