"""Read a request: its meaning, and whether the cache may take part in it.

Pure. The only reader of requests, whichever authenticates them: the request itself, a delegation token, or the proxy.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import inf
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import (
    MAX_QUERIES,
    StatusRequest,
    WebHdfsCall,
    has_plain_fields,
    may_be_remembered,
    parse_call,
    parse_plain,
)
from nncache.net.http1.head import HARMLESS_FIELDS, MAX_BLOCK_BYTES
from nncache.proxy.admission import AdmittedRequest, AuthLease
from nncache.proxy.headers import encode_fields, end_to_end_of_request, forwarded_for, request_headers
from nncache.proxy.identity import Credential, Unclear, authentication_of, caller_of, claimed_caller
from nncache.proxy.messages import Headers, RequestHead

_ODD_HEADERS = frozenset(
    {
        b"authorization",  # SPNEGO: the credential is not in the target
        b"expect",  # 100-continue announces a body
        b"origin",  # hadoop.http.cross-origin.enabled answers it with headers of its own
        b"proxy-authorization",  # a credential again
        b"transfer-encoding",  # a body
    }
)
_NEVER: Final = Caller("")


class CacheDirective(Enum):
    """Whether a read may use the cache."""

    ORDINARY = "ordinary"
    """Answer from memory, or ask and keep the answer."""
    REFRESH = "refresh"
    """Ask the NameNode, and keep its answer (RFC 9111, section 5.2.1.4, no-cache)."""
    NO_TRACE = "no-trace"
    """Forward the call; it neither reads nor fills the cache."""


def cache_directive_of(headers: Collection[tuple[bytes, bytes]]) -> CacheDirective:
    """Return the cache directive of the raw headers of a plain read.

    A field that could change the NameNode's answer keeps the cache out; cookies are left to `authentication_of`.
    `Pragma: no-cache` counts only without `Cache-Control` (RFC 9111, section 5.4).
    """
    directives: set[bytes] = set()
    says_cache_control = pragma_no_cache = False
    for raw_name, value in headers:
        name = raw_name.lower()
        if name in _ODD_HEADERS:
            return CacheDirective.NO_TRACE
        match name:
            case b"content-length" if value.strip() != b"0":
                return CacheDirective.NO_TRACE
            case b"cache-control":
                says_cache_control = True
                directives.update(directive.strip().lower() for directive in value.split(b","))
            case b"pragma":
                pragma_no_cache |= b"no-cache" in value.lower()
            case _:
                pass
    if b"no-store" in directives or not has_plain_fields(headers):
        return CacheDirective.NO_TRACE
    if directives & {b"no-cache", b"max-age=0"} or (pragma_no_cache and not says_cache_control):
        return CacheDirective.REFRESH
    return CacheDirective.ORDINARY


@dataclass(slots=True, kw_only=True)
class ParsedRequest:
    """A request that was read.

    Attributes:
        head: the request as it is sent to the NameNode.
        plain: the question to the cache; None: the request is forwarded without a trace.
        call: the operation of a request that is forwarded without a trace.
        caller: the caller, as the NameNode would tell callers apart; without meaning if `plain` is None.
        credential: the cookie or token that authenticates the request, if any.
        refresh: whether the request asks for the NameNode's own answer.
        adds: header fields that the proxy adds to the reply.
        repeatable_until: local time until which the same bytes may be answered without being read again; None: never.
        lease: the validity of the proxy's own authentication; None: the NameNode authenticates.
    """

    head: RequestHead
    plain: StatusRequest | None
    call: WebHdfsCall | None = None
    caller: Caller = _NEVER
    credential: Credential | None = None
    refresh: bool = False
    adds: Headers = ()
    repeatable_until: float | None = inf
    lease: AuthLease | None = None


class _Fields:
    """The meaning of a request's header fields.

    Attributes:
        sent: the fields that are forwarded.
        wire: `sent` in wire form; b"": without a `Host`.
        cookies: `sent` if the request has a `Cookie` field, else empty.
    """

    __slots__ = ("_directive", "_headers", "cookies", "sent", "wire")

    def __init__(self, headers: Headers, names: set[bytes]) -> None:
        self._headers = headers
        self.sent = end_to_end_of_request(headers)
        self.wire = encode_fields(self.sent) if b"host" in names else b""
        self.cookies = self.sent if b"cookie" in names else ()
        self._directive: CacheDirective | None = None

    @property
    def directive(self) -> CacheDirective:
        """Whether the cache may take part, by these fields."""
        if self._directive is None:
            self._directive = cache_directive_of(self._headers)
        return self._directive


MAX_KEPT: Final = 1_024
"""Number of sets of fields whose meaning is remembered: most clients repeat the same fields."""

_FIELD_BYTES: Final = 64  # the least memory of a field in addition to its value
_FIELDS: Final[dict[Headers, _Fields]] = {}  # without fields that hold a secret


def _read_fields(headers: Headers) -> _Fields:
    names = {name.lower() for name, _ in headers}
    read = _Fields(headers, names)
    if (
        names <= HARMLESS_FIELDS
        and sum([_FIELD_BYTES + len(value) for _, value in headers]) <= MAX_BLOCK_BYTES
    ):
        if len(_FIELDS) >= MAX_KEPT:
            _FIELDS.clear()
        _FIELDS[headers] = read
    return read


def _read_line(method: str, target: str) -> tuple[StatusRequest | WebHdfsCall, str]:
    """Return the meaning of a request line, and its claimed caller."""
    asked = (parse_plain(target) if method == "GET" else None) or parse_call(method, target)
    return asked, claimed_caller(asked)


_line_again = lru_cache(MAX_QUERIES)(_read_line)


def read_request(method: str, target: str, headers: Headers, peer: str) -> ParsedRequest:
    """Read a request that the proxy has not authenticated."""
    asked, claim = (_line_again if may_be_remembered(target) else _read_line)(method, target)
    fields = _FIELDS.get(headers) or _read_fields(headers)
    credential: Credential | None = None
    if not isinstance(asked, WebHdfsCall):
        found = authentication_of(asked, fields.cookies)
        if fields.directive is CacheDirective.NO_TRACE or isinstance(found, Unclear):
            asked = parse_call(method, target)
            claim = claimed_caller(asked)
        else:
            credential = found
    if fields.cookies:
        claim = claimed_caller(asked, fields.cookies)
    from_where = forwarded_for(peer)
    wire = fields.wire and b"%b%b: %b\r\n\r\n" % (fields.wire, *from_where)
    head = RequestHead(method, target, (*fields.sent, from_where), peer, claim, "", wire)
    if isinstance(asked, WebHdfsCall):
        return ParsedRequest(head=head, plain=None, call=asked)
    return ParsedRequest(
        head=head,
        plain=asked,
        caller=caller_of(asked, credential, peer),
        credential=credential,
        refresh=fields.directive is CacheDirective.REFRESH,
        repeatable_until=inf if asked.doas is None else None,
    )


def read_admitted(method: str, admitted: AdmittedRequest, peer: str) -> ParsedRequest:
    """Read a request of a user whom the proxy has authenticated; the service asks on the user's behalf."""
    fields = request_headers(admitted.headers, peer)
    head = RequestHead(
        method, admitted.target, fields, peer, caller=f"user.name={admitted.user}", acts_for=admitted.user
    )
    plain, directive = admitted.plain, cache_directive_of(admitted.headers)
    if plain is None or directive is CacheDirective.NO_TRACE:
        call = parse_call(method, head.target)
        return ParsedRequest(head=head, plain=None, call=call, adds=admitted.adds)
    return ParsedRequest(
        head=head,
        plain=plain,
        caller=caller_of(plain, None, peer),
        refresh=directive is CacheDirective.REFRESH,
        adds=admitted.adds,
        repeatable_until=admitted.repeatable_until,
        lease=admitted.lease,
    )
