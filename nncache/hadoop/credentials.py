"""Parse the credentials of a WebHDFS request: authentication cookies and delegation tokens.

A parsed credential proves nothing: only a NameNode can verify it. Both are parsed strictly: a text that a NameNode
might read in another way is not accepted.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final

COOKIE_NAME: Final = b"hadoop.auth"
"""The name of a NameNode's cookie for an authenticated user (AuthenticatedURL.AUTH_COOKIE, Hadoop 3.5.0)."""

SIMPLE: Final = "simple"
"""The type of a cookie for a plain `user.name`: it does not authenticate the caller (measured, 3.4.1 and 3.5.0)."""

_COOKIE_VALUE: Final = re.compile(
    rb'"?(?P<text>[!#-+\--:<-\[\]-~]*)"?'
)  # RFC 6265, section 4.1.1, cookie-octet
_FIELDS: Final = ("u", "p", "t", "i", "e", "s")  # as AuthToken and Signer of Hadoop 3.5.0 write them
_NEEDED: Final = {"u", "p", "t", "e", "s"}
_MAX_MS_DIGITS: Final = 18
_URL_SAFE: Final = re.compile(r"[A-Za-z0-9_-]+")
_NO_BASE64: Final = re.compile(r"[^A-Za-z0-9_+/-]")
_TO_URL_SAFE: Final = str.maketrans("+/", "-_")
_VERSION: Final = 0  # of AbstractDelegationTokenIdentifier


@dataclass(frozen=True, slots=True)
class AuthCookie:
    """The value of a `hadoop.auth` cookie."""

    user: str  # the user's short name (u)
    kind: str  # how the user was authenticated (t): simple, kerberos and others
    ends_at_ms: int  # when it expires (e), in milliseconds of Unix time by the NameNode's clock


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A delegation token of HDFS.

    Attributes:
        owner: the user of the token.
        max_date_ms: when it can no longer be renewed, in milliseconds of Unix time by the NameNode's clock.
        identity: SHA-256 of the fields of its identifier, in hexadecimal; a NameNode compares only these to cancel it.
        fingerprint: SHA-256 of the identity and the password. All spellings of one token have the same fingerprint,
            since a NameNode ignores kind and service (measured, 3.4.1 and 3.5.0).
    """

    owner: str
    max_date_ms: int
    identity: str
    fingerprint: str


def parse_auth_cookie(value: bytes) -> AuthCookie | None:
    """Parse the value of a cookie in the format of `AuthenticationToken.toString`; None if it has another format.

    A repeated or unknown field is refused: of a repeated one a NameNode takes the last (AuthToken.split, Hadoop 3.5.0).
    """
    match = _COOKIE_VALUE.fullmatch(value)
    if match is None or value.startswith(b'"') is not value.endswith(b'"'):
        return None
    fields: dict[str, str] = {}
    for part in match["text"].decode("ascii").split("&"):
        name, is_field, text = part.partition("=")
        if not (is_field and text) or name not in _FIELDS or name in fields:
            return None
        fields[name] = text
    ends_at = fields.get("e", "")
    if not fields.keys() >= _NEEDED or not ends_at.isdecimal() or len(ends_at) > _MAX_MS_DIGITS:
        return None
    return AuthCookie(fields["u"], fields["t"], int(ends_at))


def parse_delegation_token(text: str) -> DelegationToken | None:
    """Parse a token in the format of `Token.encodeToUrlString`; None if its format or version is another one."""
    if _URL_SAFE.fullmatch(text) is None:
        return None
    try:
        return _token(text, is_strict=True)
    except (ValueError, binascii.Error):
        return None


def parse_cancelled_token(text: str) -> DelegationToken | None:
    """Parse the token that a NameNode would cancel for this text; None if it would find none.

    As in Hadoop (commons-codec), characters outside both Base64 alphabets are ignored, and "=" ends the text. Bytes
    after the fields of the token or identifier are ignored (Token.decodeWritable, AbstractDelegationTokenIdentifier).
    """
    known = _NO_BASE64.sub("", text.partition("=")[0]).translate(_TO_URL_SAFE)
    try:
        return _token(known[: len(known) - (len(known) % 4 == 1)], is_strict=False)
    except (ValueError, binascii.Error):
        return None


def _token(text: str, *, is_strict: bool) -> DelegationToken | None:
    fields = _Fields(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    identifier, password = fields.blob(), fields.blob()
    for _ in ("kind", "service"):
        fields.text() if is_strict else fields.blob()
    if identifier[:1] != bytes((_VERSION,)):
        return None
    named = _Fields(identifier[1:])
    owner, renewer, real_user = named.text(), named.text(), named.text()
    issued_ms, max_date_ms, sequence, key = (named.number() for _ in range(4))
    if is_strict:
        fields.end()
        named.end()
    encoded = repr((owner, renewer, real_user, issued_ms, max_date_ms, sequence, key)).encode()
    identity = hashlib.sha256(encoded).digest()
    return DelegationToken(
        owner, max_date_ms, identity.hex(), hashlib.sha256(identity + password).hexdigest()
    )


class _Fields:
    """A sequence of Java `Writable`s. Each method raises ValueError if the data ends early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        """Read a VInt or VLong (WritableUtils.readVLong, Hadoop 3.5.0)."""
        (first,) = self._take(1)
        if first < 0x80:  # noqa: PLR2004 - one byte for -112 to 127, as a signed byte
            return first
        signed = first - 0x100
        if signed >= -112:  # noqa: PLR2004 - as above
            return signed
        is_negative = signed < -120  # noqa: PLR2004 - as above
        size = -(signed + 120) if is_negative else -(signed + 112)
        value = int.from_bytes(self._take(size))
        return ~value if is_negative else value

    def blob(self) -> bytes:
        """Read a length and that many bytes."""
        size = self.number()
        if size < 0:
            raise ValueError(size)
        return self._take(size)

    def text(self) -> str:
        """Read a `Text`."""
        return self.blob().decode()

    def end(self) -> None:
        """Raise ValueError if bytes are left."""
        if self._at != len(self._data):
            raise ValueError(self._at)

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise ValueError(size)
        self._at += size
        return taken
