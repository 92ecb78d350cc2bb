"""A second entrance to the model's proxy, where the proxy itself authenticates its clients.

It uses the same cache and the same NameNodes. A ticket is a principal's name with a number, valid once.
"""

import asyncio
import base64
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.kerberos.auth_to_local import AuthToLocal
from nncache.hadoop.kerberos.gss import Accepted, RefusedToken
from nncache.hadoop.proxy_users import parse_proxy_users
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.decide.issued_tokens import IssuedTokens
from nncache.proxy.messages import Header
from nncache.proxy.settings import ProxySettings
from nncache.spnego.cookies import Keys, LoginSession, encode_cookie
from nncache.spnego.handshakes import Handshakes
from nncache.spnego.impersonation import Impersonation
from nncache.spnego.signing_keys import SigningKeys
from nncache.spnego.terminator import Terminator
from tests.invalidation.virtual_time import clock
from tests.model.replies import Remembered
from tests.model.system import ModelSystem

SERVICE: Final = "HTTP/proxy@TEST"
KEY: Final = b"k" * 32
OLD_KEY: Final = b"o" * 32
FOREIGN_KEY: Final = b"f" * 32
GATE: Final = "10.0.0.1"
"""The only host from which knox may impersonate others."""

_UNIX_TIME_OF_BOOT_S: Final = 1_790_000_000.0
_RULES: Final = {"hadoop.proxyuser.knox.users": "alice,bob", "hadoop.proxyuser.knox.hosts": GATE}


class _AtOnce:
    """`KdcThreads` without threads, in virtual time."""

    def call(
        self, function: Callable[[], Accepted | RefusedToken], *, timeout_s: float | None, what: str
    ) -> "asyncio.Future[Accepted | RefusedToken]":
        """Call the function and return a future with its result."""
        future: asyncio.Future[Accepted | RefusedToken] = asyncio.get_running_loop().create_future()
        future.set_result(function())
        return future


class Terminated:
    """The second entrance, as an async context manager."""

    def __init__(self, system: ModelSystem, *, validity_s: int = 3600) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="nncache-model-")
        self._file = Path(self._directory.name, "secret")
        self._file.touch(mode=0o600)
        self.write_keys(KEY, OLD_KEY)
        self.keys = SigningKeys(str(self._file))
        handshakes = Handshakes(frozenset({SERVICE}), self._accept, 8)
        handshakes._threads = _AtOnce()  # type: ignore[assignment] # noqa: SLF001 - a seam for virtual time
        self._used: set[bytes] = set()
        self._given = 0
        self.fast_path = Remembered(system.cache.is_good)
        asks_again = system.cache.windows.on_recheck
        self.front_end = FrontEnd(
            system.cache, system.upstream, system.queries, system.consumer, ProxySettings(), clock
        )
        system.cache.windows.on_recheck = asks_again  # only the first front end has writes
        self.front_end.answers.remember = self.fast_path.remember
        self.front_end.admit = Terminator(
            handshakes,
            lambda: self.keys.keys,
            AuthToLocal("DEFAULT", "TEST"),
            Impersonation(parse_proxy_users(Configuration(_RULES)), clock),
            clock,
            unix_time=lambda: _UNIX_TIME_OF_BOOT_S + clock(),
            validity_s=validity_s,
        ).admit
        self.front_end.answers.issued = IssuedTokens(clock, believed_for_s=10.0)
        self.front_end.answers.issued.on_ended.append(self.front_end.waits.token_ended)
        self.keys.on_retired += (self.fast_path.hits.clear, self.front_end.waits.key_retired)

    def write_keys(self, *keys: bytes) -> None:
        """Replace the secrets, as an operator would."""
        self._file.write_bytes(b"\n".join(keys) + b"\n")

    def _accept(self, token: bytes) -> Accepted | RefusedToken:
        if token in self._used:
            return RefusedToken("replay")
        self._used.add(token)
        return Accepted(f"{token.decode().partition(' ')[0]}@TEST", SERVICE, b"reply")

    def ticket(self, user: str) -> Header:
        """Return an unused ticket."""
        self._given += 1
        return b"Authorization", b"Negotiate " + base64.b64encode(f"{user} {self._given}".encode())

    def cookie(self, user: str, *, lives_s: float = 3600.0, key: bytes = KEY) -> Header:
        """Return a cookie signed with a key."""
        ends_s = _UNIX_TIME_OF_BOOT_S + clock() + lives_s
        session = LoginSession(user, f"{user}@TEST", int(ends_s * 1000))
        return b"Cookie", encode_cookie(session, Keys((key,)), is_secure=False)[1].split(b";")[0]

    async def __aenter__(self) -> Self:
        await self.front_end.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.front_end.__aexit__(None, None, None)
        self._directory.cleanup()
