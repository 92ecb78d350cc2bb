"""Authentication by cookies and tokens, as a NameNode with Kerberos does it.

Source: replies of WebHDFS measured on 3.4.1 and 3.5.0. In addition it accepts `user.name`, so that one history can
have secured and other clients.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final

from nncache.hadoop.credentials import parse_delegation_token
from nncache.proxy.messages import Header
from tests.hadoop.made_credentials import cookie, token
from tests.model.namespace import NameNodeReply, remote_exception

_BEGAN: Final = datetime(2026, 11, 22, tzinfo=UTC)
_UNAUTHENTICATED: Final = NameNodeReply(401, b"<html>Authentication required</html>")
INVALID_TOKEN: Final = remote_exception(
    "java.lang.SecurityException",
    "Failed to obtain user group information: org.apache.hadoop.security.token.SecretManager$InvalidToken: gone",
)
"""The NameNode's reply to a cancelled token."""

NOT_ALLOWED: Final = remote_exception(
    "org.apache.hadoop.security.authorize.AuthorizationException", "not allowed"
)
"""The NameNode's reply to a user who may not act for others."""

_MAY_ACT_FOR_OTHERS: Final = "knox"
_OTHER_COOKIE: Final = b"hadoop-jwt="


@dataclass(frozen=True, slots=True)
class Asker:
    """The caller of a request, as the NameNode sees it.

    Attributes:
        refusal: the reply instead of an answer.
        is_by_credential: a credential identified the caller.
        sets: the value of `Set-Cookie`; None: the reply has none.
    """

    user: str
    refusal: NameNodeReply | None = None
    is_by_credential: bool = False
    sets: bytes | None = None


class KnownCredentials:
    """The cookies and tokens that a NameNode has issued."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cookies: dict[bytes, tuple[str, float, bool]] = {}  # user, expiry, whether each reply renews it
        self._tokens: dict[str, str] = {}  # owners by fingerprint
        self._users: dict[str, str] = {}  # by the caller names of accepted credentials
        self._given = 0
        self.reads_any_doas = (
            True  # whatever its case, as 3.5.0 does; 3.4.1 reads `doas` alone, and not Knox's `doAs`
        )
        self.of_the_service = cookie("nncache")
        """The cookie that replies to the service itself set: its bearer can act as any user."""

    def date(self) -> bytes:
        """Return the value of `Date` for the current time."""
        return format_datetime(_BEGAN + timedelta(seconds=self._clock()), usegmt=True).encode()

    def cookie(self, user: str, *, lives_s: float = 3600.0, is_renewed: bool = False) -> bytes:
        """Issue a cookie; return its name and value."""
        self._given += 1
        ends_at = self._clock() + lives_s
        given = cookie(user, ends_ms=_ms(ends_at), signature=f"s{self._given}")
        self._cookies[given.partition(b"=")[2]] = user, ends_at, is_renewed
        return given

    def token(self, owner: str) -> str:
        """Issue a delegation token."""
        self._given += 1
        given = token(owner, max_date_ms=_ms(self._clock() + 3600.0), password=f"p{self._given}".encode())
        self._tokens[_fingerprint(given)] = owner
        return given

    def cancel(self, given: str) -> None:
        """Cancel a token."""
        del self._tokens[_fingerprint(given)]

    def forged(self, user: str) -> bytes:
        """Return a cookie, name and value, that was never issued."""
        return cookie(user, ends_ms=_ms(self._clock() + 3600.0), signature="forged")

    def change_secret(self) -> None:
        """Invalidate all cookies."""
        self._cookies.clear()

    def asker(self, target: str, headers: Iterable[Header], *, acts_for: str = "") -> Asker:
        """Return the caller of a request; `acts_for`: the service sends it, and its `doas` is trusted."""
        query: dict[str, str] = {}
        for parameter in target.partition("?")[2].split("&"):
            name, _, value = parameter.partition("=")
            if name.lower() != "doas" or name == "doas" or self.reads_any_doas:
                query.setdefault(name.lower(), value)
        fields = [(name.lower(), value) for name, value in headers]
        if acts_for:
            assert not {b"cookie", b"authorization"} & {name for name, _ in fields}, (
                "a client's credential goes on"
            )
            assert "delegation" not in query, "a token goes on beside the service's own credential"
            return Asker(query["doas"], is_by_credential=True)
        if "delegation" in query:
            print_of = _fingerprint(query["delegation"])
            owner = self._tokens.get(print_of)
            if owner is None:
                return Asker("", INVALID_TOKEN, is_by_credential=True)
            self._users[f"token={print_of}"] = owner
            return Asker(owner, is_by_credential=True)
        asker = self._authenticated(fields, query.get("user.name", ""))
        cookies = b"\0".join(value for name, value in fields if name == b"cookie")
        if cookies and asker.refusal is None:
            self._users[f"cookie={hashlib.sha256(cookies).hexdigest()}"] = asker.user
        if asker.refusal is None and "doas" in query:
            if asker.user != _MAY_ACT_FOR_OTHERS:
                return Asker("", NOT_ALLOWED, asker.is_by_credential)
            return Asker(query["doas"], None, asker.is_by_credential, asker.sets)
        return asker

    def user_of(self, caller: str) -> str:
        """Return the user behind a caller name of the cache."""
        first, *others = caller.split("\0")
        for part in others:
            if part.startswith("doas=") or (part.startswith("doAs=") and self.reads_any_doas):
                return part.partition("=")[2]
        return self._users.get(first, first.removeprefix("user=")) if first != "anonymous" else ""

    def _authenticated(self, fields: list[Header], user_name: str) -> Asker:
        pairs = [pair.strip() for name, value in fields if name == b"cookie" for pair in value.split(b";")]
        values = [pair.partition(b"=")[2] for pair in pairs if pair.startswith(b"hadoop.auth=")]
        known = self._cookies.get(values[0]) if values else None
        if known is not None and self._clock() < known[1]:
            user, ends_at, is_renewed = known
            sets = cookie(user, ends_ms=_ms(ends_at)) if is_renewed else None
            return Asker(user, is_by_credential=True, sets=sets)
        for name, value in fields:
            if name == b"authorization":
                user = value.removeprefix(b"Negotiate ").decode()
                return Asker(user, is_by_credential=True, sets=cookie(user))
        if values:
            return Asker("", _UNAUTHENTICATED, is_by_credential=True, sets=b"hadoop.auth=; Path=/; HttpOnly")
        for pair in pairs:
            if pair.startswith(_OTHER_COOKIE):
                user = pair.removeprefix(_OTHER_COOKIE).decode()
                return Asker(user, is_by_credential=True, sets=cookie(user, kind="jwt"))
        return Asker(user_name)


def _ms(seconds: float) -> int:
    return int((_BEGAN.timestamp() + seconds) * 1000)


def _fingerprint(given: str) -> str:
    read = parse_delegation_token(given)
    return "" if read is None else read.fingerprint
