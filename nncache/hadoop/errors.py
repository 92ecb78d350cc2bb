"""The error tree of this room.

The first branch says whose fault it is. A NameNode's RemoteException is data (`remote_exception.py`), not one of these.
"""

from nncache.hadoop.remote_exception import RemoteException, Verdict


class HadoopError(Exception):
    """Root of this room's errors. Caught only where replies are written and where loops are supervised."""


class MalformedReplyError(HadoopError):
    """A server's reply violates the protocol: no part of it can be trusted."""


class MalformedEditsError(HadoopError):
    """Data of the edit log is invalid or damaged: no transaction can be read from there on."""


class KerberosError(HadoopError):
    """Kerberos gives no ticket, context or key, or the other side fails to authenticate; says what to do."""


class JmxUnavailableError(HadoopError):
    """No reply over JMX: no connection, a lost one, or a timeout."""


class TlsError(JmxUnavailableError):
    """No JMX request was sent: the server is not trusted, or does not speak TLS; says what to do."""


class RpcError(HadoopError):
    """Root of the errors of calls over Hadoop RPC."""


class FramingError(RpcError):
    """The other side violates the Hadoop RPC protocol; the connection is unusable."""


class RpcUnavailableError(RpcError):
    """No reply: no connection, a lost one, or a timeout."""

    def __init__(self, message: str, *, is_sent: bool) -> None:
        super().__init__(message)
        self.is_sent = is_sent
        """Whether the call may have been executed; if not, it is safe to retry."""


class WrongAddressError(RpcUnavailableError):
    """The RPC address leads to another namespace than the HTTP address; no call was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_sent=False)


class RpcLoginError(RpcUnavailableError):
    """The login with the service's own Kerberos identity failed; no call was sent.

    It is a kind of unavailability, since the next ticket, keytab or answer of the KDC may fix it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, is_sent=False)


class OtherServerError(RpcLoginError):
    """The server claims another principal than `namenode_principal`."""


class RpcAuthenticationError(RpcError):
    """The NameNode refuses this client; a retry does not help."""

    def __init__(self, address: str, message: str, advice: str = "") -> None:
        super().__init__(f"{address} refuses the connection: {message}{f'; {advice}' if advice else ''}")


class CallerRefusedError(RpcError):
    """The NameNode was called as a caller, whom it does not let see the path."""


class TooManyCallersError(RpcError):
    """No connection is free for a call as another user; no call was sent."""


class RemoteCallError(RpcError):
    """The NameNode answered a call with an exception."""

    def __init__(
        self, remote: RemoteException, *, address: str, method: str, user: str, advice: str = ""
    ) -> None:
        super().__init__(f"{method} at {address} as {user}: {remote.exception}: {remote.message}{advice}")
        self.remote = remote
        self.address = address

    @property
    def verdict(self) -> Verdict:
        """The classification of the exception."""
        return self.remote.verdict


class NoActiveNameNodeError(HadoopError):
    """No configured NameNode is known to be the active one, or several claim to be.

    The message may be sent to clients. `reasons` are for logs and operators: they name users, statuses and settings.
    """

    def __init__(self, message: str, *, reasons: str = "") -> None:
        super().__init__(message)
        self.reasons = reasons

    @property
    def whole(self) -> str:
        """The message with the reasons."""
        return f"{self}: {self.reasons}" if self.reasons else str(self)


class WebHdfsError(HadoopError):
    """A WebHDFS call ended in an unexpected way."""


class RemoteExceptionError(WebHdfsError):
    """The answer to a WebHDFS call is a RemoteException."""

    def __init__(self, status: int, remote: RemoteException, *, call: str) -> None:
        super().__init__(f"{call}: {status} {remote.exception}: {remote.message}")
        self.status = status
        self.remote = remote

    @property
    def verdict(self) -> Verdict:
        """The classification of the exception."""
        return self.remote.verdict


class DataNodeUnavailableError(WebHdfsError):
    """The DataNode did not answer the second step of a call; it may have been executed."""
