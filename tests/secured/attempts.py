"""Impersonation attempts: each is one request of an attacker.

The attacker knows alice's name, what her cookies and tokens claim, and that her answers are cached. They have a ticket,
a cookie and a token of carol, and have seen a used ticket of alice. None of it must make the attacker alice.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.secured.asking import Header, Question

_ALICE: Final = "alice"


@dataclass
class Loot:
    """The credentials of an attacker."""

    path: str  # of alice; its status is cached
    cookie: str  # carol's own, as name=value
    claimed: str  # claims to be alice's, signed with another secret
    ended: str  # alice's, expired
    token: str  # carol's own
    cancelled: str  # alice's, cancelled
    proxy: str  # of a proxy user who may act for alice and bob
    ticket: Callable[[], str]  # returns a new Authorization value from carol's ticket
    used: str  # an Authorization value of alice that the NameNode has seen
    forged_token: str = field(init=False)

    def __post_init__(self) -> None:
        self.forged_token = with_password(self.cancelled, b"\0" * 20)

    def ask(self, query: str = "", *headers: Header, path: str = "", method: str = "GET") -> Question:
        """Return a request for alice's status."""
        return Question(path or self.path, query, headers, method=method)

    def send(self, *cookies: str, query: str = "", more: tuple[Header, ...] = ()) -> Question:
        """Return a request with these cookies, each in its own field."""
        return self.ask(query, *(("Cookie", each) for each in cookies), *more)


Attempt = Callable[[Loot], Question]


def _value(cookie: str) -> str:
    """Return the value of a cookie without its quotes."""
    return cookie.partition("=")[2].strip('"')


def _signature(cookie: str) -> str:
    return _value(cookie).rpartition("&s=")[2]


def _as_alice(signature: str, more: str = "", kind: str = "kerberos") -> str:
    return f'hadoop.auth="u=alice&p=alice@TEST.LOCAL&t={kind}&e=1999999999999{more}&s={signature}"'


def with_password(token: str, password: bytes) -> str:
    """Return the token with another password of the same length."""
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    at = 1 + data[0] + 1  # after both length bytes; both lengths are below 128
    return base64.urlsafe_b64encode(data[:at] + password + data[at + len(password) :]).decode().rstrip("=")


def _negotiate(value: str) -> Header:
    return "Authorization", value


COOKIES: Final[dict[str, Attempt]] = {
    "none at all": lambda s: s.ask(),
    "signed with another secret": lambda s: s.send(s.claimed),
    "signed with another secret, without quotes": lambda s: s.send(f"hadoop.auth={_value(s.claimed)}"),
    "not signed": lambda s: s.send(_as_alice("")),
    "without a signature": lambda s: s.send(_as_alice("").replace("&s=", "")),
    "with the signature of one's own": lambda s: s.send(_as_alice(_signature(s.cookie))),
    "with the signature of one that has ended": lambda s: s.send(_as_alice(_signature(s.ended))),
    "that has ended": lambda s: s.send(s.ended),
    "that has ended, with a later end": lambda s: s.send(s.ended.replace("&e=", "&e=9")),
    "one's own in alice's name": lambda s: s.send(s.cookie.replace("carol", _ALICE)),
    "one's own in alice's short name": lambda s: s.send(s.cookie.replace("u=carol", "u=alice")),
    "one's own with alice first": lambda s: s.send(s.cookie.replace("u=carol", "u=alice&u=carol")),
    "one's own with alice behind": lambda s: s.send(s.cookie.replace("&s=", "&u=alice&s=")),
    "one's own with alice behind the signature": lambda s: s.send(s.cookie[:-1] + '&u=alice"'),
    "of the type simple": lambda s: s.send(_as_alice("", kind="simple")),
    "of the type simple, and user.name": lambda s: s.send(
        _as_alice("", kind="simple"), query="&user.name=alice"
    ),
    "of the type anonymous": lambda s: s.send(_as_alice("", kind="anonymous")),
    "that ends when it is not used": lambda s: s.send(_as_alice("", "&i=1999999999999")),
    "in capitals": lambda s: s.send(s.claimed.replace("hadoop.auth", "HADOOP.AUTH")),
    "under a longer name": lambda s: s.send("x" + s.claimed),
    "with a blank before its value": lambda s: s.send(s.claimed.replace("=", "= ", 1)),
    "with half of its quotes": lambda s: s.send(s.claimed[:-1]),
    "in the cookie of an old standard": lambda s: s.ask("", ("Cookie2", s.claimed)),
    "in Set-Cookie": lambda s: s.ask("", ("Set-Cookie", s.claimed)),
    "behind $Version": lambda s: s.send('$Version="1"; ' + s.claimed),
    "in the query": lambda s: s.ask("&hadoop.auth=" + _value(s.claimed).replace("&", "%26")),
    "an empty one": lambda s: s.send("hadoop.auth="),
    "one's own, then alice's forged": lambda s: s.send(f"{s.cookie}; {s.claimed}"),
    "alice's forged, then one's own": lambda s: s.send(f"{s.claimed}; {s.cookie}"),
    "alice's forged in a second field": lambda s: s.send(s.cookie, s.claimed),
    "alice's forged in the first field": lambda s: s.send(s.claimed, s.cookie),
    "separated by a comma": lambda s: s.send(f"{s.cookie}, {s.claimed}"),
    "one's own, and user.name": lambda s: s.send(s.cookie, query="&user.name=alice"),
    "one's own, and USER.NAME": lambda s: s.send(s.cookie, query="&USER.NAME=alice"),
    "one's own, and the superuser's name": lambda s: s.send(s.cookie, query="&user.name=root"),
}
"""Cookies by what is wrong with them."""

NAMES: Final[dict[str, Attempt]] = {
    "user.name": lambda s: s.ask("&user.name=alice"),
    "user.name twice": lambda s: s.ask("&user.name=carol&user.name=alice"),
    "user.name, encoded": lambda s: s.ask("&user%2Ename=alice"),
    "the superuser's": lambda s: s.ask("&user.name=root"),
    "an empty one": lambda s: s.ask("&user.name="),
    "doas without a credential": lambda s: s.ask("&doas=alice"),
    "doas by user.name": lambda s: s.ask("&user.name=proxy&doas=alice"),
    "doas of who may not": lambda s: s.send(s.cookie, query="&doas=alice"),
    "DOAS of who may not": lambda s: s.send(s.cookie, query="&DOAS=alice"),
    "doas for who may not be acted for": lambda s: s.send(s.proxy, query="&doas=carol"),
    "doas for nobody": lambda s: s.send(s.proxy, query="&doas="),
    "doas twice": lambda s: s.send(s.proxy, query="&doas=carol&doas=alice"),
    "a proxy user for itself": lambda s: s.send(s.proxy),
}
"""User names in the query."""

TOKENS: Final[dict[str, Attempt]] = {
    "empty": lambda s: s.ask("&delegation="),
    "no token": lambda s: s.ask("&delegation=zzz"),
    "alice's with another password": lambda s: s.ask(f"&delegation={s.forged_token}"),
    "alice's that was cancelled": lambda s: s.ask(f"&delegation={s.cancelled}"),
    "alice's that was cancelled, padded": lambda s: s.ask(f"&delegation={s.cancelled}%3D"),
    "alice's that was cancelled, in capitals": lambda s: s.ask(f"&DELEGATION={s.cancelled}"),
    "alice's that was cancelled, cut short": lambda s: s.ask(f"&delegation={s.cancelled[:-4]}"),
    "one's own, and user.name": lambda s: s.ask(f"&delegation={s.token}&user.name=alice"),
    "one's own, and doas": lambda s: s.ask(f"&delegation={s.token}&doas=alice"),
    "one's own, then alice's forged": lambda s: s.ask(f"&delegation={s.token}&delegation={s.forged_token}"),
    "alice's forged, then one's own": lambda s: s.ask(f"&delegation={s.forged_token}&delegation={s.token}"),
    "one's own, and a forged cookie": lambda s: s.send(s.claimed, query=f"&delegation={s.token}"),
    "alice's forged, and one's own cookie": lambda s: s.send(s.cookie, query=f"&delegation={s.forged_token}"),
    "an empty one, and one's own cookie": lambda s: s.send(s.cookie, query="&delegation="),
    "in a header": lambda s: s.ask("", ("X-Hadoop-Delegation-Token", s.forged_token)),
    "as the parameter of another operation": lambda s: s.ask(f"&token={s.cancelled}"),
}
"""Delegation tokens."""

TICKETS: Final[dict[str, Attempt]] = {
    "alice's again": lambda s: s.ask("", _negotiate(s.used)),
    "alice's again, with one's own cookie": lambda s: s.send(s.cookie, more=(_negotiate(s.used),)),
    "alice's again, with her forged cookie": lambda s: s.send(s.claimed, more=(_negotiate(s.used),)),
    "one's own, with alice's forged cookie": lambda s: s.send(s.claimed, more=(_negotiate(s.ticket()),)),
    "one's own, and user.name": lambda s: s.ask("&user.name=alice", _negotiate(s.ticket())),
    "one's own, and doas": lambda s: s.ask("&doas=alice", _negotiate(s.ticket())),
    "no ticket": lambda s: s.ask("", _negotiate("Negotiate zzz")),
    "an empty one": lambda s: s.ask("", _negotiate("Negotiate")),
    "in lower case": lambda s: s.ask("", _negotiate(s.used.replace("N", "n", 1))),
    "NTLM": lambda s: s.ask("", _negotiate("Negotiate TlRMTVNTUAABAAAA")),
    "a password": lambda s: s.ask("", _negotiate("Basic YWxpY2U6YWxpY2U=")),
    "for a proxy": lambda s: s.ask("", ("Proxy-Authorization", s.used)),
    "twice": lambda s: s.ask("", _negotiate(s.ticket()), _negotiate(s.used)),
}
"""Kerberos tickets."""

FIELDS: Final[dict[str, Attempt]] = {
    name: lambda s, name=name, value=value: s.send(s.cookie, more=((name, value),))  # type: ignore[misc]  # mypy sees no default
    for name, value in {
        "X-Forwarded-User": "alice",
        "X-Remote-User": "alice",
        "Remote-User": "alice",
        "X-Forwarded-For": "127.0.0.1",
        "X-Real-IP": "127.0.0.1",
        "Forwarded": "for=127.0.0.1",
        "X-HTTP-Method-Override": "GET",
        "X-Original-URL": "/webhdfs/v1/?op=GETFILESTATUS&user.name=alice",
        "From": "alice@TEST.LOCAL",
        "Cache-Control": "only-if-cached",
        "If-None-Match": "*",
    }.items()
}
"""Header fields with which other proxies name the caller, together with carol's own cookie."""

SPELLINGS: Final[dict[str, Attempt]] = {
    "more slashes": lambda s: s.ask("", ("Cookie", s.cookie), path=s.path.replace("/", "//")),
    "a slash at the end": lambda s: s.ask("", ("Cookie", s.cookie), path=s.path + "/"),
    "an encoded slash": lambda s: s.ask("", ("Cookie", s.cookie), path=s.path.replace("/d", "%2Fd")),
    "an encoded letter": lambda s: s.ask("", ("Cookie", s.cookie), path=s.path.replace("/d", "/%64")),
    "dots": lambda s: s.ask("", ("Cookie", s.cookie), path=s.path + "/../d"),
    "HEAD": lambda s: s.ask("", ("Cookie", s.cookie), method="HEAD"),
    "without anything, more slashes": lambda s: s.ask("", path=s.path.replace("/", "//")),
    "without anything, HEAD": lambda s: s.ask("", method="HEAD"),
}
"""Other spellings of the same path."""

ATTEMPTS: Final[dict[str, Attempt]] = {
    f"{kind}: {name}": attempt
    for kind, attempts in (
        ("cookie", COOKIES),
        ("name", NAMES),
        ("token", TOKENS),
        ("ticket", TICKETS),
        ("field", FIELDS),
        ("path", SPELLINGS),
    )
    for name, attempt in attempts.items()
}
"""All attempts by name. Alice's directory is closed to carol and everybody else."""
