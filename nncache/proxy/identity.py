"""Who asks: what authenticates a request, and how a NameNode would tell callers apart.

The NameNode authenticates; nncache remembers that it has accepted exactly these bytes. A reply proves its credential
only where it says nothing of another one: `docs/decisions/0018` has the rules and what each of them prevents.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from math import inf
from typing import Final, TypeAlias

from nncache.cache.clock_eviction import Caller
from nncache.hadoop.calls import Call, PlainArguments, StatusRequest, parse_plain
from nncache.hadoop.credentials import (
    COOKIE_NAME,
    SIMPLE,
    AuthCookie,
    DelegationToken,
    parse_auth_cookie,
    parse_cancelled_token,
    parse_delegation_token,
)
from nncache.hadoop.rpc.user import RpcUser
from nncache.hadoop.users import is_user_name, read_claimed_user
from nncache.net.http1.head import HARMLESS_FIELDS
from nncache.net.http1.per_request_fields import NAMES as PER_REQUEST_NAMES
from nncache.proxy.messages import Header, RequestHead

_CANCEL: Final = "CANCELDELEGATIONTOKEN"

_SHOWN_CHARS: Final = 64  # of the user whom a credential names

MARGIN_S: Final = 2.0
"""By which a proof ends before its credential: `Date` counts whole seconds and is kept for one (Jetty)."""

_READ_OR_HARMLESS: Final = (
    HARMLESS_FIELDS | {b"if-none-match", b"prefer"} | set(map(str.encode, PER_REQUEST_NAMES))
)

_OF_NO_CREDENTIAL: Final = re.compile(rb'hadoop\.auth=(?:"?u=[^&;"]*&p=[^&;"]*&t=simple&|(?:"")?(?:;|$))')
"""A cookie that a NameNode makes for `user.name`, or with which it takes one back."""

_MAX_CLAIM_CHARS: Final = 64
"""A longer claim is known by its digest: it may stay for as long as the window of a two-step write."""


@dataclass(frozen=True, slots=True)
class Credential:
    """One cookie or one delegation token, by its digest.

    Attributes:
        name: tells it apart from every other one; holds nothing of which it can be made again.
        claims: the user that it names. Only the NameNode's acceptance makes that true.
        ends_at_ms: when it ends by itself, in milliseconds of Unix time of the NameNode's clock.
    """

    name: str
    claims: str
    ends_at_ms: int


class Unclear(Enum):
    """Why it is not certain what authenticates a request."""

    UNCLEAR = "unclear"
    """Several credentials, or one that only its NameNode can read: the call passes through, without a trace."""


Authentication: TypeAlias = Credential | Unclear | None
"""None: what the request says by itself, in `user.name` and `doas`."""


def authentication_of(plain: StatusRequest, headers: Iterable[Header]) -> Authentication:
    """Say what authenticates a plain read; `Authorization` is seen to before (`nncache.proxy.reading`)."""
    cookies = [value for name, value in headers if name.lower() == b"cookie"]
    cookie = _auth_cookie(cookies) if cookies else None
    if cookie is Unclear.UNCLEAR:
        return cookie
    if plain.delegation is not None:
        # A NameNode goes by the token alone (3.4.1 and 3.5.0): other credentials may be meant for another release.
        if cookie is not None or plain.user_name is not None or plain.doas is not None:
            return Unclear.UNCLEAR
        token = parse_delegation_token(plain.delegation)
        if token is None:
            return Unclear.UNCLEAR
        return Credential(token_name(token), token.owner, token.max_date_ms)
    if cookie is None or (cookie.kind == SIMPLE and plain.user_name is not None):
        return None
    # One of type simple admits a caller without user.name, who may be refused else (PseudoAuthenticationHandler).
    # All of the fields: how a parser reads the cookie may depend on the other fields.
    digest = hashlib.sha256(b"\0".join(cookies)).hexdigest()
    return Credential(_name("cookie", digest, cookie.user), cookie.user, cookie.ends_at_ms)


def token_name(token: DelegationToken) -> str:
    """Return the name of a delegation token's credential."""
    return _name("token", token.fingerprint, token.owner)


def _name(kind: str, digest: str, user: str) -> str:
    """Return a credential's name; the digest alone tells it apart, and the user is for who reads it."""
    return f"{kind}={digest}\0claims={user[:_SHOWN_CHARS]}" if user.isprintable() else f"{kind}={digest}"


def cancelled_tokens(call: Call) -> tuple[DelegationToken, ...]:
    """Return the tokens that a call cancels if it is carried out, read as loosely as a NameNode does."""
    if _CANCEL not in {value.upper() for value in call.arguments.get("op", ())}:
        return ()
    tokens = map(parse_cancelled_token, call.arguments.get("token", ()))
    return tuple(token for token in tokens if token is not None)


def cancelled_by(call: Call) -> tuple[str, ...]:
    """Return the names of the tokens that a call cancels if it is carried out."""
    return tuple(map(token_name, cancelled_tokens(call)))


def claimed_user(headers: Iterable[Header]) -> str | None:
    """Return whom the authentication cookie of any request names; None without one. It proves nothing."""
    cookies = [value for name, value in headers if name.lower() == b"cookie"]
    cookie = _auth_cookie(cookies) if cookies else None
    return cookie.user if isinstance(cookie, AuthCookie) and cookie.kind != SIMPLE else None


def unread_fields(headers: Iterable[Header]) -> bytes:
    """Return a digest of the fields by which a NameNode may know who asks, and nncache does not; b"" if there are none.

    Of cookies all but `hadoop.auth` are among them.
    """
    found = []
    for name, value in headers:
        match name.lower():
            case b"cookie":
                pairs = (pair.strip(b" \t") for pair in value.split(b";"))
                found += [b"cookie:" + pair for pair in pairs if pair.partition(b"=")[0] != COOKIE_NAME]
            case key if key not in _READ_OR_HARMLESS:
                found.append(b"%b:%b" % (key, value))
            case _:
                pass
    return hashlib.sha256(b"\0".join(found)).digest() if found else b""


def is_authenticated_by_fields(headers: Iterable[Header]) -> bool:
    """Whether header fields may say who makes a request, and not (only) its target."""
    cookies = []
    for name, value in headers:
        match name.lower():
            case b"authorization":
                return True
            case b"cookie":
                cookies.append(value)
            case _:
                pass
    cookie = _auth_cookie(cookies) if cookies else None
    return cookie is Unclear.UNCLEAR or (cookie is not None and cookie.kind != SIMPLE)


def proven_for_s(authentication: Credential | None, headers: Iterable[Header]) -> float | None:
    """Say for how many seconds from now a 200 or true 404 proves who asked, at most; None: it proves nothing.

    With a credential no `Set-Cookie` may come: it tells that another one was accepted, or that this one ends unless it
    is renewed (`token.max-inactive-interval`). Without one, a cookie that names another way than `simple` tells that
    something was accepted which nncache does not know. How long a credential lives is measured by the NameNode's own
    clock, in `Date` of this very reply (RFC 9110, section 6.6.1).
    """
    cookies = [value for name, value in headers if name.lower() == b"set-cookie"]
    if authentication is None:
        return inf if all(map(_is_of_no_credential, cookies)) else None
    if cookies:
        return None
    now_s = _date_s(headers)
    if now_s is None:
        return None
    left_s = authentication.ends_at_ms / 1000 - now_s - MARGIN_S
    return left_s if left_s > 0 else None


def _auth_cookie(cookies: list[bytes]) -> AuthCookie | Unclear | None:
    """Return the one authentication cookie among the values of `Cookie` fields."""
    mentions = sum(value.lower().count(COOKIE_NAME) for value in cookies)
    if mentions == 0:
        return None
    if mentions > 1:
        return Unclear.UNCLEAR
    for value in cookies:
        for pair in value.split(b";"):
            name, _, text = pair.strip(b" \t").partition(b"=")
            if name == COOKIE_NAME:
                return parse_auth_cookie(text) or Unclear.UNCLEAR
    return Unclear.UNCLEAR  # in another case, or where another parser may find it and this one does not


def _is_of_no_credential(value: bytes) -> bool:
    """Whether what a NameNode sets is no authentication cookie, or one that names no credential."""
    return _OF_NO_CREDENTIAL.match(value) is not None or COOKIE_NAME not in value.lower()


def _date_s(headers: Iterable[Header]) -> float | None:
    """Return the latest time that a reply names as its own (a NameNode says it twice); None if that is not clear."""
    dates = [value for name, value in headers if name.lower() == b"date"]
    try:
        return max(parsedate_to_datetime(date.decode("ascii")).timestamp() for date in dates)
    except ValueError:  # none, or one that is no date
        return None


def caller_of(plain: StatusRequest, credential: Credential | None, peer: str) -> Caller:
    """Name the caller of a plain read that came from the address `peer`.

    A credential, if there is one, says who asks; its name is a digest. Else only `user.name` and `doas` do; without
    `user.name` it is the NameNode's static user (dr.who). With `doas` the address counts as well, since the
    NameNode's proxy-user rules look at it, and so does whether some release ignores it: one of these answers for
    `user.name` then, so nothing that it proves may be used for what asks as `doas`, nor the other way round.

    Two callers get one name only if every part is the same: no part can hold the separator NUL.
    """
    parts = [] if credential is None else [credential.name]
    if plain.user_name is not None:
        parts.append(f"user={plain.user_name}")
    if plain.doas is not None:
        name = "doAs" if plain.doas_may_be_ignored else "doas"
        parts += [f"{name}={plain.doas}", f"peer={peer}"]
    return Caller("\0".join(parts or ["anonymous"]))


def claimed_caller(call: Call | StatusRequest | PlainArguments, headers: Iterable[Header] = ()) -> str:
    """Return whom a call says to come from, for limits alone: it proves nothing. Bounded in length."""
    if isinstance(call, Call):
        users, proxied = call.arguments.get("user.name"), call.arguments.get("doas")
        user, doas = users[0] if users else None, proxied[0] if proxied else None
    else:
        user, doas = call.user_name, call.doas
    return claim_of(claimed_user(headers) or user, doas)


def caller_in(head: bytes, target: str) -> str:
    """Return the same of the head of a plain read."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    plain = parse_plain(target)
    return "" if plain is None else claimed_caller(plain, [(name, value.strip()) for name, _, value in lines])


def claim_of(user: str | None, doas: str | None) -> str:
    """Return the claim to be `user`, perhaps for `doas`. Bounded in length."""
    name = "" if user is None else f"user.name={user}"
    if doas is not None:
        name = f"{name}\0doas={doas}" if name else f"doas={doas}"
    if len(name) <= _MAX_CLAIM_CHARS:
        return name
    return hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def rpc_user_of_head(head: RequestHead) -> RpcUser | None:
    """Return the RPC user of any request's caller; None if it is not certain.

    Only names spelled as every release reads them count: 3.5.0 reads `doAs` and `USER.NAME`, 3.4.1 does not. And
    none does where a cookie or `Authorization` may say who asks. Whom the proxy has authenticated it knows by itself.
    """
    if head.acts_for:
        return RpcUser(head.acts_for)
    return None if is_authenticated_by_fields(head.headers) else _rpc_user_of_target(head.target)


def _rpc_user_of_target(target: str) -> RpcUser | None:
    found: dict[str, str] = {}
    for parameter in target.partition("?")[2].split("&"):
        name, _, value = parameter.partition("=")
        if name.lower() in {"user.name", "doas", "delegation"} or "%" in name:
            user = read_claimed_user(value)
            if name not in {"user.name", "doas"} or name in found or user is None or not is_user_name(user):
                return None
            found[name] = user
    claimed, doas = found.get("user.name"), found.get("doas")
    if claimed is None:
        return None
    return RpcUser(claimed) if doas is None else RpcUser(doas, real_name=claimed)


def rpc_user_of(plain: StatusRequest, credential: Credential | None) -> RpcUser | None:
    """Return the RPC user of the same caller; None if the call does not say it.

    A credential says whose it is to its NameNode alone, and without `user.name` only the NameNode's configuration does
    (hadoop.http.staticuser.user). Whether a `doAs` counts only its release does.
    """
    if plain.user_name is None or credential is not None or plain.doas_may_be_ignored:
        return None
    if plain.doas is None:
        return RpcUser(plain.user_name)
    return RpcUser(plain.doas, real_name=plain.user_name)
