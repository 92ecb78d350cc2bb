"""Several namespaces behind one server of clients.

Each has its own front end, table of known heads and quick way to its NameNodes; here is nothing but the choice among
them, which `nncache.proxy.routing` makes from the request's target alone. The mount table stays as it is while the
proxy runs, so a head that a namespace has answered is always that namespace's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nncache.hadoop.mounts import MountTable
from nncache.proxy.clients.connection import KnownHeads
from nncache.proxy.clients.error_replies import error_reply
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import ClientError
from nncache.proxy.messages import Header
from nncache.proxy.plain_calls import PlainPath, QuickCall
from nncache.proxy.plain_fills import PlainClient
from nncache.proxy.routing import namespace_of, namespace_of_head
from nncache.proxy.traffic import Exchange, Traffic, result_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One namespace.

    Attributes:
        handle: answers a request (`nncache.proxy.front_end.FrontEnd.handle`).
        known: answers heads that it has answered before.
        plain: forwards plain calls at once; None: nothing does.
    """

    handle: Handler
    known: KnownHeads
    plain: PlainPath | None


class FederatedFrontEnd:
    """Answers requests, each by the front end of its namespace."""

    def __init__(self, mounts: MountTable, members: Mapping[str, Member], traffic: Traffic) -> None:
        """Begin; `traffic` counts what is about no namespace."""
        self._mounts = mounts
        self._members = members
        self._traffic = traffic

    async def handle(self, request: Request) -> RawResponse | None:
        """Answer one request."""
        try:
            namespace = namespace_of(self._mounts, request.method, request.target)
        except ClientError as error:
            return self._refused(request, error)
        return await self._members[namespace].handle(request)

    def _refused(self, request: Request, error: ClientError) -> RawResponse:
        exchange = Exchange(request.method, request.target, request.peer, self._traffic.clock())
        exchange.request_id = request.first(b"x-request-id")
        reply = error_reply(error)
        exchange.result, exchange.status, exchange.body_bytes = (
            result_of(error),
            error.status,
            reply.known_length,
        )
        self._traffic.ended(exchange)
        return reply


class FederatedHeads:
    """`nncache.proxy.clients.connection.KnownHeads` of all namespaces."""

    def __init__(self, mounts: MountTable, members: Mapping[str, Member]) -> None:
        self._mounts = mounts
        self._known = {name: member.known for name, member in members.items()}
        self._last: KnownHeads = next(iter(self._known.values()))  # was asked last

    @property
    def is_sampled(self) -> bool:
        """Whether an answer is to be observed once it is written; to be asked before the next one is."""
        return self._last.is_sampled

    def answer(self, head: bytes) -> bytes | None:
        """Return the reply to this head, if its namespace knows one that is good."""
        known = self._of(head)
        return None if known is None else known.answer(head)

    def answer_last(self, head: bytes) -> bytes | None:
        """Return the reply to this head with which the connection is to end, if its namespace knows a good one."""
        known = self._of(head)
        return None if known is None else known.answer_last(head)

    def _of(self, head: bytes) -> KnownHeads | None:
        namespace = namespace_of_head(self._mounts, head)
        if namespace is None:
            return None
        known = self._last = self._known[namespace]
        return known

    def observe(self, head: bytes, peer: str) -> None:
        """Show the last answer to the observers, now that it is written."""
        self._last.observe(head, peer)


class FederatedCalls:
    """`nncache.proxy.plain_calls.PlainPath` of all namespaces."""

    def __init__(self, mounts: MountTable, members: Mapping[str, Member]) -> None:
        self._mounts = mounts
        self._plain = {name: member.plain for name, member in members.items() if member.plain is not None}

    @property
    def requests(self) -> int:
        """Those that ended here, one way or the other."""
        return sum(plain.requests for plain in self._plain.values())

    @property
    def under_way(self) -> int:
        """Those under way."""
        return sum(plain.under_way for plain in self._plain.values())

    @property
    def errors(self) -> int:
        """Exceptions of our own, each logged (FailToNameNode)."""
        return sum(plain.errors for plain in self._plain.values())

    def learn(self, head: bytes, fields: Iterable[Header]) -> None:
        """Take note of the fields of a vetted GET without a body, after which its connection goes on."""
        if (plain := self._of(head)) is not None:
            plain.learn(head, fields)

    def concerns(self, head: bytes) -> bool:
        """Whether `begin` would forward it, if nothing stood against that for the moment."""
        plain = self._of(head)
        return plain is not None and plain.concerns(head)

    def begin(self, head: bytes, peer: str, holder: str, client: PlainClient) -> QuickCall | None:
        """Pass a call on, if it is one of these and can be sent at once."""
        plain = self._of(head)
        return None if plain is None else plain.begin(head, peer, holder, client)

    def _of(self, head: bytes) -> PlainPath | None:
        namespace = namespace_of_head(self._mounts, head)
        return None if namespace is None else self._plain.get(namespace)
