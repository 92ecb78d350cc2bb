"""Say who calls, at the start of a Hadoop RPC connection.

This is the seam for authentication. A `Handshake` is sans-I/O and lives as long as one connection:
`nncache.hadoop.rpc.wire` sends what it returns and feeds it every frame until it is complete. SIMPLE needs one
frame and no reply. SASL (`sasl.py`) announces 0xDF and answers the server's messages; where an answer needs a token
of Kerberos, which may have to ask the KDC, it returns a `TokenRequest` and takes the token in `answer`.
"""

from dataclasses import dataclass
from typing import Protocol

from nncache.hadoop.kerberos.principal import Principal
from nncache.hadoop.rpc.messages import encode_context

NO_AUTH_PROTOCOL = 0
SASL_AUTH_PROTOCOL = 0xDF


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """The handshake goes on with Kerberos' next token for this server; `challenge` is what the server said last."""

    server: Principal
    challenge: bytes | None


class Protection(Protocol):
    """What was agreed upon for all that follows the handshake; `nncache.hadoop.rpc.sasl` has it."""

    def wrap(self, frames: bytes) -> bytes:
        """Return the frame that carries these frames."""
        ...

    def unwrap(self, frame: bytes) -> bytes:
        """Return what a frame of the server carries: any part of its frames. Raises RpcError."""
        ...


class Handshake(Protocol):
    """What one connection says before its first call."""

    @property
    def auth_protocol(self) -> int:
        """The last byte of the preamble: NO_AUTH_PROTOCOL or SASL_AUTH_PROTOCOL."""

    def is_complete(self) -> bool:
        """Tell whether calls may be sent; every frame that arrives earlier belongs to the handshake."""

    def begin(self) -> bytes:
        """Return the frames that follow the preamble."""

    @property
    def protection(self) -> Protection | None:
        """How frames are carried once it is complete; None: as they are."""

    def receive(self, frame: bytes) -> bytes | TokenRequest:
        """Take a frame of the server and return the frames that answer it, or what is needed for that.

        Raises RpcError: the server refuses, or says what cannot be understood.
        """

    def answer(self, token: bytes) -> bytes:
        """Take the token that was asked for, and return the frames that carry it. Raises RpcError."""


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
