"""Proxies that authenticate their clients themselves, and the cookies that they issue."""

import secrets
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nncache.spnego.cookies import Keys, LoginSession, encode_cookie
from nncache.testbed import Kdc
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.spec import REALM
from tests.hadoop.site_files import prop, site
from tests.kerberos import negotiate
from tests.secured.asking import Question, ask
from tests.secured.service import keytab_of
from tests.service import spelled

PROXY_USERS = {
    "hadoop.proxyuser.proxy.users": "alice,bob",
    "hadoop.proxyuser.proxy.hosts": "*",
    "hadoop.proxyuser.bob.users": "alice",
    "hadoop.proxyuser.bob.hosts": "10.0.0.1",
}
"""The proxy-user rules of the proxies: bob may act for alice, but not from this host."""

PRINCIPALS = {"proxy": "proxy/localhost"}
"""The principals of users without a principal of their own name."""


@dataclass(frozen=True, slots=True)
class Terminating:
    """The proxies and their clients' credentials."""

    proxies: dict[str, ProxyDaemon]  # by channel
    tls: dict[str, str]  # address of each proxy's TLS port, by channel
    context: ssl.SSLContext  # for a client that trusts the authority of their certificate
    secret: Path  # the file with the secrets that sign their cookies

    def cookie(self, user: str, *, lives_s: float = 3600.0, key: bytes | None = None) -> str:
        """Return a cookie as these proxies issue it, as name=value; `key` replaces their signing key."""
        ends_ms = int((time.time() + lives_s) * 1000)  # noqa: TID251 - cookies use the wall clock
        keys = Keys((key or self.secret.read_bytes().split()[0],))
        session = LoginSession(user, f"{user}@{REALM}", ends_ms)
        return encode_cookie(session, keys, is_secure=False)[1].split(b";")[0].decode()


@contextmanager
def another_secret(terminating: Terminating) -> Iterator[bytes]:
    """Append a secret to the proxies' file, after their signing secret; yield it when all accept it, within seconds."""
    before, secret = terminating.secret.read_bytes(), secrets.token_hex(32).encode()
    terminating.secret.write_bytes(before + secret + b"\n")
    question = Question("/", "", (("Cookie", terminating.cookie("alice", key=secret)),), "GETHOMEDIRECTORY")
    try:
        for proxy in terminating.proxies.values():
            proxy.process.await_that(lambda: ask(proxy.address, question).status == 200, "does not use it")  # noqa: B023 - called at once
        yield secret
    finally:
        terminating.secret.write_bytes(before)


def secrets_file(directory: Path) -> Path:
    """Return the path of the proxies' secrets."""
    return directory / "cookie.secret"


def termination_flags(
    kdc: Kdc, directory: Path, principal: str = f"HTTP/localhost@{REALM}"
) -> tuple[str, ...]:
    """Write the files that a proxy needs to authenticate its clients; return its flags."""
    return tuple(spelled(termination_settings(kdc, directory, principal)))


def termination_settings(
    kdc: Kdc, directory: Path, principal: str = f"HTTP/localhost@{REALM}"
) -> dict[str, object]:
    """Write the files that a proxy needs to authenticate its clients; return its settings."""
    secret = secrets_file(directory)
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex(32) + "\n")
    conf = directory / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "core-site.xml").write_text(site(*(prop(key, value) for key, value in PROXY_USERS.items())))
    return {
        "spnego_principal": principal,
        "spnego_keytab": keytab_of(kdc, "nncache"),
        "cookie_secret_file": secret,
        "hadoop_conf_dir": conf,
    }


def cookie_by_ticket(kdc: Kdc, proxy: ProxyDaemon, user: str) -> str:
    """Return the cookie that a proxy issues for a user's ticket, as name=value."""
    ticket = negotiate(kdc.kinit(PRINCIPALS.get(user, user)))
    reply = ask(proxy.address, Question("/", "", (("Authorization", ticket),), "GETHOMEDIRECTORY"))
    return reply.header("Set-Cookie").split(";")[0]
