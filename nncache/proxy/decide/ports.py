"""What reads and writes need of the rest of the system.

Shapes only: the wiring fits the real parts in, tests fit fakes in. Every method that waits has a
deadline of its own or is given one by its caller.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.admission import Admitted, ByToken
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.messages import Decorate, RequestHead, Settle, UpstreamReply, WriteRight
from nncache.proxy.upstream.direct_exchange import Begun

Clock: TypeAlias = Callable[[], float]
"""Seconds of CLOCK_BOOTTIME."""


Fetch: TypeAlias = Callable[[RequestHead, Begun | None], Awaitable[UpstreamReply]]
"""Sends a call to the active NameNode, or goes on with one that was sent, and holds its small reply.

Raises UpstreamError: no NameNode gave a reply.
"""

Stream: TypeAlias = Callable[[Request, RequestHead, Settle, Decorate], Awaitable[RawResponse]]
"""Passes a call and its reply through, both bodies as they come.

The `Settle` runs to its end before the first byte goes to the client; it is not called when nothing was sent. Raises
ProxyError: there is no reply to pass on.
"""


class NameNodeQueries(Protocol):
    """Questions that the proxy asks a NameNode on its own account, as the user of the service or as a caller.

    As a caller they raise `CallerRefusedError` where the NameNode does not let the caller see the path.
    """

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Say whether the file is closed, as that very NameNode sees it.

        What the service may not know is asked as the caller; None if one cannot ask as them.
        """
        ...

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Say whether the active NameNode knows the path; None asks as the service."""
        ...

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Say whether the active NameNode knows the path as a directory; None asks as the service."""
        ...

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Say whether the caller may write the path."""
        ...

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a transaction id >= all that were written before this was called; this NameNode is active."""
        ...


@dataclass(frozen=True, slots=True)
class Rejected:
    """The request goes no further."""

    response: RawResponse


Admission: TypeAlias = Admitted | ByToken | Rejected

Admit: TypeAlias = Callable[[Request, str], Awaitable[Admission]]
"""Authenticates a request whose path begins with the prefix."""


class CoverageSignal(Protocol):
    """Tells when all changes are known to have been applied."""

    def request_probe(self) -> None:
        """Ask for proof soon, since it is waited for."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait for the next proof; false if none came in time."""
        ...
