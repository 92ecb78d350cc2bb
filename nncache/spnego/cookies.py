"""The cookie that the proxy gives to those whom it has authenticated.

Pure. Written as Hadoop writes its own (`AuthenticationToken`, `Signer` of Hadoop 3.5.0), since clients keep it by that
name and read when it ends. No NameNode takes it and none of theirs is taken here, also where both sign with one secret:
its type is another one, and what is signed begins with a word that theirs does not have.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from nncache.hadoop.credentials import COOKIE_NAME, parse_auth_cookie
from nncache.proxy.messages import Header

KIND: Final = "nncache"
"""The type of the cookie (t)."""

MIN_KEY_BYTES: Final = 32
"""As long as what HMAC-SHA256 returns (RFC 2104, section 3)."""

MAX_COOKIES: Final = 8
"""Of more with this name in one request none is looked at."""

_SAME_SITE: Final = b"; SameSite=Lax"
"""A browser sends it from a page of another site with a link, not with a form. Other clients ignore it."""

_PURPOSE: Final = b"nncache cookie 1\0"
_SIGNED: Final = re.compile(rb'"?(u=[^&]+&p=[^&]+&t=nncache&e=\d+)&s=([A-Za-z0-9+/=]+)"?')
_NAME: Final = re.compile(r"[A-Za-z0-9._@/$+~:-]{1,512}")


@dataclass(frozen=True, slots=True)
class LoginSession:
    """Whom the proxy has authenticated.

    Attributes:
        user: the short name.
        principal: by which that was found.
        ends_at_ms: when the cookie ends, in milliseconds of Unix time.
        key: that has signed the cookie.
    """

    user: str
    principal: str
    ends_at_ms: int
    key: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Keys:
    """With what cookies are signed: the first signs, each is good for what it has signed."""

    keys: tuple[bytes, ...]


def parse_keys(text: bytes) -> Keys:
    """Read a file of secrets, one a line.

    Raises:
        ValueError: there is none, or one is too short.
    """
    lines = [line.strip() for line in text.splitlines()]
    keys = tuple(dict.fromkeys(line for line in lines if line))
    if not keys:
        raise ValueError("must hold a secret in each line, the newest first: openssl rand -hex 32")
    if any(len(key) < MIN_KEY_BYTES for key in keys):
        raise ValueError(f"each secret must have {MIN_KEY_BYTES} characters or more: openssl rand -hex 32")
    return Keys(keys)


def may_be_named(name: str) -> bool:
    """Whether a cookie can name this principal, or this user."""
    return _NAME.fullmatch(name) is not None


def encode_cookie(session: LoginSession, keys: Keys, *, is_secure: bool) -> Header:
    """Return the `Set-Cookie` of a session; `is_secure`: the client is connected over TLS."""
    text = f"u={session.user}&p={session.principal}&t={KIND}&e={session.ends_at_ms}".encode("ascii")
    attributes = b"; Path=/; Secure; HttpOnly" if is_secure else b"; Path=/; HttpOnly"
    attributes += _SAME_SITE
    signature = _signature(keys.keys[0], text)
    return b"Set-Cookie", b'%b="%b&s=%b"%b' % (COOKIE_NAME, text, signature, attributes)


def session_of(cookies: Iterable[bytes], keys: Keys, now_ms: float) -> LoginSession | None:
    """Return the session of the `hadoop.auth` among the values of `Cookie` fields that is good; None if there is none.

    A client may also send what a NameNode, or another service of the same domain, calls so (`cookie.domain`): that
    counts for nothing. Several that are good count as the first, if they name one user.
    """
    found = [
        text
        for value in cookies
        for name, _, text in (pair.strip(b" \t").partition(b"=") for pair in value.split(b";"))
        if name == COOKIE_NAME
    ]
    if len(found) > MAX_COOKIES:
        return None
    good = [session for text in found if (session := _session(text, keys, now_ms)) is not None]
    return good[0] if len({session.user for session in good}) == 1 else None


def _session(text: bytes, keys: Keys, now_ms: float) -> LoginSession | None:
    match = _SIGNED.fullmatch(text)
    key = None if match is None else _signer(match[1], match[2], keys)
    if match is None or key is None:
        return None
    cookie = parse_auth_cookie(text)
    if cookie is None or cookie.kind != KIND or now_ms >= cookie.ends_at_ms:
        return None
    principal = match[1].split(b"&")[1].removeprefix(b"p=").decode("ascii")
    return LoginSession(cookie.user, principal, cookie.ends_at_ms, key)


def _signer(text: bytes, signature: bytes, keys: Keys) -> bytes | None:
    """Return the key that has signed the text."""
    return next((key for key in keys.keys if hmac.compare_digest(_signature(key, text), signature)), None)


def _signature(key: bytes, text: bytes) -> bytes:
    return base64.b64encode(hmac.digest(key, _PURPOSE + text, hashlib.sha256))
