"""Impersonation attempts against a proxy that authenticates its clients, in addition to `attempts`."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.secured.asking import Question
from tests.secured.attempts import Loot


@dataclass(frozen=True, slots=True)
class MoreLoot:
    """The additional credentials of an attacker."""

    loot: Loot  # the other credentials
    namenodes: str  # a cookie of alice that the NameNode accepts
    namenode_signed: str  # a cookie of the proxy's type for alice, signed with the NameNode's secret
    retired: str  # a cookie of alice that was signed with a retired key
    bob: str  # bob's own; he may act for alice from another host
    other_service: Callable[
        [str], str
    ]  # returns an Authorization value from carol's ticket for a service of this name
    raw: Callable[[], str]  # returns one with a Kerberos token without SPNEGO

    def acting(self, *headers: tuple[str, str], query: str = "&doas=alice") -> Question:
        """Return a request of bob for alice."""
        return self.loot.ask(query, ("Cookie", self.bob), *headers)


def _by(value: str) -> tuple[tuple[str, str], ...]:
    return (("Authorization", value),)


def _token(text: bytes) -> str:
    return f"Negotiate {base64.b64encode(text).decode()}"


MORE_ATTEMPTS: Final[dict[str, Callable[[MoreLoot], Question]]] = {
    "cookie: the NameNode's own": lambda s: s.loot.send(s.namenodes),
    "cookie: the NameNode's own, and one's own": lambda s: s.loot.send(s.namenodes, s.loot.cookie),
    "cookie: one's own, and the NameNode's own": lambda s: s.loot.send(f"{s.loot.cookie}; {s.namenodes}"),
    "cookie: signed by the NameNode": lambda s: s.loot.send(s.namenode_signed),
    "cookie: signed by a retired key": lambda s: s.loot.send(s.retired),
    "cookie: of the NameNode's type": lambda s: s.loot.send(s.loot.claimed.replace("nncache", "kerberos")),
    "cookie: with another principal": lambda s: s.loot.send(s.loot.cookie.replace("p=carol", "p=alice")),
    "cookie: one's own and alice's used ticket": lambda s: s.loot.send(s.loot.cookie, more=_by(s.loot.used)),
    "ticket: for another service of this host": lambda s: s.loot.ask(
        "", *_by(s.other_service("nncache@localhost"))
    ),
    "ticket: for another host": lambda s: s.loot.ask("", *_by(s.other_service("HTTP@proxyhost"))),
    "ticket: for the NameNode's RPC": lambda s: s.loot.ask("", *_by(s.other_service("nn@localhost"))),
    "ticket: without SPNEGO": lambda s: s.loot.ask("", *_by(s.raw())),
    "ticket: cut short": lambda s: s.loot.ask("", *_by(s.loot.used[:-8])),
    "ticket: not Base64": lambda s: s.loot.ask("", *_by("Negotiate !!!")),
    "ticket: empty Base64": lambda s: s.loot.ask("", *_by("Negotiate ====")),
    "ticket: one byte": lambda s: s.loot.ask("", *_by(_token(b"`"))),
    "ticket: a large one": lambda s: s.loot.ask("", *_by(_token(b"`" * 12_000))),
    "ticket: NTLM in SPNEGO's place": lambda s: s.loot.ask("", *_by(_token(b"NTLMSSP\0\x01\0\0\0"))),
    "doas: from a host that the rule does not name": lambda s: s.acting(),
    "doas: that host in X-Forwarded-For": lambda s: s.acting(("X-Forwarded-For", "10.0.0.1")),
    "doas: that host first in X-Forwarded-For": lambda s: s.acting(
        ("X-Forwarded-For", "10.0.0.1, 127.0.0.1")
    ),
    "doas: that host in Forwarded": lambda s: s.acting(("Forwarded", "for=10.0.0.1")),
    "doas: that host in X-Real-IP": lambda s: s.acting(("X-Real-IP", "10.0.0.1")),
    "doas: encoded": lambda s: s.acting(query="&d%6Fas=alice"),
    "doas: in capitals": lambda s: s.acting(query="&DOAS=alice"),
    "doas: as UTF-16": lambda s: s.acting(query="&%u0064oas=alice"),
    "doas: one's own first": lambda s: s.acting(query="&doas=bob&doas=alice"),
    "doas: with user.name": lambda s: s.acting(query="&user.name=nncache&doas=alice"),
    "doas: the superuser": lambda s: s.loot.send(s.loot.proxy, query="&doas=root"),
    "doas: the service": lambda s: s.loot.send(s.loot.proxy, query="&doas=nncache"),
    "doas: behind a fragment": lambda s: s.loot.send(s.loot.cookie, query="#&doas=alice"),
    "name: the service's": lambda s: s.loot.send(s.loot.cookie, query="&user.name=nncache"),
    "token: empty, with one's own cookie": lambda s: s.loot.send(s.loot.cookie, query="&delegation="),
    "token: encoded name": lambda s: s.loot.send(s.loot.cookie, query=f"&d%65legation={s.loot.forged_token}"),
}
"""The attempts by name."""
