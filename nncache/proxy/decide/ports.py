"""Interfaces of reads and writes to the rest of the system.

Types only: the wiring supplies the real components, tests supply fakes. Every method that waits has a
deadline, its own or its caller's.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.admission import AdmittedRequest, ByToken
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.messages import Decorate, RequestHead, Settle, UpstreamReply, WriteRight
from nncache.proxy.upstream.direct_exchange import StartedCall

Clock: TypeAlias = Callable[[], float]
"""Seconds of CLOCK_BOOTTIME."""


FetchCall: TypeAlias = Callable[[RequestHead, StartedCall | None], Awaitable[UpstreamReply]]
"""Sends a call to the active NameNode, or continues one that was sent, and returns its whole small reply.

Raises UpstreamError: no NameNode replied.
"""

StreamCall: TypeAlias = Callable[[Request, RequestHead, Settle, Decorate], Awaitable[RawResponse]]
"""Forwards a call and its reply, and streams both bodies.

The `Settle` completes before the first byte is sent to the client; it is not called if the call was not sent. Raises
ProxyError: there is no reply to forward.
"""


class NameNodeQueries(Protocol):
    """The proxy's own calls to a NameNode, as the service's user or on behalf of a caller.

    On behalf of a caller they raise `CallerRefusedError` if the NameNode does not let the caller see the path.
    """

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Return whether this NameNode considers the file closed.

        If the service may not see the file, the call is made as the caller; None: the proxy cannot ask as the caller.
        """
        ...

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path exists at the active NameNode; a caller of None asks as the service."""
        ...

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path is a directory at the active NameNode; a caller of None asks as the service."""
        ...

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Return whether the caller may write the path."""
        ...

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a transaction id >= all that the active NameNode `namenode` wrote before this call."""
        ...


@dataclass(frozen=True, slots=True)
class RejectedRequest:
    """The request was not authenticated; `response` is the reply to it."""

    response: RawResponse


Admission: TypeAlias = AdmittedRequest | ByToken | RejectedRequest

Admit: TypeAlias = Callable[[Request, str], Awaitable[Admission]]
"""Authenticates a request whose path begins with the prefix (second argument)."""


class CoverageSignal(Protocol):
    """Signals that all changes are known to have been applied."""

    def request_probe(self) -> None:
        """Request a proof soon, since a caller waits for it."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait for the next proof; False: none arrived within `timeout_s`."""
        ...
