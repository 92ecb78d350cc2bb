"""The model NameNode's replies to the attacker."""

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus

from nncache.hadoop.filestatus import FileType
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.messages import Decorate, RequestHead, Settle, SettledReply
from tests.hostile.attacker.calls import ATTACKER, AttackCall
from tests.invalidation.fakes import remote_error
from tests.model import namespace as ns
from tests.model import operations
from tests.model.cluster import Cluster, Writing
from tests.model.known_credentials import NOT_ALLOWED
from tests.model.namespace import TRUE, NameNodeReply, RefusedError, remote_exception
from tests.model.operations import Operation
from tests.model.upstream import HEADERS, ClientRequest, ModelQueries, ModelUpstream, ended
from tests.model.writes import by

SERVICE = "svc"
"""The user of the proxy's own queries: on ZooKeeper it needs no rights."""

_DENIED = "org.apache.hadoop.security.AccessControlException"
_REFUSED = remote_exception(_DENIED, "no")
_REDIRECT = NameNodeReply(307, b"")
_BAD = remote_exception("java.lang.IllegalArgumentException", "no such thing", 400)
_HTML = NameNodeReply(500, b"<html>")
OF_ANOTHER = NOT_ALLOWED
_METHODS = frozenset({"GET", "PUT", "POST", "DELETE"})


@dataclass(eq=False)
class AttackRequest(ClientRequest):
    """A request of the attacker.

    Attributes:
        call: the call that it sends.
        answers: the NameNode's answers to it, one each time that it was asked.
    """

    call: AttackCall | None = None
    answers: list[NameNodeReply] = field(default_factory=list)


class AttackUpstream(ModelUpstream):
    """The connection to a NameNode that answers every request."""

    async def stream(
        self, request: Request, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> RawResponse:
        """Carry out a call that is not a plain read."""
        client: object = request
        if not isinstance(client, AttackRequest):
            return await super().stream(request, head, settle, decorate)
        namenode = self._cluster.active
        await asyncio.sleep(self._takes_s())
        answer = await self._answer_to(client)
        await asyncio.sleep(self._takes_s())
        settled = SettledReply(
            status=answer.status,
            reason="",
            headers=HEADERS,
            body=answer.body,
            namenode=namenode.address,
            term=self._term_of(namenode),
            replied_at=self._clock(),
        )
        await self._shielded(settle, settled)
        return RawResponse(settled.status, "", (*settled.headers, *decorate(settled)), body=settled.body)

    async def _answer_to(self, client: AttackRequest) -> NameNodeReply:
        """Return the answer; make the change if the attacker may."""
        assert client.call is not None
        try:
            done = carry_out(self._cluster, client.call)
        except RefusedError as refusal:
            done = refusal.answer
        if not isinstance(done, NameNodeReply):
            await ended(done)
            done = TRUE
        client.answers.append(done)
        return done


class ServiceQueries(ModelQueries):
    """Queries as a service user without rights, who is refused paths below closed directories."""

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path exists."""
        self._may_see(path, caller)
        return await super().exists(path, caller)

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return whether the path is a directory."""
        self._may_see(path, caller)
        return await super().is_directory(path, caller)

    def _may_see(self, path: str, caller: RpcUser | None) -> None:
        if caller is None and self._cluster.present.answer(SERVICE, path).status == HTTPStatus.FORBIDDEN:
            raise remote_error(_DENIED)


def carry_out(cluster: Cluster, call: AttackCall) -> NameNodeReply | Writing:
    """Answer a call of the attacker as a NameNode does.

    Raises:
        RefusedError: the NameNode refuses it.
    """
    if call.is_odd:
        return _answer_to_odd(call)
    if call.op == "CREATE":
        return _REDIRECT  # for every user and path: the second step checks the rights
    path = call.path
    if path is None:
        return _REFUSED
    now = cluster.present.namespace
    seen = cluster.present.answer(ATTACKER, path)
    if call.op in {"OPEN", "GETFILECHECKSUM"} and seen.status == HTTPStatus.OK:
        inode = now[path]
        if inode.kind is FileType.DIRECTORY:
            return _REDIRECT  # for every user who sees it: it has no blocks (chooseDatanode)
        return _REDIRECT if inode.mode & 0o4 or inode.owner == ATTACKER else _REFUSED
    if call.method == "GET":
        return seen
    known: dict[str, Operation] = {
        "MKDIRS": by(ATTACKER, operations.mkdirs, path),
        "DELETE": by(ATTACKER, operations.delete, path),
        "RENAME": by(ATTACKER, operations.rename, path, call.other),
        "SETPERMISSION": by(ATTACKER, operations.set_permission, path, 0o777),
        "SETTIMES": by(ATTACKER, operations.set_times, path),
        "TRUNCATE": by(ATTACKER, operations.truncate, path),
    }
    if call.op == "APPEND":
        return seen if seen.status != HTTPStatus.OK else _answer_to_append(now[path])
    operation = known.get(call.op)
    if operation is None or (call.op == "TRUNCATE" and (path not in now or now[path].owner != ATTACKER)):
        return _REFUSED
    writing = cluster.write(operation)
    return writing if writing.made else operations.reply(call.op, writing.made)


def _answer_to_append(inode: ns.Inode) -> NameNodeReply:
    """Return the reply to an APPEND: only a file with content needs the right to read it, for its blocks."""
    is_readable = inode.mode & 0o4 or inode.owner == ATTACKER
    return _REDIRECT if is_readable or not inode.length else _REFUSED


def _answer_to_odd(call: AttackCall) -> NameNodeReply:
    if "doas=" in call.target:
        return OF_ANOTHER
    is_known = call.method in _METHODS and not call.target.endswith("user.name=")
    return _BAD if is_known else _HTML
