"""The one place where errors become replies.

WebHDFS clients read an error from a JSON `RemoteException` (org.apache.hadoop.hdfs.web.JsonUtil, Hadoop 3.5.0),
so the proxy's own errors have that form as well.
"""

import json
import logging

from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import ProxyError
from nncache.proxy.headers import encode_fields
from nncache.proxy.messages import Header, Headers, UpstreamReply

_LOG = logging.getLogger(__name__)
_JSON: Header = (b"Content-Type", b"application/json")
_NOT_STORED: Header = (b"Cache-Control", b"no-cache")


def remote_exception(error: ProxyError) -> bytes:
    """Render the JSON body that says what went wrong."""
    name = error.java_class
    told = {"exception": name.rpartition(".")[2], "javaClassName": name, "message": f"nncache: {error}"}
    return json.dumps({"RemoteException": told}, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "replace"
    )


def _fields_of(error: ProxyError) -> Headers:
    if error.retry_after_s is None:
        return (_NOT_STORED, _JSON)
    return (_NOT_STORED, _JSON, (b"Retry-After", b"%d" % error.retry_after_s))


def error_reply(error: ProxyError, extra: Headers = ()) -> RawResponse:
    """Make the reply that an error becomes."""
    return RawResponse(
        error.status,
        error.reason,
        (*_fields_of(error), *extra),
        body=remote_exception(error),
        close=error.closes,
    )


def raw_error_reply(error: ProxyError, *, has_body: bool = True) -> bytes:
    """Render the same reply for a connection that has no request to handle; it ends the connection."""
    body = remote_exception(error)
    fields = (*_fields_of(error), (b"Content-Length", b"%d" % len(body)), (b"Connection", b"close"))
    line = f"HTTP/1.1 {error.status} {error.reason}\r\n".encode("ascii")
    return line + encode_fields(fields) + b"\r\n" + (body if has_body else b"")


def bug_reply(exc: Exception) -> RawResponse:
    """Make the reply to a request that met a bug of ours, and log it."""
    _LOG.error("A bug ended a request", exc_info=exc)
    return error_reply(ProxyError("internal error; the log of the proxy says more"))


def whole_reply(reply: UpstreamReply, fields: Headers, wire: bytes = b"") -> RawResponse:
    """Make the reply that hands on a NameNode's whole reply, with these header fields."""
    return RawResponse(reply.status, reason=reply.reason, headers=fields, wire=wire, body=reply.body)
