"""Several namespaces behind one server.

Each namespace has its own front end, table of known heads and direct calls. This module only dispatches to them, by the
request's target alone (`nncache.federation.routing`). The mount table is constant while the proxy runs, so a head that
a namespace has answered always belongs to that namespace.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nncache.federation.routing import namespace_of, namespace_of_head
from nncache.hadoop.mounts import MountTable
from nncache.proxy.clients.connection import KnownHeads
from nncache.proxy.clients.request import CallInFlight, Handler, Request
from nncache.proxy.clients.response import RawResponse, error_reply
from nncache.proxy.clients.server import Direct
from nncache.proxy.errors import ClientError
from nncache.proxy.traffic import Exchange, Traffic, result_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedNamespace:
    """One namespace.

    Attributes:
        handle: answers a request (`nncache.proxy.decide.front_end.FrontEnd.handle`).
        known: answers heads that it has answered before.
        direct: starts requests that need no task; None: every request gets a task.
    """

    handle: Handler
    known: KnownHeads
    direct: Direct | None


class MountedFrontEnd:
    """Dispatches each request to the front end of its namespace."""

    def __init__(self, mounts: MountTable, members: Mapping[str, MountedNamespace], traffic: Traffic) -> None:
        """Begin; `traffic` counts the requests that belong to no namespace."""
        self._mounts = mounts
        self._members = members
        self._traffic = traffic

    async def handle(self, request: Request) -> RawResponse | None:
        """Answer a request."""
        try:
            namespace = namespace_of(self._mounts, request.method, request.target)
        except ClientError as error:
            return self._refused(request, error)
        return await self._members[namespace].handle(request)

    def _refused(self, request: Request, error: ClientError) -> RawResponse:
        exchange = Exchange(request.method, request.target, request.peer, self._traffic.clock())
        exchange.take_ids(request.first)
        reply = error_reply(error)
        exchange.result, exchange.status, exchange.body_bytes = (
            result_of(error),
            error.status,
            reply.known_length,
        )
        self._traffic.ended(exchange)
        return reply


class MountedHeads:
    """`nncache.proxy.clients.connection.KnownHeads` of all namespaces."""

    def __init__(self, mounts: MountTable, members: Mapping[str, MountedNamespace]) -> None:
        self._mounts = mounts
        self._known = {name: member.known for name, member in members.items()}
        self._last: KnownHeads = next(iter(self._known.values()))  # was asked last

    @property
    def is_sampled(self) -> bool:
        """Whether the last answer must be shown to observers once it is written, before the next one."""
        return self._last.is_sampled

    @property
    def ends_connection(self) -> bool:
        """Whether the connection closes after the last answer."""
        return self._last.ends_connection

    def answer(self, head: bytes) -> bytes | None:
        """Return the reply to this head if its namespace has a valid one; else None."""
        namespace = namespace_of_head(self._mounts, head)
        if namespace is None:
            return None
        known = self._last = self._known[namespace]
        return known.answer(head)

    def observe(self, head: bytes, peer: str) -> None:
        """Show the last answer, which is written now, to the observers."""
        self._last.observe(head, peer)


class MountedCalls:
    """`nncache.proxy.clients.server.Direct` of all namespaces."""

    def __init__(self, mounts: MountTable, members: Mapping[str, MountedNamespace]) -> None:
        self._mounts = mounts
        self._direct = {name: each.direct for name, each in members.items() if each.direct is not None}

    @property
    def requests(self) -> int:
        """Number of requests that ended here, since start."""
        return sum(each.requests for each in self._direct.values())

    @property
    def under_way(self) -> int:
        """Number of calls in flight."""
        return sum(each.under_way for each in self._direct.values())

    @property
    def errors(self) -> int:
        """Number of internal errors since start, each logged (FailToNameNode)."""
        return sum(each.errors for each in self._direct.values())

    def begin(self, request: Request) -> CallInFlight | RawResponse | None:
        """Answer a request of a namespace, or send its call; None: the handler answers it."""
        try:
            namespace = namespace_of(self._mounts, request.method, request.target)
        except ClientError:
            return None
        direct = self._direct.get(namespace)
        return None if direct is None else direct.begin(request)
