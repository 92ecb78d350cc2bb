"""Who is authenticated by what, as a NameNode with Kerberos decides it.

Source: what WebHDFS of 3.4.1 and 3.5.0 was seen to answer. Beside that it still believes `user.name`, so that secured
and other clients are told in one history.
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
"""What a NameNode says to a token that was cancelled."""

NOT_ALLOWED: Final = remote_exception(
    "org.apache.hadoop.security.authorize.AuthorizationException", "not allowed"
)
"""What a NameNode says to who may not act for others."""

_MAY_ACT_FOR_OTHERS: Final = "knox"
_OTHER_COOKIE: Final = b"hadoop-jwt="


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, as the NameNode sees it.

    Attributes:
        refusal: what it says instead of an answer.
        is_by_credential: a credential said who asks.
        sets: the value of `Set-Cookie`; None: there is none.
    """

    user: str
    refusal: NameNodeReply | None = None
    is_by_credential: bool = False
    sets: bytes | None = None


class KnownCredentials:
    """The cookies and tokens that a NameNode has given out."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._cookies: dict[bytes, tuple[str, float, bool]] = {}  # user, end, whether each reply renews it
        self._tokens: dict[str, str] = {}  # owners by fingerprint
        self._users: dict[str, str] = {}  # by the names of credentials that were accepted
        self._given = 0
        self.reads_any_doas = (
            True  # whatever its case, as 3.5.0 does; 3.4.1 reads `doas` alone, and not Knox's `doAs`
        )
        self.of_the_service = cookie("nncache")
        """What each reply to the service itself sets: who has it can be anybody."""

    def date(self) -> bytes:
        """Return what `Date` says now."""
        return format_datetime(_BEGAN + timedelta(seconds=self._clock()), usegmt=True).encode()

    def cookie(self, user: str, *, lives_s: float = 3600.0, is_renewed: bool = False) -> bytes:
        """Give a cookie out, name and value."""
        self._given += 1
        ends_at = self._clock() + lives_s
        given = cookie(user, ends_ms=_ms(ends_at), signature=f"s{self._given}")
        self._cookies[given.partition(b"=")[2]] = user, ends_at, is_renewed
        return given

    def token(self, owner: str) -> str:
        """Give a delegation token out."""
        self._given += 1
        given = token(owner, max_date_ms=_ms(self._clock() + 3600.0), password=f"p{self._given}".encode())
        self._tokens[_fingerprint(given)] = owner
        return given

    def cancel(self, given: str) -> None:
        """Take a token back."""
        del self._tokens[_fingerprint(given)]

    def forged(self, user: str) -> bytes:
        """Return a cookie that nobody has given out, name and value."""
        return cookie(user, ends_ms=_ms(self._clock() + 3600.0), signature="forged")

    def change_secret(self) -> None:
        """Let no cookie be good any more."""
        self._cookies.clear()

    def asker(self, target: str, headers: Iterable[Header], *, acts_for: str = "") -> Asker:
        """Say who makes a request; `acts_for`: the service makes it, and is believed."""
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
        """Return whom a name stands for by which the cache knows a caller."""
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
