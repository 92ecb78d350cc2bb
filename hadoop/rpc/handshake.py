"""Say who calls, at the start of a Hadoop RPC connection. (hadoop/rpc/handshake.py)

This is the seam for authentication. A `Handshake` is sans-I/O and lives as long as one connection:
`nncache.hadoop.rpc.wire` sends what it returns and feeds it every frame until it is complete. SIMPLE needs one
frame and no reply. SASL (Kerberos, delegation tokens) will announce 0xDF, answer the server's CHALLENGEs
in `receive`, and return the context frame with its last answer.
"""

from typing import Protocol

from nncache.hadoop.rpc.messages import encode_context

NO_AUTH_PROTOCOL = 0
SASL_AUTH_PROTOCOL = 0xDF


class Handshake(Protocol):
    """What one connection says before its first call."""

    @property
    def auth_protocol(self) -> int:
        """The last byte of the preamble: NO_AUTH_PROTOCOL or SASL_AUTH_PROTOCOL."""

    def is_complete(self) -> bool:
        """Tell whether calls may be sent; every frame that arrives earlier belongs to the handshake."""

    def begin(self) -> bytes:
        """Return the frames that follow the preamble."""

    def receive(self, frame: bytes) -> bytes:
        """Take a frame of the server and return the frames that answer it.

        Raises:
            RpcError: The server refuses, or says what cannot be understood.
        """


class SimpleHandshake:
    """SIMPLE authentication: the server believes the name that it is told."""

    auth_protocol = NO_AUTH_PROTOCOL

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
