"""How the web servers of NameNodes are reached: over plain HTTP, or over HTTPS.

The only place that says whose certificates are believed. Host names are checked as RFC 9110, section 4.3.4, asks for.
"""

import logging
import ssl
from typing import Final

from nncache.hadoop.namenode_settings import NameNodeTlsSettings
from nncache.net.secret_file import state_of
from nncache.net.setting_error import SettingError
from nncache.net.tls_client import client_context

_log = logging.getLogger(__name__)

_KEY: Final = "namenode_ca"
_STAND_IN: Final = NameNodeTlsSettings()


class NameNodeWeb:
    """Addresses as URLs, and the TLS context for each new connection; for any number of NameNodes.

    A file of certificate authorities that has changed is read when the next connection is made. One that has become
    unusable is logged, and those read before it stay in force.
    """

    def __init__(self, settings: NameNodeTlsSettings = _STAND_IN) -> None:
        """Read the authorities. Raises SettingError: their file cannot be used; names it, and what it must hold."""
        self._ca = settings.namenode_ca
        self._state = state_of(self._ca)  # of the file that was read last
        self._context = client_context(_KEY, self._ca) if settings.namenode_tls else None

    def url(self, address: str) -> str:
        """Return the URL of the root of the server at "host:port"."""
        return f"{'http' if self._context is None else 'https'}://{address}"

    @property
    def context(self) -> ssl.SSLContext | None:
        """With which a connection is made now; None: without TLS. Costs a look at the file."""
        if self._context is not None and self._ca and (state := state_of(self._ca)) != self._state:
            self._state = state
            try:
                self._context = client_context(_KEY, self._ca)
            except SettingError as error:
                _log.error("%s; the certificate authorities that were read before stay in force", error)
            else:
                _log.info("%s: %s has changed and was read again", _KEY, self._ca)
        return self._context

    @property
    def ssl(self) -> ssl.SSLContext | bool:
        """The same in the words of aiohttp: True is its default."""
        return self.context or True


PLAIN: Final = NameNodeWeb()
"""Over HTTP without TLS."""
