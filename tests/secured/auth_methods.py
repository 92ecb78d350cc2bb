"""Authentication methods of a cluster with Kerberos, each with its impostors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Final

from nncache.testbed import Cluster
from nncache.testbed.readiness import signed_cookie
from tests.auth_methods import AuthMethod, Header, Signature
from tests.kerberos import negotiate
from tests.secured.asking import cookie_of, token_of
from tests.secured.attempts import with_password
from tests.secured.terminating import PRINCIPALS

_LIVES_S: Final = 86_400.0
_FORGED: Final = "alice, forged"
_NOT_FOR_HER: Final = "carol, by a proxy user who may not act for her"
_NO_PROXY_USER: Final = "alice, by carol who is no proxy user"


class Cookies:
    """A cookie for each user, as this NameNode issues it for a ticket; and a forged cookie for alice."""

    impostors: tuple[str, ...] = (_FORGED,)
    is_kept = True
    is_judged_by_proxy = False

    def __init__(self, cluster: Cluster, namenode: int = 0) -> None:
        self._cluster = cluster
        self._namenode = namenode
        self._signed: dict[str, Signature] = {}

    def of(self, user: str) -> Signature:
        """Return the user's cookie, which is valid for a day."""
        signed = self._signed.get(user)
        if signed is None:
            signed = self._signed[user] = Signature(headers=(("Cookie", self._cookie(user)),))
        return signed

    def _cookie(self, user: str) -> str:
        name = "alice" if user == _FORGED else user
        cookie = cookie_of(self._cluster, name, lives_s=_LIVES_S, namenode=self._namenode)
        if user != _FORGED:
            return cookie
        signature = signed_cookie(b"another secret", "alice", expires_s=0).rpartition("&s=")[2]
        return f'{cookie.rpartition("&s=")[0]}&s={signature}"'


class Tokens:
    """A delegation token for each user; and alice's token with another password."""

    impostors: tuple[str, ...] = (_FORGED,)
    is_kept = True
    is_judged_by_proxy = False

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tokens: dict[str, str] = {}

    def of(self, user: str) -> Signature:
        """Return the user's token, which is fetched once."""
        if user == _FORGED:
            return Signature("&delegation=" + with_password(self._token("alice"), bytes(20)))
        return Signature(f"&delegation={self._token(user)}")

    def _token(self, user: str) -> str:
        token = self._tokens.get(user)
        if token is None:
            token = self._tokens.setdefault(user, token_of(self._cluster, user))
        return token


class Doas:
    """A proxy user acts for alice and bob; carol and the superuser use their own cookies.

    The proxy user may not act for carol, and carol may not act for anyone.
    """

    impostors: tuple[str, ...] = (_NOT_FOR_HER, _NO_PROXY_USER)
    is_kept = True
    is_judged_by_proxy = False

    def __init__(self, cluster: Cluster) -> None:
        self._cookies = Cookies(cluster)

    def of(self, user: str) -> Signature:
        """Return `doas` with the acting user's cookie, or the user's own cookie."""
        match user:
            case "alice" | "bob":
                return self._acting("proxy", user)
            case _ if user == _NOT_FOR_HER:
                return self._acting("proxy", "carol")
            case _ if user == _NO_PROXY_USER:
                return self._acting("carol", "alice")
            case _:
                return self._cookies.of(user)

    def _acting(self, real_user: str, user: str) -> Signature:
        return Signature(f"&doas={user}", self._cookies.of(real_user).headers)


class Tickets:
    """A new SPNEGO token per request, for a proxy that authenticates its clients, and for the NameNode.

    The impostors use their own tickets with `doas`: a proxy user for carol, and carol for alice.
    """

    impostors: tuple[str, ...] = (_NOT_FOR_HER, _NO_PROXY_USER)
    is_kept = False
    is_judged_by_proxy = True

    def __init__(self, cluster: Cluster) -> None:
        assert cluster.kdc is not None
        self._kdc = cluster.kdc
        self._lock = Lock()
        self._caches: dict[str, Path] = {}

    def of(self, user: str) -> Signature:
        """Return a token that is accepted once."""
        match user:
            case _ if user == _NOT_FOR_HER:
                return Signature("&doas=carol", self._headers("proxy"))
            case _ if user == _NO_PROXY_USER:
                return Signature("&doas=alice", self._headers("carol"))
            case _:
                return Signature(headers=self._headers(user))

    def _headers(self, user: str) -> tuple[Header, ...]:
        with self._lock:
            cache = self._caches.get(user)
            if cache is None:
                principal = PRINCIPALS.get(user, user)
                cache = self._caches[user] = self._kdc.kinit(principal, lifetime_s=int(_LIVES_S))
        return (("Authorization", negotiate(cache)),)


WAYS: Final[Mapping[str, Callable[[Cluster], AuthMethod]]] = {
    "cookie": Cookies,
    "token": Tokens,
    "doas": Doas,
    "negotiate": Tickets,
}
"""The methods by name, for a cluster where `proxy` may act for alice and bob, and `nncache` for everybody."""
