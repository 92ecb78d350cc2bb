"""The error tree of this room.

The first branch says whose fault it is. A RemoteException of a NameNode is data (`remote_exception.py`), not one of
these.
"""

from nncache.hadoop.remote_exception import RemoteException, Verdict


class HadoopError(Exception):
    """Root of this room's errors. Caught only where replies are written and where loops are supervised."""


class MalformedReplyError(HadoopError):
    """A server's reply is not what the protocol says: not to be trusted in any part."""


class MalformedEditsError(HadoopError):
    """Bytes that should be of the edit log are not, or are damaged: no transaction from there on can be read."""


class KerberosError(HadoopError):
    """Kerberos does not give what is needed, or does not believe what the other side shows; says what to do."""


class JmxUnavailableError(HadoopError):
    """No reply over JMX: not connected, cut off, or too slow."""


class TlsError(JmxUnavailableError):
    """Not asked over JMX: TLS found that the server is not to be believed, or speaks none; says what to do."""


class RpcError(HadoopError):
    """Root of what can go wrong with a call over Hadoop RPC."""


class FramingError(RpcError):
    """The other side does not speak Hadoop RPC as it is known here; the connection is of no more use."""


class RpcUnavailableError(RpcError):
    """No reply: not connected, cut off, or too slow."""

    def __init__(self, message: str, *, is_sent: bool) -> None:
        super().__init__(message)
        self.is_sent = is_sent
        """Whether the call may have been carried out; if not, it is safe to repeat."""


class WrongAddressError(RpcUnavailableError):
    """The RPC address leads to another namespace than the HTTP address: one is wrong; nothing was asked there."""

    def __init__(self, message: str) -> None:
        super().__init__(message, is_sent=False)


class RpcLoginError(RpcUnavailableError):
    """The service's own Kerberos identity could not be shown, or was not accepted; nothing was asked.

    Unavailable, since it may pass: with the next ticket, keytab or answer of the KDC.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, is_sent=False)


class OtherServerError(RpcLoginError):
    """The server calls itself another principal than `namenode_principal` says."""


class RpcAuthenticationError(RpcError):
    """The NameNode does not let this client in; asking again will not help."""

    def __init__(self, address: str, message: str, advice: str = "") -> None:
        super().__init__(f"{address} refuses the connection: {message}{f'; {advice}' if advice else ''}")


class CallerRefusedError(RpcError):
    """The NameNode was asked as a caller, and does not let them see the path."""


class TooManyCallersError(RpcError):
    """There is no connection left for asking as a caller; nothing was asked."""


class RemoteCallError(RpcError):
    """The NameNode answered a call with an exception of its own."""

    def __init__(
        self, remote: RemoteException, *, address: str, method: str, user: str, advice: str = ""
    ) -> None:
        super().__init__(f"{method} at {address} as {user}: {remote.exception}: {remote.message}{advice}")
        self.remote = remote
        self.address = address

    @property
    def verdict(self) -> Verdict:
        """What to make of it."""
        return self.remote.verdict


class NoActiveNameNodeError(HadoopError):
    """No configured NameNode is known to be the active one, or several say that they are.

    Its text is fit for clients; `reasons` are for logs and operators: they name users, statuses and settings.
    """

    def __init__(self, message: str, *, reasons: str = "") -> None:
        super().__init__(message)
        self.reasons = reasons

    @property
    def whole(self) -> str:
        """The text with the reasons."""
        return f"{self}: {self.reasons}" if self.reasons else str(self)


class WebHdfsError(HadoopError):
    """A WebHDFS call did not end as the protocol says."""


class RemoteExceptionError(WebHdfsError):
    """The answer to a WebHDFS call is a RemoteException."""

    def __init__(self, status: int, remote: RemoteException, *, call: str) -> None:
        super().__init__(f"{call}: {status} {remote.exception}: {remote.message}")
        self.status = status
        self.remote = remote

    @property
    def verdict(self) -> Verdict:
        """What to make of it."""
        return self.remote.verdict


class DataNodeUnavailableError(WebHdfsError):
    """The second step of a call got no answer from its DataNode; it may have been carried out."""
