"""How the web servers of NameNodes are reached: over plain HTTP, or over HTTPS. (hadoop/namenode_web.py)

The only place that says whose certificates are believed. Host names are checked as RFC 9110, section 4.3.4, asks for.
"""

import logging
import ssl
from typing import Final

from nncache.hadoop.namenode_settings import NameNodeTlsSettings
from nncache.hadoop.secret_file import state_of
from nncache.hadoop.settings import SettingError

_log = logging.getLogger(__name__)

_KEY: Final = "namenode_ca"
_STAND_IN: Final = NameNodeTlsSettings()


class NameNodeWeb:
    """Addresses as URLs, and the TLS context for each new connection; for any number of NameNodes.

    A file of certificate authorities that has changed is read when the next connection is made. One that has become
    unusable is logged, and those read before it stay in force.
    """

    def __init__(self, settings: NameNodeTlsSettings = _STAND_IN) -> None:
        """Read the authorities.

        Raises:
            SettingError: Their file cannot be used; names it, and what it must hold.
        """
        self._ca = settings.namenode_ca
        self._state = state_of(self._ca)  # of the file that was read last
        self._context = _context(self._ca) if settings.namenode_tls else None

    def url(self, address: str) -> str:
        """Return the URL of the root of the server at "host:port"."""
        return f"{'http' if self._context is None else 'https'}://{address}"

    @property
    def context(self) -> ssl.SSLContext | None:
        """With which a connection is made now; None: without TLS. Costs a look at the file."""
        if self._context is not None and self._ca and (state := state_of(self._ca)) != self._state:
            self._state = state
            try:
                self._context = _context(self._ca)
            except SettingError as error:
                _log.error("%s; the certificate authorities that were read before stay in force", error)
            else:
                _log.info("%s: %s has changed and was read again", _KEY, self._ca)
        return self._context

    @property
    def ssl(self) -> ssl.SSLContext | bool:
        """The same in the words of aiohttp: True is its default."""
        return self.context or True


def _context(ca: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks host names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not ca:
        context.load_default_certs()
        return context
    # As in Java's truststores, an authority is believed that was itself certified by another one.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(ca)
    except ssl.SSLError as exc:
        pem = "holds no certificate in PEM form (keytool -exportcert -rfc writes it)"
        raise SettingError(_KEY, ca, f"{pem}: {exc.reason or exc}") from exc
    except OSError as exc:
        raise SettingError(_KEY, ca, f"cannot be read: {exc.strerror or exc}") from exc
    return context


PLAIN: Final = NameNodeWeb()
"""Over HTTP without TLS."""
