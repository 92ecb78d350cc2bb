"""The cookie that the proxy sets after it has authenticated a client.

Pure. It has the format of Hadoop's own cookie (`AuthenticationToken`, `Signer` of Hadoop 3.5.0), since clients store it
by that name and read its expiry. No NameNode accepts this cookie and the proxy accepts none of theirs, even if both
sign with the same secret: the type differs, and the signed text begins with a prefix that theirs does not have.
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
"""The output length of HMAC-SHA256 (RFC 2104, section 3)."""

MAX_COOKIES: Final = 8
"""If one request has more cookies of this name, all of them are ignored."""

_SAME_SITE: Final = b"; SameSite=Lax"
"""From another site's page, a browser sends the cookie with a link but not with a form. Other clients ignore it."""

_PURPOSE: Final = b"nncache cookie 1\0"
_SIGNED: Final = re.compile(rb'"?(u=[^&]+&p=[^&]+&t=nncache&e=\d+)&s=([A-Za-z0-9+/=]+)"?')
_NAME: Final = re.compile(r"[A-Za-z0-9._@/$+~:-]{1,512}")


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A client that the proxy has authenticated.

    Attributes:
        user: the short name.
        principal: the Kerberos principal that maps to this user.
        ends_at_ms: when the cookie expires, in milliseconds of Unix time.
        key: the secret that signed the cookie.
    """

    user: str
    principal: str
    ends_at_ms: int
    key: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets for cookies. The first one signs; each one verifies the cookies that it has signed."""

    keys: tuple[bytes, ...]


def parse_keys(text: bytes) -> Keys:
    """Parse a file of secrets, one per line.

    Raises:
        ValueError: the file has no secret, or a secret is too short.
    """
    lines = [line.strip() for line in text.splitlines()]
    keys = tuple(dict.fromkeys(line for line in lines if line))
    if not keys:
        raise ValueError("must hold a secret in each line, the newest first: openssl rand -hex 32")
    if any(len(key) < MIN_KEY_BYTES for key in keys):
        raise ValueError(f"each secret must have {MIN_KEY_BYTES} characters or more: openssl rand -hex 32")
    return Keys(keys)


def may_be_named(name: str) -> bool:
    """Whether a cookie can hold the name of this principal or user."""
    return _NAME.fullmatch(name) is not None


def encode_cookie(session: LoginSession, keys: Keys, *, is_secure: bool) -> Header:
    """Return the `Set-Cookie` field of a session; `is_secure`: the client is connected over TLS."""
    text = f"u={session.user}&p={session.principal}&t={KIND}&e={session.ends_at_ms}".encode("ascii")
    attributes = b"; Path=/; Secure; HttpOnly" if is_secure else b"; Path=/; HttpOnly"
    attributes += _SAME_SITE
    signature = _signature(keys.keys[0], text)
    return b"Set-Cookie", b'%b="%b&s=%b"%b' % (COOKIE_NAME, text, signature, attributes)


def session_of(cookies: Iterable[bytes], keys: Keys, now_ms: float) -> LoginSession | None:
    """Return the session of the valid `hadoop.auth` cookie in these values of `Cookie` fields; None if none is valid.

    A NameNode, or another service of the same domain (`cookie.domain`), may set a cookie of the same name, which is
    ignored. If several are valid, the first one counts, provided that all of them name the same user.
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
    """Return the key that signed the text; None if none did."""
    return next((key for key in keys.keys if hmac.compare_digest(_signature(key, text), signature)), None)


def _signature(key: bytes, text: bytes) -> bytes:
    return base64.b64encode(hmac.digest(key, _PURPOSE + text, hashlib.sha256))
