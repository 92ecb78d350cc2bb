"""Reads that are passed on without a parser, a task or a queue.

Most calls of a cluster are GETs that change nothing and are not answered from memory, from clients that say the same of
themselves each time. Such a request has a target of harmless characters and a block of header fields that the ordinary
path has parsed and vetted before, byte for byte (`nncache.proxy.plain_blocks`); the target is read by the same
functions as ever (`nncache.proxy.plain_targets`). Whatever does not fit, or does not go smoothly, is for the ordinary
path.
"""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, cast

from nncache.cache.metadata_cache import MetadataCache
from nncache.proxy.cache_directives import CacheDirective
from nncache.proxy.cache_status import ForwardReason, forwarded, shows_path
from nncache.proxy.clients.request import InFlight
from nncache.proxy.identity import claim_of
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Header
from nncache.proxy.plain_blocks import Block, PlainBlocks
from nncache.proxy.plain_fills import PlainClient, PlainFills, PlainFrontEnd, PlainUpstream, Question
from nncache.proxy.plain_targets import PlainTarget, PlainTargets
from nncache.proxy.ports import Clock
from nncache.proxy.traffic import Exchange, Result
from nncache.proxy.upstream.plain_exchange import Begun, PlainExchange
from nncache.proxy.upstream.plain_reply import PlainReply

_log = logging.getLogger(__name__)

MAX_HEAD_BYTES: Final = 8_192
"""Longer heads are for the ordinary path."""

_LINE: Final = re.compile(rb"GET (/webhdfs/v1/[A-Za-z0-9._~/?&=:@%,+*!$();-]*) HTTP/1\.1\r\n")


class QuickCall(Protocol):
    """A call that a connection has begun.

    Attributes:
        head: the request.
    """

    @property
    def head(self) -> bytes:
        """The request."""

    def hand_over(self) -> "InFlight":
        """Return the call in its present state; those who continue it count it again."""

    def abandon(self) -> None:
        """Go on, or end, without the client."""


class PlainPath(Protocol):
    """`PlainCalls`, or several (`nncache.proxy.federated`)."""

    @property
    def requests(self) -> int:
        """Those that ended here, one way or the other."""

    @property
    def under_way(self) -> int:
        """Those under way."""

    @property
    def errors(self) -> int:
        """Exceptions of our own, each logged (FailToNameNode)."""

    def learn(self, head: bytes, fields: Iterable[Header]) -> None:
        """Take note of the fields of a vetted GET without a body, after which its connection goes on."""

    def concerns(self, head: bytes) -> bool:
        """Whether `begin` would forward it, if nothing stood against that for the moment."""

    def begin(self, head: bytes, peer: str, holder: str, client: PlainClient) -> QuickCall | None:
        """Pass a call on, or ask what may be kept, if it is one of these and can be sent at once."""


@dataclass(slots=True)
class _Reading:
    """What a request is.

    Attributes:
        line: its request line.
        text: of its header fields, what goes to the NameNode.
        caller: who asks, as the request says; limits go by it.
        why: it is forwarded without a trace; None: it may be kept.
        now: when that was found.
    """

    block: Block
    line: bytes
    text: bytes
    target: PlainTarget
    caller: str
    why: ForwardReason | None
    now: float


class PlainCall:
    """One call under way.

    Attributes:
        head: the request.
    """

    __slots__ = ("_calls", "_client", "_exchange", "_holder", "_seen", "_why", "head")

    def __init__(
        self,
        calls: "PlainCalls",
        client: PlainClient,
        head: bytes,
        why: ForwardReason,
        holder: str,
        seen: Exchange,
    ) -> None:
        self.head = head
        self._calls = calls
        self._client = client
        self._why = why
        self._holder = holder
        self._seen = seen
        self._exchange: PlainExchange | None = None

    def sent(self, exchange: PlainExchange) -> None:
        """Take note of what brings the reply."""
        self._exchange = exchange

    def replied(self, reply: PlainReply) -> None:
        """Send the NameNode's reply on."""
        seen = self._seen
        seen.result, seen.status, seen.body_bytes = Result.FORWARDED, reply.status, len(reply.body)
        self._calls.ended(seen, self._why, self._holder)
        said = forwarded(self._why, is_shown=shows_path(reply.status, reply.body))
        if reply.sets_secure_cookie and not self._client.is_over_tls:
            reply = self._calls.cookies.plain_reply_for(reply)
        self._client.replied(reply.encode(said))

    def unfinished(self) -> None:
        """Leave the rest to the ordinary path."""
        self._client.unfinished()

    def hand_over(self) -> Begun:
        """Return the call in its present state; those who continue it count it again."""
        self._calls.left(self._holder, self._seen.caller)
        assert self._exchange is not None
        return self._exchange.hand_over()

    def abandon(self) -> None:
        """End it: the client is gone."""
        self._calls.ended(self._seen, self._why, self._holder)
        assert self._exchange is not None
        self._exchange.abandon()


class PlainCalls:
    """Forwards such calls.

    Invariants:
        P1  A call is counted in `CallLimits` from `begin` to `ended` or `left`.
    """

    def __init__(
        self,
        front_end: PlainFrontEnd,
        cache: MetadataCache,
        upstream: PlainUpstream,
        clock: Clock,
        limits: LimitSettings,
    ) -> None:
        self._cache = cache
        self._upstream = upstream
        self.cookies = front_end.cookies
        self._call_limits = front_end.call_limits
        self._count = front_end.plain_ended
        self._fills = PlainFills(front_end, cache, upstream, clock)
        self._clock = clock
        self._max_head_bytes = min(MAX_HEAD_BYTES, limits.max_head_bytes)
        self.blocks = PlainBlocks()
        self._targets = PlainTargets()
        self._forwarded = 0  # ended, one way or the other
        self._under_way = 0
        self._errors = 0  # exceptions of our own, each logged (FailToNameNode)

    @property
    def requests(self) -> int:
        """Those that ended here, one way or the other."""
        return self._forwarded + self._fills.requests

    @property
    def under_way(self) -> int:
        """Those under way."""
        return self._under_way + self._fills.under_way

    @property
    def errors(self) -> int:
        """Exceptions of our own, each logged (FailToNameNode)."""
        return self._errors + self._fills.errors

    def learn(self, head: bytes, fields: Iterable[Header]) -> None:
        """Take note of the fields of a vetted GET without a body, after which its connection goes on."""
        self.blocks.learn(head[head.index(b"\r\n") + 2 :], tuple(fields))

    def concerns(self, head: bytes) -> bool:
        """Whether `begin` would forward it, if nothing stood against that for the moment."""
        return self._read(head) is not None

    def begin(self, head: bytes, peer: str, holder: str, client: PlainClient) -> QuickCall | None:
        """Pass a call on, or ask what may be kept, if it is one of these and can be sent at once.

        Args:
            head: all that came of the client.
            peer: the client's address.
            holder: under which name that has its share (`nncache.net.shares.holder_of`).
            client: gets the outcome later.
        """
        read = self._read(head)
        if read is None:
            return None
        target, caller = read.target, read.caller
        seen = Exchange("GET", target.text, peer, read.now or self._clock())
        seen.operation, seen.caller = target.operation, caller
        peer_text = peer.encode("ascii", "replace")
        request = b"%b%bX-Forwarded-For: %b\r\n\r\n" % (read.line, read.text, peer_text)
        if read.why is None:
            assert target.plain is not None
            question = Question(
                text=head,
                target=target.text,
                plain=target.plain,
                fields=read.text,
                credential=target.token or read.block.credential,
                request=request,
                peer=peer,
                holder=holder,
                caller=caller,
                is_fresh=read.block.directive is CacheDirective.REFRESH,
                seen=seen,
            )
            return self._fills.begin(question, client)
        if not self._call_limits.enter(holder, caller):
            return None
        call = PlainCall(self, client, head, read.why, holder, seen)
        exchange = self._upstream.begin_plain(request, holder, call)
        if exchange is None:
            self._call_limits.leave(holder, caller)
            return None
        call.sent(exchange)
        self._under_way += 1
        return call

    def ended(self, seen: Exchange, why: ForwardReason, holder: str) -> None:
        """Count a call that ended here."""
        self._forwarded += 1
        self._count(seen, why)
        self.left(holder, seen.caller)

    def left(self, holder: str, caller: str) -> None:
        """Count one call less."""
        self._under_way -= 1
        self._call_limits.leave(holder, caller)

    def _read(self, head: bytes) -> _Reading | None:
        """Say what a request is; None if it takes the ordinary path."""
        try:
            return self._read_or_fail(head)
        except Exception:  # noqa: BLE001 - FailToNameNode: the ordinary path has it, whatever it is
            self._errors += 1
            _log.exception("internal error while reading a call; it goes the ordinary way")
            return None

    def _read_or_fail(self, head: bytes) -> _Reading | None:
        line = _LINE.match(head) if len(head) <= self._max_head_bytes else None
        if line is None:
            return None
        rest = head[line.end() :]
        block = self.blocks.find(rest)
        if block is None:
            return None
        target = line[1].decode("ascii")
        read = self._targets.read(target)
        if read is None or (read.token is not None and block.text is None):
            return None  # a token beside a cookie
        why, now = cast("ForwardReason | None", read.why_not_asked), 0.0
        if read.plain is not None and block.directive is not CacheDirective.NO_TRACE:
            now = self._clock()
            why = self._cache.why_no_trace(read.plain.path, now)
            is_fresh = block.directive is CacheDirective.REFRESH
            if why is None and not self._fills.concerns(read.plain, is_fresh=is_fresh):
                return None
        caller = read.caller if block.user is None else claim_of(block.user, read.doas)
        return _Reading(block, line[0], block.text_of(rest), read, caller, why, now)
