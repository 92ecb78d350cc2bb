"""Logs in at ZooKeeper by SASL, with Kerberos or with a password.

kazoo selects a SASL mechanism of PyPI's pure-sasl by name. This module registers two. The Kerberos one uses the
service's own identity, so that tickets are renewed and a replaced keytab is read. pure-sasl's own one needs another C
library, and uses the identity in the environment of the whole process. The other one is pure-sasl's DIGEST-MD5. Both
report the outcome, which kazoo does not: it reports CONNECTED before the login, and never retries after a failed one.
Source: ZooKeeperSaslClient of ZooKeeper 3.8; RFC 4752 and 2831.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from puresasl.mechanisms import DigestMD5Mechanism, Mechanism, mechanisms

from nncache.coordination.login import Attempt, ZooKeeperLogin
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.tls import tls_of
from nncache.hadoop.kerberos.gss import Mechanism as GssMechanism
from nncache.hadoop.kerberos.identity import Initiator, KerberosIdentity
from nncache.hadoop.kerberos.principal import Principal
from nncache.net.secret_file import fault_of, shown
from nncache.net.setting_error import SettingError

KDC_ANSWER_S: Final = 3.0
"""Timeout of all requests to the KDC for one login."""

_KERBEROS: Final = "NNCACHE-KERBEROS"
_DIGEST: Final = "NNCACHE-DIGEST-MD5"
_NO_LAYER: Final = b"\x01\x00\x00\x00"  # RFC 4752: authentication only, the only mode of ZooKeeper
_DIGEST_HOST: Final = "zk-sasl-md5"  # SecurityUtils of ZooKeeper: the one name of all its servers


class KerberosLogin:
    """A login with the service's own Kerberos identity."""

    def __init__(self, identity: KerberosIdentity) -> None:
        self._identity = identity
        self._loop: asyncio.AbstractEventLoop | None = None  # uses the identity

    @property
    def who(self) -> str:
        """The principal's name."""
        return self._identity.name

    @property
    def subscriber(self) -> str:
        """A principal of the same realm, as servers name it unless kerberos.removeRealmFromPrincipal is set."""
        _, at, realm = self._identity.name.rpartition("@")
        return f"sasl:{{user}}@{realm}" if at and " " not in realm else ""

    def options(self, attempt: Attempt) -> Mapping[str, Any]:
        """Return kazoo's `sasl_options`. Call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        mechanisms.setdefault(_KERBEROS, _Kerberos)
        return {"mechanism": _KERBEROS, "login": self, "attempt": attempt}

    def recheck(self) -> None:
        """Request new tickets before the next login."""
        self._identity.recheck()

    def begin(self, server: Principal) -> tuple[Initiator, bytes]:
        """Return a context with this server and its first token; blocks for at most about twice KDC_ANSWER_S.

        Raises KerberosError if there is no ticket for the server.
        """
        assert self._loop is not None  # set by `options`
        return asyncio.run_coroutine_threadsafe(self._begin(server), self._loop).result(2 * KDC_ANSWER_S)

    async def _begin(self, server: Principal) -> tuple[Initiator, bytes]:
        initiator = await self._identity.initiator(GssMechanism.KERBEROS, KDC_ANSWER_S)
        return initiator, await initiator.step(server, None)


@dataclass(frozen=True, slots=True)
class DigestLogin:
    """A login as a user of the servers' JAAS configuration (`user_NAME="password"`)."""

    user: str
    password: str = field(repr=False)

    @property
    def who(self) -> str:
        """The user's name."""
        return f"user {self.user}"

    @property
    def subscriber(self) -> str:
        """Another user of the JAAS configuration."""
        return "sasl:{user}"

    def options(self, attempt: Attempt) -> Mapping[str, Any]:
        """Return kazoo's `sasl_options`."""
        mechanisms.setdefault(_DIGEST, _Digest)
        return {"mechanism": _DIGEST, "login": self, "attempt": attempt}

    def recheck(self) -> None:
        """Do nothing: the password is read only at the start."""


class _Kerberos(Mechanism):  # type: ignore[misc] # pure-sasl ships no types
    """Three messages: the first token; an empty one, since the server's completes the context; the security layer."""

    name = _KERBEROS

    def __init__(self, sasl: Any, login: KerberosLogin, attempt: Attempt) -> None:  # noqa: ANN401 - as above
        super().__init__(sasl)
        self._login = login
        self._attempt = attempt
        self._server = Principal(sasl.service, sasl.host)
        self._initiator: Initiator | None = None

    def process(self, challenge: bytes | None = None) -> bytes:
        """Return the answer to the server's challenge, which is None at the start."""
        try:
            return self._answer(challenge)
        except Exception as exc:
            self._attempt.failure = str(exc) or type(exc).__name__
            raise

    def _answer(self, challenge: bytes | None) -> bytes:
        if self._initiator is None:
            self._initiator, token = self._login.begin(self._server)
            return token
        context = self._initiator.context
        if not context.is_complete:
            return context.step(self._server, challenge)
        context.unwrap(challenge or b"", is_encrypted=False)
        self.complete = True
        return context.wrap(_NO_LAYER, encrypts=False)

    def dispose(self) -> None:
        """Report success: the server has accepted the login."""
        self._attempt.on_success()


class _Digest(DigestMD5Mechanism):  # type: ignore[misc] # pure-sasl ships no types
    """pure-sasl's own mechanism, which also reports success."""

    name = _DIGEST

    def __init__(self, sasl: Any, login: DigestLogin, attempt: Attempt) -> None:  # noqa: ANN401 - as above
        sasl.host = _DIGEST_HOST
        super().__init__(sasl, username=login.user, password=login.password)
        self._attempt = attempt

    def dispose(self) -> None:
        """Forget the password, and report success: the server has accepted the login."""
        super().dispose()
        self._attempt.on_success()


def login_of(settings: ZooKeeperSettings, identity: KerberosIdentity | None) -> ZooKeeperLogin | None:
    """Return the login that the settings configure; None if they configure none.

    Raises SettingError if there is no identity, or a file for the password or for TLS is unusable.
    """
    tls_of(settings)  # reports at the start a fault that would fail the first connection
    match settings.zookeeper_sasl:
        case "kerberos":
            if identity is None:
                raise SettingError("zookeeper_sasl", "kerberos", "needs an identity: principal and keytab")
            return KerberosLogin(identity)
        case "digest":
            return DigestLogin(settings.zookeeper_sasl_user, _password(settings.zookeeper_password_file))
        case "none":
            return None


def _password(file: str) -> str:
    if fault := fault_of(file, "the password of zookeeper_sasl_user"):
        raise SettingError("zookeeper_password_file", shown(file), fault)
    try:
        password = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingError("zookeeper_password_file", file, f"cannot be read: {exc}") from exc
    if not password:
        raise SettingError("zookeeper_password_file", file, "must hold a password")
    return password
