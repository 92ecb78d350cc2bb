"""TLS connections to ZooKeeper's servers, and the certificates that this client trusts.

Its settings correspond to those of ZooKeeper's own client (ZKConfig of 3.8: ssl.trustStore.*, ssl.keyStore.*), in PEM.
Host names are always verified. ZooKeeper's client does so by default; kazoo does not.
"""

import logging
import socket
import ssl
from collections.abc import Callable
from typing import Final, NoReturn

from nncache.coordination.settings import ZooKeeperSettings
from nncache.net.secret_file import FileState, fault_of, state_of
from nncache.net.setting_error import SettingError
from nncache.net.tls_client import client_context
from nncache.net.tls_failure import TlsWords, why_no_tls

_log = logging.getLogger(__name__)

WORDS: Final = TlsWords(
    server="the ZooKeeper server",
    addresses="zookeeper",
    authorities="zookeeper_ca",
    plain="if that is its clientPort, name the secureClientPort in zookeeper, or set zookeeper_tls to false",
    old="enable TLSv1.2 or TLSv1.3 by ssl.enabledProtocols in its zoo.cfg",
    wants_certificate="it wants a client's certificate (ssl.clientAuth) of an authority in its ssl.trustStore: set "
    "zookeeper_certificate and zookeeper_key",
    keystore="its ssl.keyStore (zoo.cfg)",
)


class ReportingSocket(ssl.SSLSocket):
    """A TLS socket that also reports failures of TLS after the handshake.

    With TLS 1.3 a server refuses a client's certificate, or a missing one, after the client's handshake is complete.
    """

    on_failure: Callable[[str], None] | None = None

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive like any socket."""
        try:
            return super().recv(buflen, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            if self.on_failure is not None:
                self.on_failure(why_no_tls(error, WORDS))
            raise


class ZooKeeperTls:
    """Creates TLS connections. Changed files are read again for the next connection.

    If a changed file is unusable, that is logged, and the previous files stay in force.
    """

    def __init__(self, settings: ZooKeeperSettings) -> None:
        """Read the files. Raises SettingError if one is unusable; the message names it, and what it must contain."""
        self._settings = settings
        self._states = self._seen()
        self._context = _context(settings)

    def wrap(self, connection: socket.socket, host: str) -> ReportingSocket:
        """Return a TLS socket to the server of that name, before its handshake. From any thread."""
        made = self.context.wrap_socket(connection, server_hostname=host, do_handshake_on_connect=False)
        assert isinstance(made, ReportingSocket)
        return made

    @property
    def context(self) -> ssl.SSLContext:
        """The context of the next connection. Costs a stat of each file."""
        states = self._seen()
        if states != self._states:
            self._states = states
            try:
                self._context = _context(self._settings)
            except SettingError as error:
                _log.error("%s; the files that were read before stay in force", error)
            else:
                _log.info(
                    "the files of zookeeper_ca and zookeeper_certificate have changed and were read again"
                )
        return self._context

    def _seen(self) -> tuple[FileState, ...]:
        files = (
            self._settings.zookeeper_ca,
            self._settings.zookeeper_certificate,
            self._settings.zookeeper_key,
        )
        return tuple(state_of(file) for file in files if file)


def tls_of(settings: ZooKeeperSettings) -> ZooKeeperTls | None:
    """Return TLS as configured, None if it is off. Raises SettingError as `ZooKeeperTls` does."""
    return ZooKeeperTls(settings) if settings.zookeeper_tls else None


def _context(settings: ZooKeeperSettings) -> ssl.SSLContext:
    context = client_context("zookeeper_ca", settings.zookeeper_ca)
    context.sslsocket_class = ReportingSocket
    certificate, key = settings.zookeeper_certificate, settings.zookeeper_key
    if not certificate:
        return context
    if fault := fault_of(key, "the private key of zookeeper_certificate"):
        raise SettingError("zookeeper_key", key, fault)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as exc:
        raise SettingError(
            "zookeeper_certificate",
            certificate,
            f"must be a certificate in PEM, with the key of zookeeper_key: {exc.reason or exc}",
        ) from exc
    except OSError as exc:
        raise SettingError(
            "zookeeper_certificate", certificate, f"cannot be read: {exc.strerror or exc}"
        ) from exc
    return context


def _no_password() -> NoReturn:
    """Prevent OpenSSL from asking for a password on the terminal."""
    raise OSError("zookeeper_key is encrypted: it must be a key without a password")
