"""The handshake at the start of a Hadoop RPC connection: it names or authenticates the user.

A handshake is sans-I/O and belongs to one connection: `nncache.hadoop.rpc.wire` sends the bytes that it returns, and
passes it every frame until it is complete. SIMPLE needs one frame and no reply. SASL (`sasl.py`) announces 0xDF and
answers the server's messages. If an answer needs a Kerberos token, which may require a call to the KDC, it returns a
`TokenRequest` and takes the token in `answer`.
"""

from dataclasses import dataclass

from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.rpc.messages import encode_context

NO_AUTH_PROTOCOL = 0
SASL_AUTH_PROTOCOL = 0xDF


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A handshake's request for the next Kerberos token for this server; `challenge` is the server's last token."""

    server: Principal
    challenge: bytes | None


class SimpleHandshake:
    """SIMPLE authentication: the server takes the user name as the client sends it."""

    auth_protocol = NO_AUTH_PROTOCOL
    protection = None

    def __init__(self, client_id: bytes, user: str, protocol: str, real_user: str | None = None) -> None:
        self._client_id = client_id
        self._user = user
        self._real_user = real_user
        self._protocol = protocol

    def is_complete(self) -> bool:
        """Return true: SIMPLE waits for no reply."""
        return True

    def begin(self) -> bytes:
        """Return the connection context frame; calls may follow immediately."""
        return encode_context(self._client_id, self._user, self._real_user, self._protocol)

    def receive(self, frame: bytes) -> bytes:
        """Never called: SIMPLE is complete before anything arrives."""
        raise AssertionError(frame)

    def answer(self, token: bytes) -> bytes:
        """Never called: SIMPLE needs no token."""
        raise AssertionError(token)
