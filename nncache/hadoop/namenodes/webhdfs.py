"""A small WebHDFS client: for the filters, the test bed, the demo and the tests.

Source: the WebHDFS REST API of Hadoop 3.4.1 and 3.5.0. Calls are those of an ordinary client: the user is in
`user.name`, and data goes in a second step to the DataNode that the first step's redirect names.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import MalformedReplyError, RemoteExceptionError
from nncache.hadoop.filestatus import FileStatus, parse_file_status
from nncache.hadoop.jmx import (
    BLOCK_POOL_QUERY,
    CLUSTER_QUERY,
    STATUS_QUERY,
    parse_block_pool,
    parse_cluster_id,
    parse_rpc_address,
)
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.webhdfs_transport import Data, WebHdfsTransport
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.paths import ROOT
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.unreadable_json import UNREADABLE_JSON

_KindT = TypeVar("_KindT", bound=msgspec.Struct)

_BASE64: Final = "0s"
"""The prefix of a Base64 value (XAttrCodec)."""


class _Listed(msgspec.Struct, frozen=True):
    statuses: tuple[FileStatus, ...] = msgspec.field(name="FileStatus")


class _Listing(msgspec.Struct, frozen=True):
    listed: _Listed = msgspec.field(name="FileStatuses")


class _Attribute(msgspec.Struct, frozen=True):
    name: str
    value: str | None = None


class _Attributes(msgspec.Struct, frozen=True):
    attributes: tuple[_Attribute, ...] = msgspec.field(name="XAttrs")


class _Truth(msgspec.Struct, frozen=True):
    boolean: bool


class WebHdfs:
    """HDFS as one user, through a NameNode or a proxy. Use it as an async context manager.

    With `others`, it tries the NameNodes one by one, or those that `order` returns. A call goes to the next one only if
    `nncache.hadoop.retry` allows it. Without `order` it may find an observer, whose answers lag.

    Every method raises `RemoteExceptionError` if the answer is a RemoteException, `WebHdfsError` if it is another error
    (`DataNodeUnavailableError` if the second step has no answer), `MalformedReplyError` if it is not the expected
    result, and `aiohttp.ClientError` or `TimeoutError` if there is no answer. With several NameNodes it raises
    `NoActiveNameNodeError` if none of them is the active one.
    """

    def __init__(  # noqa: PLR0913 - all that a connection can be set to
        self,
        base_url: str,
        user: str,
        *,
        others: Sequence[str] = (),
        doas: str | None = None,
        timeout_s: float = 30.0,
        keeps_connections: bool = False,
        identity: KerberosIdentity | None = None,
        web: NameNodeWeb = PLAIN,
        order: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        """With `keeps_connections`, calls that set a state (MKDIRS, SETOWNER, SETXATTR) may be executed twice.

        With an `identity`, a secured NameNode takes the user from its principal, and ignores `user`.
        For https URLs, `web` holds the trusted certificate authorities.
        """
        self._keeps_connections = keeps_connections
        self._who = {"user.name": user} | ({} if doas is None else {"doas": doas})
        self._transport = WebHdfsTransport((base_url, *others), timeout_s, identity, web, order)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.__aexit__()

    def url(self, op: str, path: str, **parameters: str) -> str:
        """Return the URL of a call by this user."""
        return self._transport.url(self._target(op, path, parameters))

    # -- reads

    async def status(self, path: str) -> FileStatus:
        """Return the status of a path (GETFILESTATUS)."""
        return parse_file_status(await self._call("GET", "GETFILESTATUS", path))

    async def exists(self, path: str) -> bool:
        """Whether a path exists (GETFILESTATUS)."""
        try:
            await self.status(path)
        except RemoteExceptionError as exc:
            if exc.verdict is Verdict.FILE_NOT_FOUND:
                return False
            raise
        return True

    async def list(self, path: str) -> tuple[FileStatus, ...]:
        """Return the statuses of a directory's children; for a file, its own status with an empty path suffix."""
        return _decode(await self._call("GET", "LISTSTATUS", path), _Listing).listed.statuses

    async def read(self, path: str) -> bytes:
        """Return the content of a file (OPEN, in two steps)."""
        return await self._redirected("GET", "OPEN", path)

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """Return the extended attributes that this user may see, by name (GETXATTRS)."""
        body = await self._call("GET", "GETXATTRS", path, encoding="BASE64")
        found = _decode(body, _Attributes).attributes
        return {each.name: _value(each.value) for each in found}

    async def rpc_side(self) -> tuple[str, NamespaceCheck]:
        """Return the RPC address that the NameNode which answers calls reports, and the check for its namespace.

        From this host, that address may lead to another server: the namespace must be compared.
        """
        await self.status(ROOT)  # a standby refuses this, but answers JMX
        address = parse_rpc_address(await self._jmx(STATUS_QUERY))
        check = NamespaceCheck(self._transport.url(""), address)
        cluster_id = parse_cluster_id(await self._jmx(CLUSTER_QUERY))
        check.note_over_http(Namespace(cluster_id, parse_block_pool(await self._jmx(BLOCK_POOL_QUERY))))
        return address, check

    # -- writes

    async def mkdirs(self, path: str, permission: str = "755") -> bool:
        """Create a directory and its missing ancestors (MKDIRS)."""
        return _truth(await self._set("MKDIRS", path, permission=permission))

    async def create(
        self,
        path: str,
        data: Data = b"",
        *,
        overwrite: bool = False,
        permission: str = "644",
        create_parent: bool = True,
    ) -> None:
        """Write a file (CREATE, in two steps) and close it."""
        how = {"overwrite": str(overwrite).lower(), "permission": permission}
        if not create_parent:
            how["createparent"] = "false"
        await self._redirected("PUT", "CREATE", path, data, **how)

    async def append(self, path: str, data: Data) -> None:
        """Append to a file (APPEND, in two steps) and close it."""
        await self._redirected("POST", "APPEND", path, data)

    async def delete(self, path: str, *, recursive: bool = False) -> bool:
        """Delete a path; False if it does not exist."""
        return _truth(await self._call("DELETE", "DELETE", path, recursive=str(recursive).lower()))

    async def rename(self, source: str, destination: str) -> bool:
        """Rename a path, or move it into an existing directory; False if HDFS does not allow it."""
        return _truth(await self._call("PUT", "RENAME", source, destination=destination))

    async def rename_to(self, source: str, destination: str) -> None:
        """Rename a path to exactly this path; FileAlreadyExistsException if the destination exists, of any kind."""
        await self._call("PUT", "RENAME", source, destination=destination, renameoptions="NONE")

    async def set_permission(self, path: str, permission: str) -> None:
        """Set the mode: octal, as in "700"."""
        await self._call("PUT", "SETPERMISSION", path, permission=permission)

    async def set_owner(self, path: str, owner: str | None = None, group: str | None = None) -> None:
        """Set the owner, the group, or both."""
        given = {"owner": owner, "group": group}
        await self._set(
            "SETOWNER", path, **{name: value for name, value in given.items() if value is not None}
        )

    async def set_xattr(self, path: str, name: str, value: bytes) -> None:
        """Create or replace an extended attribute."""
        how = {"xattr.name": name, "xattr.value": _BASE64 + base64.b64encode(value).decode()}
        await self._set("SETXATTR", path, **how, flag="CREATE,REPLACE")

    async def set_times(self, path: str, *, modification_ms: int = -1, access_ms: int = -1) -> None:
        """Set the times, in ms since 1970; -1 leaves a time unchanged."""
        await self._call(
            "PUT", "SETTIMES", path, modificationtime=str(modification_ms), accesstime=str(access_ms)
        )

    # -- inner parts

    async def _set(self, op: str, path: str, **parameters: str) -> bytes:
        target = self._target(op, path, parameters)
        return await self._transport.ask("PUT", target, may_repeat=self._keeps_connections)

    async def _jmx(self, query: str) -> bytes:
        return await self._transport.ask("GET", f"{query}&{urlencode(self._who)}")

    async def _call(self, method: str, op: str, path: str, **parameters: str) -> bytes:
        return await self._transport.ask(method, self._target(op, path, parameters))

    async def _redirected(
        self, method: str, op: str, path: str, data: Data | None = None, **parameters: str
    ) -> bytes:
        return await self._transport.ask_in_two_steps(method, self._target(op, path, parameters), data)

    def _target(self, op: str, path: str, parameters: Mapping[str, str]) -> str:
        query = urlencode({"op": op, **self._who, **parameters}, safe="/:,")
        return f"{PREFIX}{quote(path)}?{query}"


def _value(text: str | None) -> bytes:
    """Decode the Base64 value of an attribute; null stands for an empty value."""
    try:
        return base64.b64decode((text or "").removeprefix(_BASE64), validate=True)
    except ValueError as exc:
        raise MalformedReplyError(f"not what was asked for: {text!r}") from exc


def _truth(body: bytes) -> bool:
    return _decode(body, _Truth).boolean


def _decode(body: bytes, kind: type[_KindT]) -> _KindT:
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE_JSON as exc:
        raise MalformedReplyError(f"not what was asked for: {body[:200]!r}") from exc
