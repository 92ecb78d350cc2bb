"""The connection to the model NameNodes, over HTTP and RPC: a call takes time, and is answered halfway."""

import asyncio
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import quote, unquote

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import CallerRefusedError
from nncache.hadoop.paths import canonical
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import UpstreamCutError, UpstreamError, UpstreamUnavailableError
from nncache.proxy.messages import (
    NO_TERM,
    Decorate,
    Headers,
    RequestHead,
    Settle,
    SettledReply,
    UpstreamReply,
    WriteRight,
)
from nncache.proxy.upstream.direct_exchange import StartedCall
from nncache.proxy.upstream.service_login import without_service_fields
from tests.invalidation.fakes import STANDBY, FakePool, remote_error
from tests.model import operations
from tests.model.cluster import Cluster, ModelNameNode, Writing
from tests.model.keeping import ModelConnection
from tests.model.known_credentials import Asker, KnownCredentials
from tests.model.namespace import SUPERUSER, NameNodeReply, RefusedError, allows, missing, remote_exception
from tests.model.operations import Operation

FAILOVER_WAIT_S: Final = 15.0
_PAUSE_S: Final = 0.1
HEADERS: Final[Headers] = (
    (b"Date", b"Sun, 22 Nov 2026 00:00:00 GMT"),
    (b"Cache-Control", b"no-cache"),
    (b"Expires", b"Sun, 22 Nov 2026 00:00:00 GMT"),
    (b"Pragma", b"no-cache"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Set-Cookie", b'hadoop.auth="u=alice&p=alice&t=simple&e=1795300000000&s=c2ln"'),
    (b"Content-Type", b"application/json"),
)
"""The fields of a NameNode's reply, without those that frame the message."""

ODD_ANSWERS: Final = (
    remote_exception("org.apache.hadoop.ipc.RetriableException", "still starting"),
    remote_exception("java.io.FileNotFoundException", "Path is not a file: /a", 404),
    remote_exception("java.lang.RuntimeException", "out of memory", 500),
)
"""Replies that a NameNode gives occasionally and that say nothing about the path."""

REDIRECT: Final = NameNodeReply(307, b"")
"""Stands for the reply to the first step of a write; see `redirect`."""

_ASCII: Final = "".join(map(chr, range(0x21, 0x7F)))
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9_.!~'()*,;:$&+=@/\u0080-\U0010ffff-]|[\u0080-\u009f\s]")
"""The characters of a path that Java's URI escapes."""


def redirect(target: str) -> tuple[NameNodeReply, Headers]:
    """Return a NameNode's reply to the first step of a write, and its Location field.

    `NamenodeWebHdfsMethods`: the field is `URI.toASCIIString`, in form C; the JSON of `noredirect=true` is
    `URI.toString`, unchanged. `tests/contracts/test_model_namespace.py` compares it with a real NameNode.
    """
    spelled, _, query = target.partition("?")
    path = _ESCAPED.sub(lambda found: quote(found[0]), unquote(spelled))
    uri = f"http://datanode:9864{path}?{query}"
    if "noredirect=true" in query:
        return NameNodeReply(200, json.dumps({"Location": uri}, ensure_ascii=False).encode()), ()
    location = quote(unicodedata.normalize("NFC", uri), safe=_ASCII)
    return REDIRECT, ((b"Location", location.encode()),)


class Handles(Protocol):
    """The front end, or that of several namespaces (`nncache.federation.mounted`)."""

    async def handle(self, request: Request) -> RawResponse | None:
        """Answer one request."""


class AtOnce(Protocol):
    """A table of known requests with their replies."""

    def answer(self, request: "ClientRequest") -> tuple[Headers, NameNodeReply] | None:
        """Return the reply to a known request; None if the front end must answer."""


class Door(Protocol):
    """An entrance to a proxy: of `system.py`, of `terminated.py`, or of `federated_door.py`."""

    @property
    def front_end(self) -> Handles:
        """The handler of all requests."""

    @property
    def fast_path(self) -> AtOnce:
        """The table of known requests."""


@dataclass(eq=False)
class ClientRequest:
    """A client request, with the parts of `Request` that the front end uses.

    Attributes:
        operation: the change that a write makes on arrival; None for a redirect, whose second step is later.
        writing: the outcome of that change.
        answer: the reply to a call without a change; by default a redirect.
        door: the entrance; None: the ordinary one.
        connection: its own.
    """

    method: str
    target: str
    fields: Headers = ()
    peer: str = "127.0.0.1"
    operation: Operation | None = None
    writing: Writing | None = None
    answer: NameNodeReply = REDIRECT
    is_sent: bool = False
    door: Door | None = None
    connection: ModelConnection = field(default_factory=ModelConnection)
    begun: object = None
    reading: object = None
    decision: object = None
    record: object = None
    transport: object = None

    def __post_init__(self) -> None:
        """Percent-encode all characters that are not ASCII, as every client does."""
        if not self.target.isascii():
            self.target = quote(self.target, safe=_ASCII)
        self.transport = self.connection.transport

    @property
    def names(self) -> frozenset[bytes]:
        """The names of its fields, in lower case."""
        return frozenset(name.lower() for name, _ in self.fields)

    @property
    def whole(self) -> bytes:
        """The bytes that the client sends."""
        fields = b"".join(b"%b: %b\r\n" % each for each in self.fields)
        line = f"{self.method} {self.target} HTTP/1.1\r\n".encode()
        return b"".join((line, b"Host: nn\r\n", fields, b"\r\n"))

    @property
    def repeatable(self) -> bytes:
        """The whole head: it is HTTP/1.1, and the connection is persistent."""
        return self.whole

    def first(self, _: bytes) -> str:
        """Return "": the model sends none of these fields."""
        return ""


class ModelUpstream:
    """Fetches and streams from the model's cluster, like `nncache.proxy.upstream.client.Upstream`."""

    def __init__(
        self,
        cluster: Cluster,
        pool: FakePool,
        clock: Callable[[], float],
        takes_s: Callable[[], float],
        tasks: asyncio.TaskGroup,
    ) -> None:
        """Connect to the cluster.

        Args:
            cluster: the NameNodes.
            pool: the active NameNode as the proxy knows it.
            clock: returns seconds.
            takes_s: duration of each half of a call.
            tasks: for outcomes that outlive their request.
        """
        self._cluster = cluster
        self._pool = pool
        self._clock = clock
        self._takes_s = takes_s
        self._tasks = tasks
        self.fetches = 0
        self.failures = 0  # calls without a reply of a NameNode
        self.known_credentials = KnownCredentials(clock)
        self.bad_znodes: list[NameNodeReply] = []  # replies to the next reads, whatever their path

    def prepare(self, *_: object) -> None:
        """Do nothing: the model has no direct exchanges."""

    async def fetch(self, head: RequestHead, begun: StartedCall | None = None, /) -> UpstreamReply:
        """Ask the NameNode that claims to be active; try each in turn until a deadline (`failover.py`)."""
        self.fetches += 1
        as_requested = unquote(head.target.partition("?")[0].removeprefix(PREFIX))
        deadline = self._clock() + FAILOVER_WAIT_S
        while True:
            for namenode in self._order():
                term, wire = self._term_of(namenode), namenode.wire
                await asyncio.sleep(self._takes_s())
                if not namenode.is_serving:
                    continue
                asker = self.known_credentials.asker(head.target, head.headers, acts_for=head.acts_for)
                answer, fields = self._answer(namenode, asker, as_requested), self._fields(asker, head)
                await asyncio.sleep(self._takes_s())
                if namenode.wire != wire:
                    continue  # the connection was cut
                return UpstreamReply(
                    status=answer.status,
                    reason="OK" if answer.status == 200 else "Not Found",
                    headers=fields,
                    body=answer.body,
                    namenode=namenode.address,
                    term=term if term == self._term_of(namenode) else NO_TERM,
                    replied_at=self._clock(),
                )
            if self._clock() >= deadline:
                self.failures += 1
                raise UpstreamUnavailableError("nobody answers")
            await asyncio.sleep(_PAUSE_S)

    async def stream(
        self, request: Request, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> RawResponse:
        """Carry out a call that is not a plain read, or one that leaves no trace."""
        client: Any = request
        assert isinstance(client, ClientRequest)
        try:
            if client.method == "GET" and client.answer is REDIRECT:
                settled = _settled(await self.fetch(head))
            else:
                settled = await self._written(client)
        except UpstreamError as error:
            if client.method != "GET" or client.answer is not REDIRECT:
                self.failures += 1
            if error.outcome_unknown:
                await self._shielded(settle, None)
            raise
        except asyncio.CancelledError:
            if client.is_sent:
                await self._shielded(settle, None)
            raise
        if head.acts_for:
            settled = replace(settled, headers=without_service_fields(settled.headers))
        await self._shielded(settle, settled)
        return RawResponse(settled.status, "", (*settled.headers, *decorate(settled)), body=settled.body)

    async def _written(self, client: ClientRequest) -> SettledReply:
        """Send a write, apply it, and wait until it is durable. A write is never retried."""
        namenode = self._order()[0]
        term, wire = self._term_of(namenode), namenode.wire
        client.is_sent = True
        await asyncio.sleep(self._takes_s())
        if not namenode.is_serving:
            raise UpstreamCutError("not active")
        answer = client.answer
        location: Headers = ()
        if client.operation is None and answer is REDIRECT:
            answer, location = redirect(client.target)
        if client.operation is not None:
            try:
                client.writing = self._cluster.write(client.operation)
            except RefusedError as refusal:
                answer = refusal.answer
            else:
                await ended(client.writing)
                op = client.target.partition("op=")[2].partition("&")[0]
                answer = operations.reply(op, client.writing.made)
        self.failures += answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        await asyncio.sleep(self._takes_s())
        if namenode.wire != wire:
            raise UpstreamCutError("cut off")
        return SettledReply(
            status=answer.status,
            reason="",
            headers=(*HEADERS, *location),
            body=answer.body,
            namenode=namenode.address,
            term=term,
            replied_at=self._clock(),
        )

    def _fields(self, asker: Asker, head: RequestHead) -> Headers:
        """Return the header fields of a reply; for a credential they carry its date and cookie."""
        if head.acts_for:
            return without_service_fields((*HEADERS, (b"Set-Cookie", self.known_credentials.of_the_service)))
        if not asker.is_by_credential:
            return HEADERS
        own = {b"Date": self.known_credentials.date(), b"Set-Cookie": asker.sets}
        changed = ((name, own.get(name, value)) for name, value in HEADERS)
        return tuple((name, value) for name, value in changed if value is not None)

    def _answer(self, namenode: ModelNameNode, asker: Asker, as_requested: str) -> NameNodeReply:
        assert namenode is self._cluster.active, "there is one active NameNode"
        if self.bad_znodes:
            answer = self.bad_znodes.pop()
            self.failures += answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            return answer
        if asker.refusal is not None:
            return asker.refusal
        path = canonical(as_requested)
        answer = self._cluster.present.answer(asker.user, path)
        if answer.status != 403:
            self._cluster.proven.add((asker.user, path.rpartition("/")[0] or "/"))
        return missing(as_requested) if answer.status == HTTPStatus.NOT_FOUND else answer

    def _order(self) -> tuple[ModelNameNode, ...]:
        active = self._pool.active
        return tuple(
            sorted(
                self._cluster.namenodes, key=lambda each: active is None or each.address != active.namenode
            )
        )

    def _term_of(self, namenode: ModelNameNode) -> int:
        active = self._pool.active
        return active.term if active is not None and active.namenode == namenode.address else NO_TERM

    async def _shielded(self, settle: Settle, reply: SettledReply | None) -> None:
        async def captured() -> Exception | None:
            try:
                await settle(reply)
            except Exception as exc:  # noqa: BLE001 - raised again in the awaiting task
                return exc
            return None

        fault = await asyncio.shield(self._tasks.create_task(captured()))
        if fault is not None:
            raise fault


class ModelQueries:
    """The proxy's own queries to the NameNodes."""

    def __init__(self, cluster: Cluster, takes_s: Callable[[], float]) -> None:
        self._cluster = cluster
        self._takes_s = takes_s
        self.is_silent = False  # no answer arrives
        self.is_refused = False  # every answer is an error
        self.given_up = 0  # queries that were cancelled
        self.under_way = 0

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Return whether the NameNode reports the file as closed."""
        asked = await self._reach(namenode)
        inode = self._cluster.present.namespace.get(path)
        await self._take(self._takes_s())
        if inode is None or asked is not self._cluster.active:
            raise remote_error("java.io.FileNotFoundException")
        return not inode.is_open

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path exists."""
        await self._reach(self._cluster.active.address)
        exists = self._see(path, caller).status == 200
        await self._take(self._takes_s())
        return exists

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Return the result of `checkAccess`."""
        await self._reach(self._cluster.active.address)
        right = WriteRight.UNKNOWN if caller is None else self._right(path, caller.name)
        await self._take(self._takes_s())
        return right

    def _right(self, path: str, user: str) -> WriteRight:
        namespace = self._cluster.present.namespace
        if self._cluster.present.answer(user, path).status == HTTPStatus.FORBIDDEN:
            return WriteRight.DENIED
        inode = namespace.get(path)
        if inode is None:
            return WriteRight.MISSING
        return WriteRight.GRANTED if allows(inode, user, 0o2) else WriteRight.DENIED

    def _see(self, path: str, caller: RpcUser | None) -> NameNodeReply:
        answer = self._cluster.present.answer(SUPERUSER if caller is None else caller.name, path)
        if answer.status == HTTPStatus.FORBIDDEN:
            raise CallerRefusedError(path)
        return answer

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path is a directory."""
        await self._reach(self._cluster.active.address)
        is_directory = b'"DIRECTORY"' in self._see(path, caller).body
        await self._take(self._takes_s())
        return is_directory

    async def last_txid(self, namenode: NameNode) -> int:
        """Return the last transaction in the NameNode's log."""
        asked = await self._reach(namenode)
        txid = asked.log.end
        await self._take(self._takes_s())
        return txid

    async def _reach(self, namenode: NameNode) -> ModelNameNode:
        await self._take(self._takes_s())
        if self.is_silent:
            await self._take(60)
        (asked,) = (each for each in self._cluster.namenodes if each.address == namenode)
        if self.is_refused or not asked.is_serving:
            raise remote_error(STANDBY)
        return asked

    async def _take(self, seconds: float) -> None:
        self.under_way += 1
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        finally:
            self.under_way -= 1


async def ended(writing: Writing) -> None:
    """Wait until the changes are durable or lost."""
    if not (writing.is_done or writing.is_lost):
        end = asyncio.Event()
        writing.on_end.append(end.set)
        await end.wait()


def _settled(reply: UpstreamReply) -> SettledReply:
    return SettledReply(
        status=reply.status,
        reason=reply.reason,
        headers=reply.headers,
        body=reply.body,
        namenode=reply.namenode,
        term=reply.term,
        replied_at=reply.replied_at,
    )
