"""What can go wrong in this room, by whose fault it is.

Each error knows the reply that it becomes; only `proxy/clients/response.py` writes that reply.
A RemoteException of the NameNode is not an error here: it is a reply, passed on byte for byte.
The Java class names are those that Hadoop's own WebHDFS client unwraps: a RetriableException makes it
ask again by itself, hence it is used only where asking again is safe (RetryPolicies, Hadoop 3.5.0).
"""

from typing import ClassVar, Final


class ProxyError(Exception):
    """Root of this room's errors. Caught only where replies are written and where loops are supervised.

    Attributes:
        status: the HTTP status of the reply.
        reason: the reason phrase that goes with it.
        java_class: what the `RemoteException` of the reply calls itself.
        closes: whether the connection can't be used any further.
        retry_after_s: after how many seconds the client may ask again (RFC 9110, section 10.2.3), if that is known.
    """

    status: ClassVar[int] = 500
    reason: ClassVar[str] = "Internal Server Error"
    java_class: ClassVar[str] = "java.lang.RuntimeException"
    closes: ClassVar[bool] = False
    retry_after_s: int | None = None


# ---- the client's -----------------------------------------------------------------------------------


class ClientError(ProxyError):
    """The request is at fault; asking again will not help."""

    status = 400
    reason = "Bad Request"
    java_class = "java.lang.IllegalArgumentException"


class MalformedRequestError(ClientError):
    """Not HTTP, or HTTP of which two readers could make two things (RFC 9112, section 11)."""

    closes = True


class UnknownAddressError(ClientError):
    """This proxy does not serve the target."""

    status = 404
    reason = "Not Found"
    java_class = "java.io.FileNotFoundException"


class NotMountedError(UnknownAddressError):
    """No namespace is mounted where the path lies (`InodeTree.resolve`)."""


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
    """The target knows other methods only.

    Attributes:
        allow: these, as the field `Allow` lists them (RFC 9110, section 15.5.6).
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
    """The request line alone is longer than a head may be (RFC 9110, section 15.5.15)."""

    status = 414
    reason = "URI Too Long"
    closes = True


class HeadTooLargeError(ClientError):
    """The header fields are more, or longer, than allowed (RFC 6585, section 5)."""

    status = 431
    reason = "Request Header Fields Too Large"
    closes = True


class VersionNotSupportedError(ClientError):
    """Another HTTP version than 1.0 and 1.1 (RFC 9110, section 15.6.6)."""

    status = 505
    reason = "HTTP Version Not Supported"
    java_class = "java.lang.UnsupportedOperationException"
    closes = True


class ClientGoneError(ClientError):
    """The client left, or broke its body off, before the call was over; no one reads the reply."""

    closes = True


_AUTHENTICATION: Final = "org.apache.hadoop.security.authentication.client.AuthenticationException"


class UnauthenticatedError(ClientError):
    """Nothing in the request says who asks, where the proxy itself authenticates."""

    status = 401
    reason = "Authentication required"
    java_class = _AUTHENTICATION


class BadTicketError(ClientError):
    """The ticket identifies no user. The reply is a NameNode's: without a challenge."""

    status = 403
    reason = "Forbidden"
    java_class = _AUTHENTICATION


class NotServedError(ClientError):
    """This proxy is not set up for it (RFC 9110, section 15.6.2); the text says what to set."""

    status = 501
    reason = "Not Implemented"
    java_class = "java.lang.UnsupportedOperationException"


class NotASubscriberError(ClientError):
    """The caller may not read the filter's events, or there is no such filter: a stranger cannot tell which."""

    status = 403
    reason = "Forbidden"
    java_class = "org.apache.hadoop.security.AccessControlException"


class EntryNotFoundError(ClientError):
    """The service registry has no such entry, or no record there."""

    status = 404
    reason = "Not Found"
    java_class = "org.apache.hadoop.fs.PathNotFoundException"


class CallerNotVerifiedError(ClientError):
    """Nothing that this proxy has verified says who asks."""

    status = 403
    reason = "Forbidden"
    java_class = _AUTHENTICATION


# ---- ours -------------------------------------------------------------------------------------------


class OverloadedError(ProxyError):
    """A bound of the proxy itself is reached; nothing was sent to the NameNode."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 1


class TooManyHandshakesError(OverloadedError):
    """As many tickets wait to be judged as may, or as this address may have; or this one has waited for too long."""


class NotJudgedError(OverloadedError):
    """A ticket could not be judged: nothing is wrong with it, as far as is known."""


class TooManyStreamsError(OverloadedError):
    """As many streams of events are open as may, or as this address may have."""


class EventsUnavailableError(OverloadedError):
    """ZooKeeper does not say now who may read a filter's events."""


class RegistryUnavailableError(OverloadedError):
    """The service registry cannot be read now."""


class TooManyConnectionsError(OverloadedError):
    """More clients are connected than `max_connections`."""

    closes = True


class TooManyCallsError(OverloadedError):
    """The client's address, or the caller, has its share of `max_calls`."""


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
        outcome_unknown: whether the call may have had its effect all the same: it was sent, and no
            reply came. Such a write is never repeated, neither here nor, as far as the name of the
            exception goes, by the client.
    """

    status = 502
    reason = "Bad Gateway"
    java_class = "java.io.IOException"
    outcome_unknown: ClassVar[bool] = False


class NoActiveNameNodeError(UpstreamError):
    """Every NameNode of the pool is standby, in backoff or silent; nothing has had an effect."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 1


class NotSentError(UpstreamError):
    """No connection to the NameNode could be made; nothing was sent."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 1


class ServiceLoginError(UpstreamError):
    """The service's own credential is not accepted by the NameNode, or there is none; nothing has had an effect."""

    status = 503
    reason = "Service Unavailable"
    java_class = "org.apache.hadoop.ipc.RetriableException"
    retry_after_s = 5


class UpstreamCutError(UpstreamError):
    """The connection ended, or brought no HTTP, after the call was sent and before its reply was complete."""

    outcome_unknown = True


class UpstreamTimeoutError(UpstreamError):
    """The call was sent, and no reply came within its deadline."""

    status = 504
    reason = "Gateway Timeout"
    retry_after_s = 5
    outcome_unknown = True


class ReplyTooLargeError(UpstreamError):
    """A reply that should have been small enough to hold in memory was not."""
