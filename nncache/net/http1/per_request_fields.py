"""Header fields that differ between requests and do not change the answer.

Two heads that differ in these fields only ask the cache and the NameNode the same question: `nncache.proxy.reading`,
`nncache.proxy.identity` and `nncache.net.http1.head` only count and measure them, and a NameNode ignores them
(`tests/contracts/test_per_request_fields.py`). If the client's address changes the answer, as with `doas`, the head is
not remembered (`nncache.proxy.reading`).
"""

import re
from typing import Final

NAMES: Final = (
    "b3",  # B3 propagation (Zipkin), single header
    "baggage",  # W3C Baggage
    "date",  # RFC 9110, section 6.6.1: of a request without a body it says when it was made
    "request-id",
    "sentry-trace",
    "traceparent",  # W3C Trace Context
    "tracestate",
    "uber-trace-id",  # Jaeger
    "x-amzn-trace-id",
    "x-b3-flags",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-cloud-trace-context",
    "x-correlation-id",
    "x-forwarded-for",  # believed or not, a NameNode gets our own
    "x-real-ip",
    "x-request-id",
)


def _letters(place: int) -> bytes:
    """Return the letters at one position of the names, in both cases, as a character set of a regular expression."""
    return re.escape("".join(sorted({name[place] + name[place].upper() for name in NAMES}))).encode()


_END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(
    # Most fields differ in their first two letters. RFC 9112, section 5: no folding.
    rb"\r\n(?=[%b][%b])(?i:" % tuple(map(_letters, (0, 1)))
    + "|".join(NAMES).encode()
    + rb"):[\t\x20-\x7e]*(?=\r\n)"
)
_VALUE: Final = {
    name: re.compile(rb"\r\n%b:[ \t]*([^\r\n]*)" % name, re.IGNORECASE)
    for name in (b"x-request-id", b"traceparent")
}


def value_in(head: bytes, name: bytes) -> str:
    """Return the first value of `x-request-id` or `traceparent` in a head; "" if it is absent."""
    found = _VALUE[name].search(head)
    return "" if found is None else found[1].rstrip(b" \t").decode("latin-1")


def without_per_request_fields(head: bytes, *, max_fields: int) -> bytes:
    """Return a GET without these fields; unchanged if it has none, or is not exactly one complete head.

    A head with more than `max_fields` fields is unchanged as well; the ordinary path refuses it.
    """
    kept, count = _LINE.subn(b"", head)
    if not count or not _is_one_get(head) or head.count(b"\r\n") > max_fields + 2:
        return head
    return kept


def _is_one_get(head: bytes) -> bool:
    """Whether the bytes begin with a request line, and end with their first empty line."""
    return head.startswith(b"GET ") and head.find(_END) == len(head) - len(_END)
