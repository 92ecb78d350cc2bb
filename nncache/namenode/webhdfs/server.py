"""Serve a NameNode's and a DataNode's WebHDFS over HTTP."""

import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from nncache.coordination.errors import CoordinationError, OutcomeUnknownError
from nncache.hadoop import conf_page
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.paths import InvalidPathError, decode_loosely
from nncache.namenode.datanode import peers
from nncache.namenode.datanode.datanode import DataNode, StoppedError
from nncache.namenode.datanode.peers import PeerError, Peers
from nncache.namenode.datanode.replicas import ReplicaStoppedError
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import BlockState
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.permissions import Caller
from nncache.namenode.namespace.refusal import Java, Refusal, io_error
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.namenode import SAFE_MODE, NameNodeService, refusal_of
from nncache.namenode.webhdfs import jmx, json
from nncache.namenode.webhdfs.blocks import BlockHandler
from nncache.namenode.webhdfs.operations import (
    BYTES,
    DEFAULT_FILE_MODE,
    JSON,
    SERVED,
    OperationAnswer,
    OperationRequest,
)
from nncache.namenode.webhdfs.parameters import (
    Parameters,
    named_user,
    parse_parameters,
    parse_query,
)

PREFIX: Final = "/webhdfs/v1"
UNNAMED: Final = "dr.who"
"""The user of a request without a user name (hadoop.http.staticuser.user)."""

DEFAULT_BLOCK_SIZE: Final = 134_217_728
_METHODS: Final = {"HEAD": "GET"}
_NO_URI: Final = re.compile(
    r"[\x00-\x20\"#%<>?\[\\\]^`{|}\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
"""The characters that java.net.URI escapes in a path; letters of any script stay."""
_NOT_UNWRAPPED: Final = {Java.HADOOP_ILLEGAL_ARGUMENT, Java.INVALID_PATH, Java.PATH_COMPONENT_TOO_LONG}
"""Of a NameNode's exceptions: those of which RemoteException.unwrapRemoteException makes none, at a DataNode."""

_AT_ONCE: Final = 256 * 1024
_PREFLIGHT: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "accept",
    "Access-Control-Allow-Methods": "PUT",
    "Access-Control-Max-Age": "1728000",
}
"""A DataNode's answer to a browser that is about to upload (WebHdfsHandler.allowCORSOnCreate)."""

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""A DataNode sends this before it opens the file, whether the client expects it or not (WebHdfsHandler.onCreate)."""


class NameNodeHandler:
    """Answers requests to the NameNode.

    Attributes:
        unavailable: whether each request is answered with 503; for tests.
        answered: WebHDFS requests since start, by operation and outcome: done, refused, unavailable or unknown.
    """

    def __init__(
        self,
        namenode: NameNodeService,
        datanodes: DataNodes,
        clock: Clock,
        *,
        rpc: str,
        namespace: Namespace,
    ) -> None:
        """Answer for a NameNode of this namespace, whose RPC is at `rpc` (host:port)."""
        self.unavailable = False
        self.answered: Counter[tuple[str, str]] = Counter()
        self._namenode = namenode
        self._datanodes = datanodes
        self._clock = clock
        self._rpc = rpc
        self._namespace = namespace

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if self.unavailable:
            return web.Response(status=503, text="unavailable")
        spelled, _, query = request.raw_path.partition("?")
        if spelled == "/jmx":
            return await self._jmx(request.method, query)
        if request.path_qs == conf_page.TARGET or request.path_qs.startswith(f"{conf_page.TARGET}&"):
            return web.Response(text=jmx.conf(self._namenode.configuration), content_type=JSON)
        if not spelled.startswith(PREFIX) or spelled[len(PREFIX) :][:1] not in {"", "/"}:
            return web.Response(status=404, text="Not found\n")
        outcome, operation = "done", "none"
        try:
            asked = self._asked(request, spelled[len(PREFIX) :], query)
            if isinstance(asked, OperationRequest):
                operation = asked.parameters.op
            answer = await SERVED[operation](asked) if isinstance(asked, OperationRequest) else asked
        except (Refusal, CoordinationError, InvalidPathError) as error:
            outcome, refusal = _outcome(error), refusal_of(error)
            answer = OperationAnswer(status=refusal.status, body=json.exception(refusal))
        self.answered[operation, outcome] += 1
        response = web.Response(status=answer.status, body=answer.body.encode("utf-8", "surrogatepass"))
        response.headers.update(self._headers())
        if answer.content_type is None:
            response.headers.popall("Content-Type", None)
        else:
            response.headers["Content-Type"] = answer.content_type
        if answer.location is not None:
            response.headers["Location"] = answer.location
        return response

    async def _jmx(self, method: str, query: str) -> web.StreamResponse:
        if method not in {"GET", "HEAD"}:
            return web.Response(status=405)
        namenode = self._namenode
        try:
            standing, last_txid = await namenode.standing(), await namenode.last_txid()
        except CoordinationError as error:  # whether it is active is unknown, so it does not claim to be
            return web.Response(status=503, text=f"{error}\n")
        facts = jmx.JmxValues(
            namespace=self._namespace,
            rpc_address=self._rpc,
            is_standby=not standing.is_active,
            started_ms=namenode.started_ms,
            transition_ms=standing.since_ms,
            safe_mode=SAFE_MODE if namenode.safe_mode else "",
            last_txid=last_txid,
        )
        headers = {
            **self._headers(),
            "Content-Type": "application/json; charset=utf8",
            "Access-Control-Allow-Methods": "GET",
            "Access-Control-Allow-Origin": "*",
        }
        return web.Response(body=jmx.answer(query, facts).encode(), headers=headers)

    def _asked(
        self, request: web.BaseRequest, spelled: str, query: str
    ) -> OperationRequest | OperationAnswer:
        method = _METHODS.get(request.method, request.method)
        try:
            path = decode_loosely(spelled)
        except InvalidPathError as wrong:
            return OperationAnswer(status=400, body=str(wrong), content_type="text/plain")
        if method not in {"GET", "PUT", "POST", "DELETE"}:
            return OperationAnswer(status=405, content_type=None)
        raw = parse_query(query)
        claimed, doas = named_user(raw, "user.name"), named_user(raw, "doas")
        if claimed == "" or doas == "":
            what = "userName is NULL, empty or contains a '&'" if claimed == "" else "Null user"
            return OperationAnswer(
                status=500, body=f"java.lang.IllegalArgumentException: {what}", content_type="text/html"
            )
        if doas is not None and doas != claimed and not self._may_impersonate(claimed):
            message = f"User: {claimed or UNNAMED} is not allowed to impersonate {doas}"
            if claimed is None:
                behind = "org.apache.hadoop.security.authorize.AuthorizationException"
                raise Refusal(Java.SECURITY, f"Failed to obtain user group information: {behind}: {message}")
            return OperationAnswer(status=403, body=json.impersonation(message))
        parameters = parse_parameters(method, query)
        return OperationRequest(
            namenode=self._namenode,
            caller=self._namenode.caller(doas or claimed or UNNAMED),
            path=path,
            host=request.remote or "127.0.0.1",
            parameters=parameters,
            datanodes=self._datanodes,
            namenode_rpc=self._rpc,
            block_pool=self._namespace.block_pool,
        )

    def _may_impersonate(self, user: str | None) -> bool:
        """Tell whether a user is a proxy user: only the superuser is, as on the test bed's clusters."""
        return user is not None and self._namenode.caller(user).is_superuser

    def _headers(self) -> Mapping[str, str]:
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(self._clock.wall_ms() / 1000))
        return {
            "Date": date,
            "Cache-Control": "no-cache",
            "Expires": date,
            "Pragma": "no-cache",
            "X-Content-Type-Options": "nosniff",
            "X-FRAME-OPTIONS": "SAMEORIGIN",
            "X-XSS-Protection": "1; mode=block",
        }


def _outcome(error: Exception) -> str:
    if not isinstance(error, CoordinationError):
        return "refused"
    return "unknown" if isinstance(error, OutcomeUnknownError) else "unavailable"


class DataNodeHandler:
    """Answers the redirected requests of CREATE, APPEND, OPEN and GETFILECHECKSUM."""

    def __init__(self, datanode: DataNode, namenode: NameNodeService, peers: Peers) -> None:
        self._datanode = datanode
        self._namenode = namenode
        self._peers = peers
        self._blocks = BlockHandler(datanode, peers)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, and close the connection, as HDFS's DataNode does."""
        spelled, _, query = request.raw_path.partition("?")
        if spelled.startswith(peers.PATH):
            return await self._blocks.answer(request, spelled.removeprefix(peers.PATH))
        try:
            path = decode_loosely(spelled.removeprefix(PREFIX))
            response = await self._answered(request, path, query)
        except (Refusal, CoordinationError) as error:
            why = f"ZooKeeper cannot be asked: {error}"
            refusal = error if isinstance(error, Refusal) else io_error(why)
            response = web.Response(status=refusal.status, body=json.exception(refusal).encode())
            response.headers["Content-Type"] = f"{JSON}; charset=utf-8"
        except InvalidPathError as wrong:
            response = web.Response(status=400, text=str(wrong))
        except StoppedError:
            if request.transport is not None:
                request.transport.abort()
            response = web.Response(status=500)
        except ReplicaStoppedError as stopped:
            response = web.Response(status=500, text=str(stopped))
        response.force_close()
        return response

    async def _answered(self, request: web.BaseRequest, path: str, query: str) -> web.StreamResponse:
        method = _METHODS.get(request.method, request.method)
        if method not in {"GET", "PUT", "POST", "DELETE"}:
            op = parse_query(query).get("op", ("null",))[0]
            if (method, op.upper()) == ("OPTIONS", "CREATE"):
                return web.Response(headers=_PREFLIGHT)
            raise Refusal(Java.ILLEGAL_ARGUMENT, f"Invalid operation {op}")
        parameters = parse_parameters(method, query)
        caller = self._namenode.caller(parameters.doas or parameters.user or UNNAMED)
        host = "127.0.0.1"
        if parameters.op in {"CREATE", "APPEND"} and request.transport is not None:
            request.transport.write(_CONTINUE)
        match parameters.op:
            case "CREATE":
                await self._create(request, caller, path, parameters, host)
                (namenode,) = parameters.raw.get("namenoderpcaddress", ("",))[:1]
                location = f"hdfs://{namenode}{_NO_URI.sub(_escaped, path)}"
                return web.Response(
                    status=201, headers={"Location": location, "Access-Control-Allow-Origin": "*"}
                )
            case "APPEND":
                upload = await self._datanode.append(caller, path, host)
                with self._datanode.transferring():
                    try:
                        await upload.write_all(_body(request))
                    finally:
                        await upload.abort()
                return web.Response(status=200)
            case "OPEN":
                return await self._open(request, caller, path, parameters)
            case "GETFILECHECKSUM":
                return await self._checksum(caller, path)
            case _:
                raise Refusal(Java.ILLEGAL_ARGUMENT, f"Invalid operation {parameters.op}")

    async def _create(
        self, request: web.BaseRequest, caller: Caller, path: str, parameters: Parameters, host: str
    ) -> None:
        asked = parameters.number("permission", DEFAULT_FILE_MODE)
        unmasked = parameters.optional("unmaskedpermission")
        size = parameters.number("blocksize", DEFAULT_BLOCK_SIZE)
        flags = parameters.set_of("createflag")
        file = NewFile(
            # A DataNode's umask of 0 clears only the sticky bit (FsPermission.applyUMask).
            modes=Modes(asked & 0o777, asked if unmasked is None else unmasked),
            replication=parameters.number("replication", 1),
            block_size=size,
            overwrite=parameters.flag("overwrite") or "OVERWRITE" in flags,
            create=not flags or "CREATE" in flags,
            create_parent=parameters.values.get("createparent") is not False,
        )
        try:
            upload = await self._datanode.create(caller, path, file, host)
        except Refusal as refusal:
            if refusal.java not in _NOT_UNWRAPPED:
                raise
            raise Refusal(Java.REMOTE, refusal.message) from refusal
        try:
            if size % 512:
                raise Refusal(
                    Java.HADOOP_ILLEGAL_ARGUMENT,
                    f"Invalid values: dfs.bytes-per-checksum (=512) must divide block size (={size}).",
                )
            with self._datanode.transferring():
                await upload.write_all(_body(request))
        finally:
            await upload.abort()

    async def _open(
        self, request: web.BaseRequest, caller: Caller, path: str, parameters: Parameters
    ) -> web.StreamResponse:
        file = await self._namenode.blocks_of(caller, path)
        size = self._datanode.visible_length(file)
        begin = parameters.number("offset", 0)
        if begin > size:
            raise Refusal(Java.EOF, "Cannot seek after EOF")
        length = min(parameters.number("length", size), size - begin)
        response = web.StreamResponse(
            headers={
                "Access-Control-Allow-Methods": "GET",
                "Access-Control-Allow-Origin": "*",
                "Content-Type": BYTES,
                "Content-Length": str(length),
            }
        )
        response.force_close()
        await response.prepare(request)
        try:
            with self._datanode.transferring():
                for block, first, size in self._datanode.parts(file, begin, length):
                    async for part in self._blocks.read(block, first, size):
                        await response.write(part)
        except PeerError:
            if request.transport is not None:
                request.transport.abort()
        await response.write_eof()
        return response

    async def _checksum(self, caller: Caller, path: str) -> web.StreamResponse:
        file = await self._namenode.blocks_of(caller, path)
        if file.is_open or any(block.state is not BlockState.COMPLETE for block in file.blocks):
            raise io_error(f"Fail to get checksum, since file {path} is under construction.")
        try:
            crcs = [
                self._datanode.replicas.crcs(block.id)
                if self._datanode.holds(block)
                else await self._peers.crcs(block)
                for block in file.blocks
            ]
        except PeerError as error:
            raise io_error(str(error)) from error
        algorithm, spelled = self._datanode.checksum(file, crcs)
        body = json.render({"FileChecksum": {"algorithm": algorithm, "bytes": spelled, "length": 28}})
        return web.Response(body=body.encode(), headers={"Content-Type": f"{JSON}; charset=utf-8"})


def _escaped(found: re.Match[str]) -> str:
    return quote(found[0], safe="")


async def _body(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """Yield a body as it arrives. Raises ConnectionError: the client broke off."""
    async for part in request.content.iter_chunked(_AT_ONCE):
        yield part
