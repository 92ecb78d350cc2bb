"""What a span of a call says: OpenTelemetry's semantic conventions for spans of HTTP clients, the stable ones.

Without `url.full`, and `url.path` as access logs show it: a query may hold a delegation token.
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
"""`error.type` of a call whose reply was no longer waited for: its client has left, or the proxy ends."""

_KNOWN_METHODS: Final = frozenset(
    {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"}
)
_OTHER_METHOD: Final = "_OTHER"
_FIRST_ERROR: Final = 400


def parent_of(head: RequestHead) -> TraceParent | None:
    """Return the client's span; of several fields the first counts, as in access logs."""
    field = next((value for name, value in head.headers if name.lower() == b"traceparent"), b"")
    return parse_traceparent(field.decode("latin-1"))


def name_of(head: RequestHead) -> str:
    """Return the name of a call's span: of few values."""
    return head.method if head.method in _KNOWN_METHODS else "HTTP"


def attributes_of(head: RequestHead, namenode: NameNode) -> Attributes:
    """Return what is known of a call when it is sent."""
    host, port = split_address(namenode.http)
    return {
        "http.request.method": head.method if head.method in _KNOWN_METHODS else _OTHER_METHOD,
        "url.path": masked(head.target.partition("?")[0]),
        "server.address": host,
        "server.port": port,
    }


def outcome_of(status: int, error: BaseException | None) -> Attributes:
    """Return what is known of a call at its end, by the status of its reply, 0 for none, and what ended it."""
    found: Attributes = {"http.response.status_code": status} if status else {}
    if isinstance(error, Exception):
        found[ERROR_TYPE] = type(error).__qualname__
    elif error is not None or not status:  # cancelled, or not waited for
        found[ERROR_TYPE] = GIVEN_UP
    elif status >= _FIRST_ERROR:
        found[ERROR_TYPE] = str(status)
    return found
