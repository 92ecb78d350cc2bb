"""Say who calls, at the start of a Hadoop RPC connection.

A handshake is sans-I/O and lives as long as one connection: `nncache.hadoop.rpc.wire` sends what it returns and feeds
it every frame until it is complete. SIMPLE needs one frame and no reply. SASL (`sasl.py`) announces 0xDF and answers
the server's messages; where an answer needs a token of Kerberos, which may have to ask the KDC, it returns a
`TokenRequest` and takes the token in `answer`.
"""

from dataclasses import dataclass

from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.rpc.messages import encode_context

NO_AUTH_PROTOCOL = 0
SASL_AUTH_PROTOCOL = 0xDF


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The handshake goes on with Kerberos' next token for this server; `challenge` is what the server said last."""

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
        """Say yes: SIMPLE waits for nothing."""
        return True

    def begin(self) -> bytes:
        """Return the context frame; calls may follow at once."""
        return encode_context(self._client_id, self._user, self._real_user, self._protocol)

    def receive(self, frame: bytes) -> bytes:
        """Never called: SIMPLE is complete before anything arrives."""
        raise AssertionError(frame)

    def answer(self, token: bytes) -> bytes:
        """Never called: SIMPLE asks for no token."""
        raise AssertionError(token)
