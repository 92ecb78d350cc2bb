"""The entrance to several namespaces: the product's federated front end, each of its choices judged.

Requests arrive as on a connection of the product: the door answers known heads immediately, starts some others
without a task, and passes the rest to the front end. The oracle predicts the namespace of each.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from nncache.federation.mounted import MountedCalls, MountedFrontEnd, MountedHeads, MountedNamespace
from nncache.hadoop.mounts import MountTable
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.direct_calls import DirectCall
from nncache.proxy.messages import Headers
from nncache.proxy.traffic import Exchange, Result, Traffic
from tests.invalidation.virtual_time import clock
from tests.model.guarantee import Guarantee
from tests.model.judge import Judge
from tests.model.mount_oracle import MountOracle, Refusal
from tests.model.namespace import NameNodeReply
from tests.model.replies import parts
from tests.model.upstream import ClientRequest, Handles

_PEER: Final = "127.0.0.1"


class _RefusedWronglyError(Exception):
    """A client got no answer although a namespace would have given one."""


class Stack(Protocol):
    """The parts of one namespace that the door uses."""

    judge: Judge
    front_end: Any
    heads: FastPath
    observed: list[Exchange]


@dataclass(slots=True)
class _Direct:
    """`Direct` of one namespace that takes any call: its front end answers."""

    front_end: Handles
    requests: int = 0
    under_way: int = 0
    errors: int = 0

    def begin(self, request: Request) -> "DirectCall":
        """Accept any request; the namespace's front end answers it."""
        self.requests += 1
        return cast("DirectCall", self.front_end)


@dataclass
class _OwnFrontEnd:
    """The front end of one namespace, which must receive only requests for its own paths."""

    name: str
    stack: Stack
    oracle: MountOracle
    arrived: set[ClientRequest]  # requests that have reached some namespace

    async def handle(self, request: Request) -> RawResponse | None:
        """Judge whether the request belongs to this namespace, and answer it."""
        client = cast("ClientRequest", request)
        verdict = self.oracle.verdict(client.method, client.target)
        if verdict != self.name:
            violation = f"{client.method} {client.target} has come to {self.name}: it is for {verdict}"
            self.stack.judge.say(Guarantee.OWN_NAMESPACE, violation)
        self.arrived.add(client)
        return cast("RawResponse | None", await self.stack.front_end.handle(request))


class FederatedDoor:
    """The door to all namespaces.

    Attributes:
        refused: number of requests that no namespace answered.
    """

    def __init__(self, table: Mapping[str, str], oracle: MountOracle, stacks: Mapping[str, Stack]) -> None:
        self._oracle = oracle
        self._stacks = stacks
        self._judge = next(iter(stacks.values())).judge  # for violations of no particular namespace
        self._arrived: set[ClientRequest] = set()
        own = {name: _OwnFrontEnd(name, stack, oracle, self._arrived) for name, stack in stacks.items()}
        members = {
            name: MountedNamespace(handle=each.handle, known=each.stack.heads, direct=_Direct(each))
            for name, each in own.items()
        }
        mounts = MountTable(table)
        self._traffic = Traffic(clock)
        self._front_end = MountedFrontEnd(mounts, members, self._traffic)
        self._heads = MountedHeads(mounts, members)
        self._calls = MountedCalls(mounts, members)
        self._gets = 0
        self.refused = 0

    @property
    def front_end(self) -> "FederatedDoor":
        """The object that handles requests and direct calls."""
        return self

    @property
    def fast_path(self) -> "FederatedDoor":
        """The object that answers known heads."""
        return self

    # -- known heads ---------------------------------------------------------------------------------------------------

    def answer(self, request: ClientRequest) -> tuple[Headers, NameNodeReply] | None:
        """Return the reply to a known head; judge that its own namespace gave it."""
        head, verdict = request.whole, self._oracle.verdict(request.method, request.target)
        own = None if isinstance(verdict, Refusal) else self._stacks[verdict]
        before = 0 if own is None else own.heads.hits
        reply = self._heads.answer(head)
        if own is None:
            if reply is not None:
                self._judge.say(Guarantee.OWN_NAMESPACE, f"{request.target} is answered, of which none is")
            return None
        if reply is None:
            if own.heads.answer(head) is not None:
                own.judge.say(Guarantee.OWN_NAMESPACE, f"{request.target}: {verdict} would have answered it")
            return None
        if own.heads.hits == before:
            own.judge.say(Guarantee.OWN_NAMESPACE, f"{request.target} is answered by another than {verdict}")
        self._observe(own, head)
        return _taken_apart(reply)

    def _observe(self, own: Stack, head: bytes) -> None:
        """Pass a sampled hit to the observers; judge that only those of its own namespace get it."""
        is_sampled, seen = own.heads.is_sampled, len(own.observed)
        if self._heads.is_sampled:
            self._heads.observe(head, _PEER)
        if len(own.observed) != seen + is_sampled:
            own.judge.say(Guarantee.OWN_NAMESPACE, f"{head!r} is not shown to the observers of its namespace")

    # -- all others ----------------------------------------------------------------------------------------------------

    async def handle(self, request: Request) -> RawResponse | None:
        """Answer a request, every second GET by a direct call, and judge the proxy's own replies."""
        client = cast("ClientRequest", request)
        verdict = self._oracle.verdict(client.method, client.target)
        self._gets += client.method == "GET"
        call = None
        if client.method == "GET" and self._gets % 2:
            call = self._calls.begin(request)
        way = self._front_end if call is None else cast("Handles", call)
        try:
            response = await way.handle(request)
            if isinstance(verdict, Refusal):
                assert response is not None, "a refusal is not held"
                self.refused += 1
                self._see_refusal(client, verdict, response)
            elif client not in self._arrived:
                raise _RefusedWronglyError(f"{response}, but it is for {verdict}")
        finally:
            self._arrived.discard(client)
        return response

    def check(self) -> None:
        """Judge that the proxy counts the requests that it refused itself."""
        counted = self._traffic.stats().of(Result.REFUSED)
        if counted != self.refused:
            self._judge.say(
                Guarantee.OWN_NAMESPACE, f"{self.refused} were to be refused, {counted} are counted"
            )

    def _see_refusal(self, client: ClientRequest, verdict: Refusal, response: RawResponse) -> None:
        status, body = response.status, parts(response)[1].body
        java_class = json.loads(body)["RemoteException"]["javaClassName"] if body.startswith(b"{") else ""
        if (status, java_class) != (verdict.status, verdict.java_class) or client.is_sent:
            what = f"{client.method} {client.target}: {status} {java_class} instead of {verdict}"
            self._judge.say(Guarantee.OWN_NAMESPACE, what)


def _taken_apart(reply: bytes) -> tuple[Headers, NameNodeReply]:
    """Return the fields and the answer of a serialized reply, without its framing."""
    head, _, body = reply.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    pairs = (each.partition(b": ") for each in lines)
    fields = tuple((name, value) for name, _, value in pairs if name != b"Content-Length")
    return fields, NameNodeReply(int(line.split(b" ")[1]), body)
