"""Access to the web servers of NameNodes: over plain HTTP, or over HTTPS.

The only place that decides which certificates are trusted. Host names are verified as in RFC 9110, section 4.3.4.
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
    """The URLs of NameNodes, and the TLS context for each new connection.

    A changed file of certificate authorities is reloaded for the next connection. If the new file is unusable, that is
    logged and the previous authorities stay in force.
    """

    def __init__(self, settings: NameNodeTlsSettings = _STAND_IN) -> None:
        """Load the authorities. Raises SettingError: their file is unusable; names it, and what it must hold."""
        self._ca = settings.namenode_ca
        self._state = state_of(self._ca)  # of the file when it was last read
        self._context = client_context(_KEY, self._ca) if settings.namenode_tls else None

    def url(self, address: str) -> str:
        """Return the URL of the root of the server at "host:port"."""
        return f"{'http' if self._context is None else 'https'}://{address}"

    @property
    def context(self) -> ssl.SSLContext | None:
        """The TLS context for a new connection; None: plain HTTP. Each access checks the file's state."""
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
        """The context as aiohttp's argument `ssl`: True is its default."""
        return self.context or True


PLAIN: Final = NameNodeWeb()
"""Plain HTTP."""
