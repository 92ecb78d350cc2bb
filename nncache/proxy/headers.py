"""Which header fields are forwarded, and which of them a cached reply repeats.

Deliberately absent: nncache adds neither `Via` nor `Server` (guarantee Verbatim: what passes through is
unchanged). The front end is a gateway: to its clients it *is* the NameNode's WebHDFS address.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nncache.net.http1.reply import HeadKind, ReplyHead
from nncache.proxy.messages import Header, Headers, WireFields

_log = logging.getLogger(__name__)

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"http2-settings",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""RFC 9110, section 7.6.1. Also the two credentials for the next hop, `Trailer`, since trailers are dropped, and the
field that accompanies an `Upgrade`, which is ignored (RFC 7540, section 3.2.1)."""

_NOT_TO_NOMINATE = frozenset({b"content-length", b"host"})
"""`Connection: content-length` must not remove a body's length: the body would be read as the next request."""

_NOT_SENT = HOP_BY_HOP | {b"x-forwarded-for"}
_NOT_PASSED_ON = HOP_BY_HOP | {b"content-length"}
NOT_REPLAYED = _NOT_PASSED_ON | {
    b"age",
    b"cache-status",
    b"date",
    b"expires",
    b"set-cookie",
    b"www-authenticate",
}
"""Adds the fields that each cached answer sets by itself, and credentials, which belong to one client alone."""


def _without(fields: Headers, dropped: frozenset[bytes], names: Sequence[bytes] = ()) -> Headers:
    """Drop these fields and those that `Connection` names. Most replies have none of them: that is checked first."""
    names = names or [name.lower() for name, _ in fields]
    if dropped.isdisjoint(names):
        return fields
    if b"connection" in names:
        nominated = {
            option.strip().lower()
            for name, (_, value) in zip(names, fields, strict=True)
            if name == b"connection"
            for option in value.split(b",")
        }
        dropped |= nominated - _NOT_TO_NOMINATE
    return tuple([field for name, field in zip(names, fields, strict=True) if name not in dropped])


def request_headers(headers: Iterable[Header], peer: str) -> Headers:
    """Return the header fields that the NameNode receives with a client's request.

    The NameNode takes the *first* element of `X-Forwarded-For` for the client's address (JspHelper
    getRemoteAddr, Hadoop 3.4.1). So the field is replaced by `peer`, the client's address, never appended to.
    """
    return (*end_to_end_of_request(headers), forwarded_for(peer))


def end_to_end_of_request(headers: Iterable[Header]) -> Headers:
    """Return the client's own header fields that are forwarded."""
    return _without(tuple(headers), _NOT_SENT)


def forwarded_for(peer: str) -> Header:
    """Return the `X-Forwarded-For` field with the address that a request came from."""
    return (b"X-Forwarded-For", peer.encode("ascii", "replace"))


def reply_headers(headers: Iterable[Header], names: Sequence[bytes] = ()) -> Headers:
    """Return the fields of a NameNode's reply that the client receives, without `Content-Length`.

    `names` are the names of `headers` in lower case, if the caller has them.
    """
    return _without(tuple(headers), _NOT_PASSED_ON, names)


class _PassedOn(NamedTuple):
    """The forwarded fields of a kind of reply, before and after its cookie."""

    before: Headers
    after: Headers
    wire: WireFields


def _passed_on_of(kind: HeadKind) -> _PassedOn:
    fields, at = kind.head.fields, kind.cookie_at
    before, after = reply_headers(fields[:at]), () if at is None else reply_headers(fields[at:])
    wire = WireFields(encode_fields(before), None, encode_fields(after), replayed_headers((*before, *after)))
    return _PassedOn(before, after, wire)


def passed_on(head: ReplyHead) -> tuple[Headers, WireFields | None]:
    """Return the fields that `reply_headers` keeps, and their wire form if the kind of reply is known."""
    kind = head.kind
    if kind is None:
        return reply_headers(head.fields, head.names), None
    kept = kind.derived
    if not isinstance(kept, _PassedOn):
        kept = kind.derived = _passed_on_of(kind)
    before, after, wire = kept
    if kind.cookie_at is None:
        return before, wire
    cookie = head.fields[kind.cookie_at]
    return (*before, cookie, *after), WireFields(wire.start, cookie, wire.end, wire.replayed)


def replayed_headers(headers: Iterable[Header]) -> Headers:
    """Return the fields of a NameNode's reply that each cached answer repeats, in the NameNode's order."""
    return _without(tuple(headers), NOT_REPLAYED)


def encode_fields(headers: Iterable[Header]) -> bytes:
    """Encode header fields for the wire, without the empty line that ends them."""
    return b"".join([b"%b: %b\r\n" % field for field in headers])


class SecureCookies:
    """Removes `Set-Cookie` fields with `Secure` from replies to clients without TLS.

    Over HTTPS a NameNode sets its `hadoop.auth` cookie with `Secure`. The cookie must not cross a network in clear,
    since an eavesdropper could use it until it expires. Clients ignore a `Secure` cookie that they receive on a plain
    connection (RFC 6265bis, section 5.7), so they lose nothing.

    Attributes:
        removed: number of fields removed since start.
    """

    def __init__(self) -> None:
        self.removed = 0

    def for_client(self, headers: Headers, *, is_secure: bool = False) -> Headers:
        """Return the fields that the client may receive; `is_secure`: the connection uses TLS."""
        if is_secure:
            return headers
        kept = tuple(
            [field for field in headers if field[0].lower() != b"set-cookie" or not _is_secure(field[1])]
        )
        if len(kept) != len(headers):
            self._note(len(headers) - len(kept))
        return kept

    def wire_for_client(self, wire: WireFields, *, is_secure: bool) -> bytes:
        """Return the fields that the client may receive, in wire form."""
        start, cookie, end, _ = wire
        if cookie is None:
            return start
        if not is_secure and _is_secure(cookie[1]):
            self._note(1)
            return start + end
        return b"%b%b: %b\r\n%b" % (start, *cookie, end)

    def _note(self, removed: int) -> None:
        if not self.removed:
            _log.warning(
                "a NameNode sets a Secure cookie, and the client's connection is not TLS: the cookie was removed from "
                "the reply, as from all such replies from now on; clients that log in with Kerberos get no cookie, and "
                "negotiate each time; they get one at tls_listen"
            )
        self.removed += removed


def _is_secure(value: bytes) -> bool:
    """Whether a cookie has the attribute `Secure`, in any case (RFC 6265, section 5.2)."""
    if b"secure" not in value.lower():
        return False
    attributes = value.split(b";")[1:]
    return any(attribute.partition(b"=")[0].strip().lower() == b"secure" for attribute in attributes)
