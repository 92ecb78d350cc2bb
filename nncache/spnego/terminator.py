"""Authenticate a request, and choose the user for the NameNode.

The rules are those of docs/decisions/0019; each has a broken variant in tests/model/variants/termination_rules.txt.
"""

import logging
from base64 import b64encode
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Final, assert_never

from nncache.hadoop.kerberos.auth_to_local import AuthToLocal, NoRuleError
from nncache.hadoop.kerberos.gss import Accepted, RefusedToken
from nncache.hadoop.proxy_users import refusal
from nncache.hadoop.users import is_user_name
from nncache.net.log_throttle import ThrottledLog
from nncache.proxy.admission import CHALLENGE, CLEAR_COOKIE, WEBHDFS, AdmittedRequest, ByToken
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse, date_field, error_reply
from nncache.proxy.decide.ports import Admission, RejectedRequest
from nncache.proxy.errors import BadTicketError, ClientError, NotJudgedError, ProxyError, UnauthenticatedError
from nncache.proxy.messages import Header, Headers
from nncache.spnego.cookies import (
    Keys,
    LoginSession,
    encode_cookie,
    may_be_named,
    session_of,
)
from nncache.spnego.handshakes import NEGOTIATE, Handshakes
from nncache.spnego.impersonation import Impersonation
from nncache.spnego.stats import TerminationStats
from nncache.spnego.target import read_target

_log = logging.getLogger(__name__)

# As a NameNode with its default configuration sends them (HttpServer2, 3.4.1 and 3.5.0).
_REFUSAL_FIELDS: Final[Headers] = (
    (b"Cache-Control", b"no-cache"),
    (b"Pragma", b"no-cache"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-FRAME-OPTIONS", b"SAMEORIGIN"),
    (b"X-XSS-Protection", b"1; mode=block"),
    (b"Content-Type", b"application/json"),
)
_OF_THE_CLIENT: Final = frozenset({b"authorization", b"cookie"})
_CONTENT_TYPE: Final = b"content-type"
_NO_FORM: Final = b"application/octet-stream"
"""The type of every forwarded body: a NameNode would read parameters from a form. curl declares any data as a form."""


class SessionLease:
    """A `nncache.proxy.admission.AuthLease`: a session ends when its cookie expires or its signing key is retired."""

    __slots__ = ("_ends_at_ms", "_key", "_keys", "_unix_time", "ends_at")

    otherwise: Final = None

    def __init__(
        self, session: LoginSession, keys: Callable[[], Keys], unix_time: Callable[[], float], ends_at: float
    ) -> None:
        self._ends_at_ms = session.ends_at_ms
        self._key = session.key
        self._keys = keys
        self._unix_time = unix_time
        self.ends_at = ends_at

    def is_good(self) -> bool:
        """Whether the session's cookie would be accepted now."""
        return self._unix_time() * 1000 < self._ends_at_ms and self._key in self._keys().keys


class Terminator:
    """Authenticates requests.

    Invariants:
        T1  A user is admitted by a ticket or a cookie that was verified for this very request.
        T2  The only client credential that reaches a NameNode is a delegation token, with no other credential.
        T3  A client's `doas` is authorized for this very request, by the address of its connection.
        T4  Everything that a NameNode reads as a parameter is in the target, never in the body.
    """

    def __init__(
        self,
        handshakes: Handshakes,
        keys: Callable[[], Keys],
        names: AuthToLocal,
        impersonation: Impersonation,
        clock: Callable[[], float],
        *,
        unix_time: Callable[[], float],
        validity_s: int,
    ) -> None:
        """Take the components; `unix_time` is the clock of cookies, which proxies on other hosts read as well."""
        self._handshakes = handshakes
        self._keys = keys
        self._names = names
        self._impersonation = impersonation
        self._clock = clock
        self._unix_time = unix_time
        self._validity_s = validity_s
        self._throttled = ThrottledLog(_log, clock)
        self._challenges = 0

    def stats(self, *, login_failures: int = 0) -> TerminationStats:
        """Return the figures since the start, with the failures of the service's own login."""
        return TerminationStats(
            tickets=dict(self._handshakes.counts),
            challenges=self._challenges,
            doas_refused=self._impersonation.refused,
            login_failures=login_failures,
        )

    async def admit(self, request: Request, prefix: str = WEBHDFS) -> Admission:
        """Authenticate one request, whose path must begin with the prefix."""
        headers: Headers = request.fields
        kept = tuple(map(_as_no_form, (each for each in headers if each[0].lower() not in _OF_THE_CLIENT)))
        peer = request.peer
        try:
            target = read_target(request.target, prefix)
            if target.has_token:
                return ByToken(kept)
            session, adds, is_by_cookie = await self._authenticated(
                headers, peer, is_secure=request.connection.is_over_tls
            )
        except UnauthenticatedError as error:
            self._challenges += 1
            return RejectedRequest(error_reply(error, (CHALLENGE, CLEAR_COOKIE)))
        except ProxyError as error:
            return RejectedRequest(error_reply(error))
        user = session.user
        if target.doas is not None and target.doas != user:
            if not target.doas:
                return RejectedRequest(error_reply(ClientError("doas names no user"), adds))
            if (fault := await self._impersonation.fault_of(user, target.doas, peer)) is not None:
                return RejectedRequest(_refusal(fault, adds))
            user = target.doas
        if not is_user_name(user):
            return RejectedRequest(error_reply(ClientError(f"{user!r} is no name of a user"), adds))
        ends_at = self._local(session.ends_at_ms)
        return AdmittedRequest(
            user=user,
            target=target.for_user(user),
            plain=target.plain_for(user) if request.method == "GET" else None,
            headers=kept,
            adds=adds,
            repeatable_until=ends_at if is_by_cookie and target.doas is None else None,
            lease=SessionLease(session, self._keys, self._unix_time, ends_at),
        )

    def _local(self, ends_at_ms: int) -> float:
        """Return the local time of a Unix time."""
        return self._clock() + ends_at_ms / 1000 - self._unix_time()

    async def _authenticated(
        self, headers: Headers, peer: str, *, is_secure: bool
    ) -> tuple[LoginSession, Headers, bool]:
        """Return the session, header fields for the reply, and whether a cookie authenticated it.

        A valid cookie takes precedence over `Authorization`, as at a NameNode. An invalid one is ignored.

        Raises:
            ProxyError: the client is not authenticated.
        """
        session = session_of(_values(headers, b"cookie"), self._keys(), self._unix_time() * 1000)
        if session is not None:
            return session, (), True
        authorization = _values(headers, b"authorization")
        if len(authorization) != 1 or authorization[0].split(b" ", 1)[0].lower() != NEGOTIATE:
            raise UnauthenticatedError("Authentication required")
        try:
            verdict = await self._handshakes.judge(authorization[0], peer)
        except NotJudgedError as error:
            self._throttled.warn(str(error))
            raise NotJudgedError("the ticket could not be judged; the log of the proxy says why") from error
        match verdict:
            case Accepted():
                session = self._session(verdict.initiator)
                answer: Header = (b"WWW-Authenticate", b"Negotiate " + b64encode(verdict.reply))
                return session, (answer, encode_cookie(session, self._keys(), is_secure=is_secure)), False
            case RefusedToken(why):
                raise BadTicketError(f"the ticket is refused: {why}")
            case _:
                assert_never(verdict)

    def _session(self, principal: str) -> LoginSession:
        try:
            user = self._names.short_name(principal)
        except NoRuleError as error:
            raise BadTicketError(str(error)) from error
        if not (is_user_name(user) and may_be_named(user) and may_be_named(principal)):
            raise BadTicketError(f"{principal} is known as {user!r}, which is no name of a user")
        ends_at_ms = int((self._unix_time() + self._validity_s) * 1000)
        return LoginSession(user, principal, ends_at_ms, self._keys().keys[0])


def _values(headers: Iterable[Header], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _as_no_form(field: Header) -> Header:
    return (field[0], _NO_FORM) if field[0].lower() == _CONTENT_TYPE else field


def _refusal(message: str, adds: Headers) -> RawResponse:
    """Return the reply that a NameNode gives to a user who may not impersonate another."""
    status = HTTPStatus.FORBIDDEN
    return RawResponse(status, status.phrase, (date_field(), *_REFUSAL_FIELDS, *adds), body=refusal(message))
