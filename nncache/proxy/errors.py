"""The errors of this room, by whose fault they are.

Each error defines the reply that it becomes; only `proxy/clients/response.py` writes that reply.
A RemoteException of the NameNode is not an error here: it is a reply, passed on byte for byte.
The Java class names are those that Hadoop's own WebHDFS client unwraps. That client retries after a
RetriableException, so it is used only where a retry is safe (RetryPolicies, Hadoop 3.5.0).
"""

from typing import ClassVar, Final


class ProxyError(Exception):
    """Root of this room's errors. Caught only where replies are written and where loops are supervised.

    Attributes:
        status: the HTTP status of the reply.
        reason: the reason phrase of that status.
        java_class: the class that the reply's `RemoteException` names.
        closes: whether the connection closes after the reply.
        retry_after_s: value of `Retry-After` in seconds (RFC 9110, section 10.2.3); None: no such field.
    """

    status: ClassVar[int] = 500
    reason: ClassVar[str] = "Internal Server Error"
    java_class: ClassVar[str] = "java.lang.RuntimeException"
    closes: ClassVar[bool] = False
    retry_after_s: int | None = None


# ---- the client's -----------------------------------------------------------------------------------


class ClientError(ProxyError):
    """The request is at fault; a retry will not help."""

    status = 400
    reason = "Bad Request"
    java_class = "java.lang.IllegalArgumentException"


class MalformedRequestError(ClientError):
    """Not HTTP, or HTTP that two parsers could read differently (RFC 9112, section 11)."""

    closes = True


class UnknownAddressError(ClientError):
    """This proxy does not serve the target."""

    status = 404
    reason = "Not Found"
    java_class = "java.io.FileNotFoundException"


class NotMountedError(UnknownAddressError):
    """No namespace is mounted at or above the path (`InodeTree.resolve`)."""


class MountPointError(ClientError):
    """The call is for a mount point, or above one, where the mount table allows no call (`readOnlyMountTable`)."""

    status = 403
    reason = "Forbidden"
    java_class = "org.apache.hadoop.security.AccessControlException"


class AcrossNamespacesError(ClientError):
    """The call names paths of several namespaces (`ViewFileSystem.verifyRenameStrategy`)."""

    status = 403
    reason = "Forbidden"
    java_class = "java.io.IOException"


class MethodNotAllowedError(ClientError):
    """The target does not support the method.

    Attributes:
        allow: the supported methods, as the value of `Allow` (RFC 9110, section 15.5.6).
    """

    status = 405
    reason = "Method Not Allowed"
    java_class = "java.lang.UnsupportedOperationException"
    closes = True

    def __init__(self, message: str, allow: bytes = b"GET, HEAD, PUT, POST, DELETE, OPTIONS") -> None:
        super().__init__(message)
        self.allow = allow


class SlowRequestError(ClientError):
    """The head or the body did not arrive in time (RFC 9110, section 15.5.9)."""

    status = 408
    reason = "Request Timeout"
    java_class = "java.io.InterruptedIOException"
    closes = True


class TargetTooLongError(ClientError):
    """The request line alone exceeds the limit of a head (RFC 9110, section 15.5.15)."""

    status = 414
    reason = "URI Too Long"
    closes = True


class HeadTooLargeError(ClientError):
    """There are too many header fields, or they are too long (RFC 6585, section 5)."""

    status = 431
    reason = "Request Header Fields Too Large"
    closes = True


class VersionNotSupportedError(ClientError):
    """The HTTP version is neither 1.0 nor 1.1 (RFC 9110, section 15.6.6)."""

    status = 505
    reason = "HTTP Version Not Supported"
    java_class = "java.lang.UnsupportedOperationException"
    closes = True


class ClientGoneError(ClientError):
    """The client closed the connection, or cut its body short, before the call ended; no client reads the reply."""

    closes = True


_AUTHENTICATION: Final = "org.apache.hadoop.security.authentication.client.AuthenticationException"


class UnauthenticatedError(ClientError):
    """The request carries no credential, and the proxy itself authenticates."""

    status = 401
    reason = "Authentication required"
    java_class = _AUTHENTICATION


class BadTicketError(ClientError):
    """The ticket identifies no user. Like a NameNode's, the reply carries no challenge."""

    status = 403
    reason = "Forbidden"
    java_class = _AUTHENTICATION


class NotServedError(ClientError):
    """This proxy is not configured for the request (RFC 9110, section 15.6.2); the message names the setting."""

    status = 501
    reason = "Not Implemented"
    java_class = "java.lang.UnsupportedOperationException"


class NotASubscriberError(ClientError):
    """The caller may not read the filter's events, or there is no such filter: the reply does not tell which."""

    status = 403
    reason = "Forbidden"
    java_class = "org.apache.hadoop.security.AccessControlException"


class EntryNotFoundError(ClientError):
    """The service registry has no such entry, or no record there."""

    status = 404
    reason = "Not Found"
    java_class = "org.apache.hadoop.fs.PathNotFoundException"


class CallerNotVerifiedError(ClientError):
    """This proxy has not verified who the caller is."""

    status = 403
    reason = "Forbidden"
    java_class = _AUTHENTICATION


# ---- the proxy's ------------------------------------------------------------------------------------


class OverloadedError(ProxyError):
    """A limit of the proxy itself is reached; nothing was sent to the NameNode."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 1


class TooManyHandshakesError(OverloadedError):
    """The queue of unverified tickets, or this address's share of it, is full; or a ticket waited there too long."""


class NotJudgedError(OverloadedError):
    """A ticket could not be verified; that does not mean that it is invalid."""


class TooManyStreamsError(OverloadedError):
    """The maximum number of event streams, or this address's share of it, is open."""


class EventsUnavailableError(OverloadedError):
    """ZooKeeper cannot be asked at present who may read a filter's events."""


class RegistryUnavailableError(OverloadedError):
    """The service registry cannot be read at present."""


class TooManyConnectionsError(OverloadedError):
    """More clients are connected than `max_connections`."""

    closes = True


class TooManyCallsError(OverloadedError):
    """The client's address, or the caller, has used up its share of `max_calls`."""


class TooManyRequestsError(OverloadedError):
    """The client's address, or the caller, sends more calls a second than allowed (RFC 6585, section 4)."""

    status = 429
    reason = "Too Many Requests"

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


# ---- the NameNode's, or the network's on the way to it ------------------------------------------------


class UpstreamError(ProxyError):
    """No NameNode gave a reply.

    Attributes:
        outcome_unknown: whether the call may have taken effect: it was sent, and no reply came. The proxy
            never retries a write with an unknown outcome, and the exception's class does not make the
            client retry it.
    """

    status = 502
    reason = "Bad Gateway"
    java_class = "java.io.IOException"
    outcome_unknown: ClassVar[bool] = False


class UpstreamUnavailableError(UpstreamError):
    """Every NameNode of the pool is standby, in backoff or silent; the call has had no effect."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 1


class NotSentError(UpstreamError):
    """No connection to the NameNode could be opened; nothing was sent."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 1


class ServiceLoginError(UpstreamError):
    """The service has no credential, or the NameNode rejects it; the call has had no effect."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 5


class UpstreamCutError(UpstreamError):
    """After the call was sent, the connection closed before the reply was complete, or the reply was not HTTP."""

    outcome_unknown = True


class UpstreamTimeoutError(UpstreamError):
    """The call was sent, and no reply came within its deadline."""

    status = 504
    reason = "Gateway Timeout"
    retry_after_s = 5
    outcome_unknown = True


class ReplyTooLargeError(UpstreamError):
    """A reply that is kept in memory whole exceeds its size limit."""
