"""Keep `Secure` cookies off plain connections.

A NameNode that is asked over HTTPS sets its `hadoop.auth` with `Secure`, and so says that it must not cross a network
in clear: who reads it there can use it until it ends. Clients drop such a cookie of a plain connection (RFC 6265bis,
section 5.7), so that nothing is lost but what an eavesdropper could take.
"""

import logging
from dataclasses import replace

from nncache.proxy.headers import encode_fields
from nncache.proxy.messages import Header, Headers
from nncache.proxy.upstream.plain_reply import PlainReply

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
        kept = tuple([field for field in headers if not _is_secure_cookie(field)])
        if len(kept) != len(headers):
            self._note(len(headers) - len(kept))
        return kept

    def plain_reply_for(self, reply: PlainReply) -> PlainReply:
        """Return such a reply to a client without TLS, read off its bytes, without those fields."""
        kept = self.for_client(reply.headers)
        return replace(reply, headers=kept, fields=encode_fields(kept))

    def _note(self, removed: int) -> None:
        if not self.removed:
            _log.warning(
                "a NameNode sets a Secure cookie, and the client's connection is not TLS: the cookie was removed from "
                "the reply, as from all such replies from now on; clients that log in with Kerberos get no cookie, and "
                "negotiate each time; they get one at tls_listen"
            )
        self.removed += removed


def _is_secure_cookie(field: Header) -> bool:
    """Whether it is a `Set-Cookie` with the attribute `Secure`, in any spelling (RFC 6265, section 5.2)."""
    name, value = field
    if name.lower() != b"set-cookie":
        return False
    attributes = value.split(b";")[1:]
    return any(attribute.partition(b"=")[0].strip().lower() == b"secure" for attribute in attributes)
