"""Make the HTTP reply of an answer to a plain GETFILESTATUS."""

from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, TypeAlias, assert_never

from nncache.cache.entries import Hit
from nncache.cache.replies import StoredReply
from nncache.hadoop.calls import StatusRequest
from nncache.net.http1.conditional import Conditions, etag_of
from nncache.proxy.admission import CHALLENGE, CLEAR_COOKIE
from nncache.proxy.cache_status import (
    COLLAPSED,
    HIT,
    NOT_ADMITTED,
    WAITED_HIT,
    ForwardReason,
    forwarded,
    shows_path,
)
from nncache.proxy.clients.cached_reply import DateText, body_of, cached_reply
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse, error_reply, whole_reply
from nncache.proxy.decide.issued_tokens import IssuedTokens
from nncache.proxy.decide.ports import Clock
from nncache.proxy.decide.reads import (
    Collapsed,
    ForwardWithoutTrace,
    FromMemory,
    FromNameNode,
    NotAdmitted,
    ReadAnswer,
    Unanswered,
)
from nncache.proxy.decide.waits import Waited
from nncache.proxy.errors import ProxyError, UnauthenticatedError
from nncache.proxy.headers import SecureCookies, replayed_headers
from nncache.proxy.messages import Header, Headers, UpstreamReply
from nncache.proxy.reading import ParsedRequest
from nncache.proxy.traffic import Exchange, Result, result_of

_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


Remember: TypeAlias = Callable[[bytes, Hit, bytes, float, bool], None]
"""Remembers the head of a hit, and the body that answered it (`nncache.proxy.clients.fastpath`).

The last two arguments: local time until which the head may be answered again; whether the connection then closes.
"""


class Answers:
    """Makes replies, and records the results of their requests.

    Attributes:
        cookies: decides which cookies of a reply a client may receive.
        issued: the delegation tokens whose owners the proxy knows.
        remember: remembers hits for the fast path; None: hits are not remembered.
        forwarded: number of requests for which a NameNode was asked, by reason.
    """

    def __init__(
        self,
        clock: Clock,
        cookies: SecureCookies | None = None,
        issued: IssuedTokens | None = None,
        remember: Remember | None = None,
    ) -> None:
        """Start with all counts at zero; without `issued` the proxy knows no token's owner."""
        self._clock = clock
        self._dates = DateText()
        self.cookies = cookies or SecureCookies()
        self.issued = issued or IssuedTokens(clock, believed_for_s=0.0)
        self.remember = remember
        self.forwarded: Counter[ForwardReason] = Counter()

    def note_forwarded(self, exchange: Exchange, why: ForwardReason) -> None:
        """Count a request for which a NameNode is asked: once, even if it is asked again after an internal error."""
        if exchange.why is None:
            self.forwarded[why] += 1
        exchange.why = why

    def plain(
        self,
        request: Request,
        exchange: Exchange,
        reading: ParsedRequest,
        answer: FromMemory | Collapsed | FromNameNode | Unanswered | NotAdmitted,
        *,
        is_secure: bool,
    ) -> RawResponse:
        """Make the reply to a request without conditions; the head of a hit may be remembered."""
        response = self._reply(exchange, reading, Waited(answer=answer), HIT, is_secure=is_secure)
        if isinstance(answer, FromMemory) and self.remember is not None:
            head, body, until = request.whole, response.whole_body, reading.repeatable_until
            if head is not None and body is not None and until is not None:
                is_last = request.repeatable is None
                self.remember(head, answer.hit, body, until, is_last)
        return response

    def passed_on(
        self, exchange: Exchange, reply: UpstreamReply, why: ForwardReason, *, is_secure: bool
    ) -> RawResponse:
        """Make the reply to a request that has left no trace."""
        self.note_forwarded(exchange, why)
        exchange.result = Result.FORWARDED
        return self._whole(
            reply, (forwarded(why, is_shown=shows_path(reply.status, reply.body)),), is_secure=is_secure
        )

    def _whole(self, reply: UpstreamReply, adds: Headers, *, is_secure: bool) -> RawResponse:
        """Make the reply that forwards a NameNode's, with the header fields `adds` after its own."""
        if reply.wire is None:
            return whole_reply(reply, (*self.cookies.for_client(reply.headers, is_secure=is_secure), *adds))
        return whole_reply(reply, adds, self.cookies.wire_for_client(reply.wire, is_secure=is_secure))

    def with_conditions(
        self,
        exchange: Exchange,
        reading: ParsedRequest,
        waited: Waited[ReadAnswer],
        conditions: Conditions,
        *,
        is_secure: bool,
    ) -> RawResponse:
        """Make the reply to a request with conditions, which may have been held.

        A 200 or 404 whose body is in memory gets an `ETag` and the wait that was granted (RFC 7240, section 3). A 200
        becomes a 304 if the client has the same body already.
        """
        made = WAITED_HIT if waited.was_held else HIT
        response = self._reply(exchange, reading, waited, made, is_secure=is_secure)
        body, applied_s = response.whole_body, waited.applied_s
        if body is None or response.status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
            return response
        if conditions.is_not_modified(response.status, body):
            response = response.not_modified()
        response.add(((b"ETag", etag_of(body)),))
        if applied_s is not None:
            response.add(((b"Preference-Applied", b"wait=%d" % applied_s),))
        return response

    def failed(self, exchange: Exchange, error: ProxyError, why: ForwardReason, adds: Headers) -> RawResponse:
        """Make the error reply to a request that could not be forwarded."""
        exchange.result = result_of(error)
        return error_reply(error, (*adds, forwarded(why, is_shown=False)))

    def _reply(
        self,
        exchange: Exchange,
        reading: ParsedRequest,
        waited: Waited[ReadAnswer],
        made: Header,
        *,
        is_secure: bool,
    ) -> RawResponse:
        plain, adds = reading.plain, reading.adds
        assert plain is not None
        match waited.answer:
            case FromMemory(hit):
                exchange.result = Result.HIT
                return self._replayed(plain, hit.entry.reply, hit.entry.confirmed_at, (made, *adds))
            case Collapsed(known):
                exchange.result = Result.COLLAPSED
                return self._replayed(plain, known.reply, known.replied_at, (COLLAPSED, *adds))
            case FromNameNode(reply, why, is_stored):
                self.note_forwarded(exchange, why)
                if reply.status in _REFUSALS:
                    self.issued.refused(reading)
                exchange.result = Result.STORED if is_stored else Result.FORWARDED
                is_shown = shows_path(reply.status, reply.body)
                header = forwarded(why, is_shown=is_shown, is_stored=is_stored, is_shared=waited.is_shared)
                if waited.is_shared and is_shown:
                    return whole_reply(reply, (*replayed_headers(reply.headers), *adds, header))
                return self._whole(reply, (*adds, header), is_secure=is_secure)
            case Unanswered(error, why):
                self.note_forwarded(exchange, why)
                return self.failed(exchange, error, why, adds)
            case NotAdmitted():
                exchange.result = Result.REFUSED
                error = UnauthenticatedError("Authentication required")
                return error_reply(error, (CHALLENGE, CLEAR_COOKIE, NOT_ADMITTED))
            case ForwardWithoutTrace(why):
                raise AssertionError(f"a call that is passed through has no answer here: {why}")
            case _:
                assert_never(waited.answer)

    def _replayed(
        self, plain: StatusRequest, reply: StoredReply, replied_at: float, fields: tuple[Header, ...]
    ) -> RawResponse:
        made, *adds = fields
        body = body_of(reply, plain.as_requested)
        response = cached_reply(
            reply, body, made, replied_at=replied_at, now=self._clock(), dates=self._dates
        )
        response.add(tuple(adds))
        return response
