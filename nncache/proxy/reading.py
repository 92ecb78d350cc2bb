"""What a request is, before the cache is asked.

Pure. It is read in one place, no matter what says who asks: the request itself, a delegation token, or the proxy.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Final

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import Call, StatusRequest, parse_call, parse_plain
from nncache.net.http1.head import HARMLESS_FIELDS, MAX_BLOCK_BYTES
from nncache.proxy.cache_directives import CacheDirective, cache_directive_of
from nncache.proxy.credentials import Credential, Unclear, authentication_of
from nncache.proxy.headers import request_headers
from nncache.proxy.identity import caller_of, claimed_caller
from nncache.proxy.messages import Headers, RequestHead
from nncache.proxy.ports import Lease
from nncache.proxy.termination.terminator import Admitted

_NEVER: Final = Caller("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A request.

    Attributes:
        head: as it goes to the NameNode.
        plain: what it asks of the cache; None: it passes through without a trace.
        call: what it asks for, where it passes through.
        caller: who asks, as far as the NameNode would tell callers apart; of no meaning without `plain`.
        credential: what authenticates it, beside what its target says.
        refresh: the NameNode's own answer is wanted.
        adds: header fields of ours for the reply.
        repeatable_until: local time until which the same bytes may be answered without being read again; None: never.
        lease: by what the proxy itself says who asks, and for how long; None: the NameNode does.
    """

    head: RequestHead
    plain: StatusRequest | None
    call: Call | None = None
    caller: Caller = _NEVER
    credential: Credential | None = None
    refresh: bool = False
    adds: Headers = ()
    repeatable_until: float | None = inf
    lease: Lease | None = None


_MAX_KEPT: Final = 1_024
_FIELD_BYTES: Final = 64  # what a field takes beside its value, at least
_directive_again = lru_cache(_MAX_KEPT)(cache_directive_of)
_fields_again = lru_cache(_MAX_KEPT)(request_headers)
"""Of fields that hold no secret, from an address: most clients say the same each time."""


def _bytes_of(headers: Headers) -> int:
    return sum([_FIELD_BYTES + len(value) for _, value in headers])


def read_request(method: str, target: str, headers: Headers, peer: str) -> Reading:
    """Read a request that says by itself who asks."""
    plain = parse_plain(target) if method == "GET" else None
    names = {name.lower() for name, _ in headers}
    may_be_kept = names <= HARMLESS_FIELDS and _bytes_of(headers) <= MAX_BLOCK_BYTES
    cookies = headers if b"cookie" in names else ()
    directive = CacheDirective.NO_TRACE
    if plain is not None:
        directive = (_directive_again if may_be_kept else cache_directive_of)(headers)
    credential = authentication_of(plain, cookies) if plain is not None else None
    fields = (_fields_again if may_be_kept else request_headers)(headers, peer)
    if plain is None or directive is CacheDirective.NO_TRACE or isinstance(credential, Unclear):
        call = parse_call(method, target)
        claimed = claimed_caller(call, cookies)
        return Reading(head=RequestHead(method, target, fields, peer, claimed), plain=None, call=call)
    return Reading(
        head=RequestHead(method, target, fields, peer, claimed_caller(plain, cookies)),
        plain=plain,
        caller=caller_of(plain, credential, peer),
        credential=credential,
        refresh=directive is CacheDirective.REFRESH,
        repeatable_until=inf if plain.doas is None else None,
    )


def read_admitted(method: str, admitted: Admitted, peer: str) -> Reading:
    """Read a request of a user whom the proxy has authenticated: the service asks for them."""
    fields = request_headers(admitted.headers, peer)
    head = RequestHead(
        method, admitted.target, fields, peer, caller=f"user.name={admitted.user}", acts_for=admitted.user
    )
    plain, directive = admitted.plain, cache_directive_of(admitted.headers)
    if plain is None or directive is CacheDirective.NO_TRACE:
        call = parse_call(method, head.target)
        return Reading(head=head, plain=None, call=call, adds=admitted.adds)
    return Reading(
        head=head,
        plain=plain,
        caller=caller_of(plain, None, peer),
        refresh=directive is CacheDirective.REFRESH,
        adds=admitted.adds,
        repeatable_until=admitted.repeatable_until,
        lease=admitted.lease,
    )
