"""Ask the web port of a server, as a user whom it believes."""

import base64
import hashlib
import hmac
import http.client
import ssl
import time
from dataclasses import dataclass

from nncache.testbed.spec import REALM

_COOKIE_S = 86_400.0


@dataclass(frozen=True, slots=True)
class WebAccess:
    """How to be believed by the web port of a server.

    Attributes:
        secret: signs the server's cookies, where it asks for Kerberos; empty: it believes `user.name`.
        context: with which the server is trusted; None: it is asked over plain HTTP.
    """

    secret: bytes = b""
    context: ssl.SSLContext | None = None

    def headers(self, user: str) -> dict[str, str]:
        """Return the headers of a request of this user, who needs no ticket: the test bed signs the cookie itself."""
        if not self.secret:
            return {}
        ends = time.time() + _COOKIE_S  # noqa: TID251 - the server goes by the wall clock
        return {"Cookie": f'hadoop.auth="{signed_cookie(self.secret, user, expires_s=ends)}"'}

    def connect(self, address: str, timeout_s: float) -> http.client.HTTPConnection:
        """Return a connection, not yet made, to the server at "host:port"."""
        host, _, port = address.rpartition(":")
        if self.context is not None:
            return http.client.HTTPSConnection(host, int(port), timeout=timeout_s, context=self.context)
        return http.client.HTTPConnection(host, int(port), timeout=timeout_s)


def signed_cookie(secret: bytes, user: str, *, expires_s: float, kind: str = "kerberos") -> str:
    """Return the value of a hadoop.auth cookie as a server with this secret signs it.

    Hadoop's AuthenticationToken and Signer (hadoop-auth 3.4 and 3.5): HMAC-SHA256 over the text before `&s=`.
    `expires_s` is seconds since the epoch.
    """
    text = f"u={user}&p={user}@{REALM}&t={kind}&e={int(expires_s * 1000)}"
    signature = base64.b64encode(hmac.digest(secret, text.encode(), hashlib.sha256)).decode()
    return f"{text}&s={signature}"
