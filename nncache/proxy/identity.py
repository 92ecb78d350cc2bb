"""The caller of a request: its credential, and how a NameNode would tell callers apart.

The NameNode authenticates; nncache remembers that it has accepted exactly these bytes. A reply proves a credential
only if it names no other one: `docs/decisions/0018` has the rules, and the attack that each of them prevents.
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
from nncache.hadoop.calls import PlainArguments, StatusRequest, WebHdfsCall, has_form, parse_plain
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
"""A proof expires this long before its credential: `Date` has whole seconds, and Jetty caches it for one."""

_READ_OR_HARMLESS: Final = (
    HARMLESS_FIELDS | {b"if-none-match", b"prefer"} | set(map(str.encode, PER_REQUEST_NAMES))
)

_OF_NO_CREDENTIAL: Final = re.compile(rb'hadoop\.auth=(?:"?u=[^&;"]*&p=[^&;"]*&t=simple&|(?:"")?(?:;|$))')
"""A cookie that a NameNode sets for `user.name`, or to clear a cookie."""

_MAX_CLAIM_CHARS: Final = 64
"""A longer claim is kept as its digest: it may stay in memory while a two-step write's window is open."""


@dataclass(frozen=True, slots=True)
class Credential:
    """One cookie or one delegation token, by its digest.

    Attributes:
        name: unique for each credential; the credential cannot be reconstructed from it.
        claims: the user that it names; unproven until the NameNode accepts the credential.
        ends_at_ms: when it expires, in milliseconds of Unix time by the NameNode's clock.
    """

    name: str
    claims: str
    ends_at_ms: int


class Unclear(Enum):
    """Marks a request whose credential is not certain."""

    UNCLEAR = "unclear"
    """Several credentials, or one that only its NameNode can read: the call is forwarded without a trace."""


Authentication: TypeAlias = Credential | Unclear | None
"""None: no credential; `user.name` and `doas` alone name the caller."""


def authentication_of(plain: StatusRequest, headers: Iterable[Header]) -> Authentication:
    """Return the credential of a plain read. `nncache.proxy.reading` has excluded `Authorization` before."""
    cookies = [value for name, value in headers if name.lower() == b"cookie"]
    cookie = _auth_cookie(cookies) if cookies else None
    if cookie is Unclear.UNCLEAR:
        return cookie
    if plain.delegation is not None:
        # A NameNode reads the token alone (3.4.1 and 3.5.0): other credentials may be meant for another release.
        if cookie is not None or plain.user_name is not None or plain.doas is not None:
            return Unclear.UNCLEAR
        token = parse_delegation_token(plain.delegation)
        if token is None:
            return Unclear.UNCLEAR
        return Credential(token_name(token), token.owner, token.max_date_ms)
    if cookie is None or (cookie.kind == SIMPLE and plain.user_name is not None):
        return None
    # One of type simple admits a caller without user.name, who may otherwise be refused (PseudoAuthenticationHandler).
    # The digest covers all Cookie fields: how a parser reads one may depend on the others.
    digest = hashlib.sha256(b"\0".join(cookies)).hexdigest()
    return Credential(_name("cookie", digest, cookie.user), cookie.user, cookie.ends_at_ms)


def token_name(token: DelegationToken) -> str:
    """Return the name of a delegation token's credential."""
    return _name("token", token.fingerprint, token.owner)


def _name(kind: str, digest: str, user: str) -> str:
    """Return a credential's name; the digest alone makes it unique, the user is for human readers."""
    return f"{kind}={digest}\0claims={user[:_SHOWN_CHARS]}" if user.isprintable() else f"{kind}={digest}"


def cancelled_tokens(call: WebHdfsCall) -> tuple[DelegationToken, ...]:
    """Return the tokens that a call cancels if it succeeds, parsed as loosely as a NameNode does."""
    if _CANCEL not in {value.upper() for value in call.arguments.get("op", ())}:
        return ()
    tokens = map(parse_cancelled_token, call.arguments.get("token", ()))
    return tuple(token for token in tokens if token is not None)


def cancelled_by(call: WebHdfsCall) -> tuple[str, ...]:
    """Return the names of the tokens that a call cancels if it succeeds."""
    return tuple(map(token_name, cancelled_tokens(call)))


def claimed_user(headers: Iterable[Header]) -> str | None:
    """Return the user that a request's authentication cookie names, unproven; None without a clear cookie."""
    cookies = [value for name, value in headers if name.lower() == b"cookie"]
    cookie = _auth_cookie(cookies) if cookies else None
    return cookie.user if isinstance(cookie, AuthCookie) and cookie.kind != SIMPLE else None


def unread_fields(headers: Iterable[Header]) -> bytes:
    """Return a digest of the fields that may authenticate the request to a NameNode and that nncache does not read.

    Every cookie but `hadoop.auth` is among them. b"": there are none.
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
    """Whether header fields may authenticate a request, rather than its target alone."""
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
    """Return for how many seconds a 200 or true 404 proves the caller's identity at most; None: it proves nothing.

    With a credential, the reply must have no `Set-Cookie`: one would mean that another credential was accepted, or
    that this one expires unless renewed (`token.max-inactive-interval`). Without a credential, a cookie of another
    type than `simple` means that the NameNode accepted something unknown to nncache. The credential's remaining time
    is measured by the NameNode's own clock, the `Date` of the same reply (RFC 9110, section 6.6.1).
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
    """Return the only authentication cookie among the values of `Cookie` fields; None without one."""
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
    return Unclear.UNCLEAR  # in another case, or in a place where only another parser may find it


def _is_of_no_credential(value: bytes) -> bool:
    """Whether a `Set-Cookie` value is no authentication cookie, or one that holds no credential."""
    return _OF_NO_CREDENTIAL.match(value) is not None or COOKIE_NAME not in value.lower()


def _date_s(headers: Iterable[Header]) -> float | None:
    """Return the latest `Date` of a reply (a NameNode sends two) in Unix seconds; None if a date is bad or missing."""
    dates = [value for name, value in headers if name.lower() == b"date"]
    try:
        return max(parsedate_to_datetime(date.decode("ascii")).timestamp() for date in dates)
    except ValueError:  # none, or one that is no date
        return None


def caller_of(plain: StatusRequest, credential: Credential | None, peer: str) -> Caller:
    """Return the caller of a plain read that came from the address `peer`.

    A credential, if there is one, identifies the caller by its digest. Otherwise only `user.name` and `doas` do;
    without `user.name` the caller is the NameNode's static user (dr.who). With `doas` the name includes the address,
    which the NameNode's proxy-user rules check. It tells `doAs` from `doas` as well: a release that ignores `doAs`
    answers for `user.name`, so no reply to one spelling proves anything for the other.

    Two callers have the same name only if every part is equal: no part can contain the separator NUL.
    """
    parts = [] if credential is None else [credential.name]
    if plain.user_name is not None:
        parts.append(f"user={plain.user_name}")
    if plain.doas is not None:
        name = "doAs" if plain.doas_may_be_ignored else "doas"
        parts += [f"{name}={plain.doas}", f"peer={peer}"]
    return Caller("\0".join(parts or ["anonymous"]))


def claimed_caller(call: WebHdfsCall | StatusRequest | PlainArguments, headers: Iterable[Header] = ()) -> str:
    """Return the claimed caller of a call, unproven and bounded in length; only limits of calls use it."""
    if isinstance(call, WebHdfsCall):
        users, proxied = call.arguments.get("user.name"), call.arguments.get("doas")
        user, doas = users[0] if users else None, proxied[0] if proxied else None
    else:
        user, doas = call.user_name, call.doas
    return claim_of(claimed_user(headers) or user, doas)


def caller_in(head: bytes, target: str) -> str:
    """Return the claimed caller of the head of a plain read."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    plain = parse_plain(target)
    return "" if plain is None else claimed_caller(plain, [(name, value.strip()) for name, _, value in lines])


def claim_of(user: str | None, doas: str | None) -> str:
    """Return the claimed caller's name for `user` and `doas`, bounded in length."""
    name = "" if user is None else f"user.name={user}"
    if doas is not None:
        name = f"{name}\0doas={doas}" if name else f"doas={doas}"
    if len(name) <= _MAX_CLAIM_CHARS:
        return name
    return hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def rpc_user_of_head(head: RequestHead) -> RpcUser | None:
    """Return the RPC user of a request's caller; None if it is not certain.

    A user whom the proxy has authenticated is certain. Otherwise no cookie, `Authorization` or form may name it, and
    every release must read the parameter names: 3.5.0 reads `doAs` and `USER.NAME`, 3.4.1 does not.
    """
    if head.acts_for:
        return RpcUser(head.acts_for)
    is_elsewhere = is_authenticated_by_fields(head.headers) or has_form(head.headers)
    return None if is_elsewhere else _rpc_user_of_target(head.target)


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
    """Return the RPC user of a plain read's caller; None if the read does not name it.

    Only the NameNode knows the user of a credential, and the static user of a call without `user.name`
    (hadoop.http.staticuser.user). Whether it reads `doAs` depends on its release.
    """
    if plain.user_name is None or credential is not None or plain.doas_may_be_ignored:
        return None
    if plain.doas is None:
        return RpcUser(plain.user_name)
    return RpcUser(plain.doas, real_name=plain.user_name)
