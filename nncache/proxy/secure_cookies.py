"""Keep `Secure` cookies off plain connections.

A NameNode that is asked over HTTPS sets its `hadoop.auth` with `Secure`, and so says that it must not cross a network
in clear: who reads it there can use it until it ends. Clients drop such a cookie of a plain connection (RFC 6265bis,
section 5.7), so that nothing is lost but what an eavesdropper could take.
"""

import logging

from nncache.proxy.messages import Headers, WireFields

_log = logging.getLogger(__name__)


class SecureCookies:
    """Removes `Set-Cookie` fields with `Secure` from replies to clients without TLS.

    Attributes:
        removed: how many fields.
    """

    def __init__(self) -> None:
        self.removed = 0

    def for_client(self, headers: Headers, *, is_secure: bool = False) -> Headers:
        """Return the fields that may go to a client; `is_secure`: over TLS."""
        if is_secure:
            return headers
        kept = tuple(
            [field for field in headers if field[0].lower() != b"set-cookie" or not _is_secure(field[1])]
        )
        if len(kept) != len(headers):
            self._note(len(headers) - len(kept))
        return kept

    def wire_for_client(self, wire: WireFields, *, is_secure: bool) -> bytes:
        """Return the fields that may go to a client, as they go on the wire."""
        start, cookie, end, _ = wire
        if cookie is None:
            return start
        if not is_secure and _is_secure(cookie[1]):
            self._note(1)
            return start + end
        return b"%b%b: %b\r\n%b" % (start, *cookie, end)

    def _note(self, removed: int) -> None:
        if not self.removed:
            _log.warning(
                "a NameNode sets a Secure cookie, and the client's connection is not TLS: the cookie was removed from "
                "the reply, as from all such replies from now on; clients that log in with Kerberos get no cookie, and "
                "negotiate each time; they get one at tls_listen"
            )
        self.removed += removed


def _is_secure(value: bytes) -> bool:
    """Whether a cookie has the attribute `Secure`, in any spelling (RFC 6265, section 5.2)."""
    if b"secure" not in value.lower():
        return False
    attributes = value.split(b";")[1:]
    return any(attribute.partition(b"=")[0].strip().lower() == b"secure" for attribute in attributes)
