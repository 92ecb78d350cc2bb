"""Calls to one NameNode over Hadoop RPC.

Source: ClientNamenodeProtocol.proto of Hadoop 3.4.1 and 3.5.0, measured there.
"""

from google.protobuf.message import Message

from nncache.hadoop.errors import RemoteCallError
from nncache.hadoop.events import EditsPage
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.connection import VERSION_REQUEST, Method, RpcConnection, namespace_of
from nncache.hadoop.rpc.edits import decode_edits
from nncache.hadoop.rpc.messages import MessageT
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client

_CLIENT = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

_GET_EDITS = Method(_CLIENT, "getEditsFromTxid", is_repeatable=True, needs_superuser=True)
_GET_CURRENT_TXID = Method(_CLIENT, "getCurrentEditLogTxid", is_repeatable=True, needs_superuser=True)
_IS_FILE_CLOSED = Method(_CLIENT, "isFileClosed", is_repeatable=True)
_GET_FILE_INFO = Method(_CLIENT, "getFileInfo", is_repeatable=True)
_CHECK_ACCESS = Method(_CLIENT, "checkAccess", is_repeatable=True)
_GET_GROUPS = Method(
    "org.apache.hadoop.tools.GetUserMappingsProtocol", "getGroupsForUser", is_repeatable=True
)
_ROLL_EDITS = Method(_CLIENT, "rollEdits", is_repeatable=False, needs_superuser=True)

_WRITE = 2  # FsAction.WRITE
_DIRECTORY = 1  # HdfsFileStatusProto.FileType.IS_DIR


class NameNodeRpc:
    """A client of one NameNode for one user, or for a `real_user` who impersonates that user.

    Every method raises `RpcUnavailableError` if there is no reply in time, `RemoteCallError` if the NameNode answers
    with an exception (a standby does so, with verdict STANDBY), and `RpcError` for any other failure.
    """

    def __init__(
        self,
        address: str,
        user: str,
        *,
        real_user: str | None = None,
        timeout_s: float = 5.0,
        check: NamespaceCheck | None = None,
        identity: KerberosIdentity | None = None,
        is_impersonating: bool = False,
    ) -> None:
        self._connection = RpcConnection(
            address,
            user,
            real_user=real_user,
            check=check,
            identity=identity,
            is_impersonating=is_impersonating,
        )
        self._timeout_s = timeout_s

    @property
    def connection_id(self) -> int:
        """The number of connections since the start; 0 before the first.

        If it is the same before and after a call, the reply came over the connection of this number.
        """
        return self._connection.connection_id

    @property
    def is_login_failing(self) -> bool:
        """Whether the last attempt to connect failed at the login."""
        return self._connection.is_login_failing

    async def confirm_namespace(self) -> None:
        """Connect if necessary, and check that the connection leads to the HTTP address's namespace.

        Raises WrongAddressError: the RPC address leads to another namespace.
        """
        await self._connection.confirm_namespace(self._timeout_s)

    async def namespace(self) -> Namespace:
        """Return the namespace that the NameNode serves. Any user may call it, also on a standby."""
        reply = await self._call(VERSION_REQUEST, client.VersionRequest(), client.VersionResponse)
        return namespace_of(reply)

    async def namespace_id(self) -> int:
        """Return the namespace id, which the journals have as well. Any user may call it."""
        reply = await self._call(VERSION_REQUEST, client.VersionRequest(), client.VersionResponse)
        return reply.info.storage_info.namespace_id

    async def groups_of(self, user: str) -> tuple[str, ...]:
        """Return a user's groups as the NameNode resolves them, like `hdfs groups`. Any user may call it.

        Empty for an unknown user (UserGroupInformation.getGroupNames logs the failure, and returns no groups).
        """
        request = client.GetGroupsForUserRequest(user=user)
        reply = await self._call(_GET_GROUPS, request, client.GetGroupsForUserResponse)
        return tuple(reply.groups)

    async def get_edits(self, from_txid: int) -> EditsPage:
        """Return the events of one page of the edit log, from this transaction on. Needs superuser rights.

        An empty page (first_txid == -1) means that there are no new transactions. A first_txid larger than requested
        means that the transactions in between were purged: the NameNode raises no error.
        """
        request = client.GetEditsFromTxidRequest(txid=from_txid)
        reply = await self._call(_GET_EDITS, request, client.GetEditsFromTxidResponse)
        return decode_edits(reply.events_list)

    async def get_current_edit_log_txid(self) -> int:
        """Return the id of the last written transaction. Needs superuser rights."""
        request = client.GetCurrentEditLogTxidRequest()
        reply = await self._call(_GET_CURRENT_TXID, request, client.GetCurrentEditLogTxidResponse)
        return reply.txid

    async def is_file_closed(self, path: str) -> bool:
        """Whether no client has this file open for writing. The call does not change its access time.

        Raises RemoteCallError: with verdict FILE_NOT_FOUND for a directory as well as for a missing path.
        """
        reply = await self._call(
            _IS_FILE_CLOSED, client.IsFileClosedRequest(src=path), client.IsFileClosedResponse
        )
        return reply.result

    async def exists(self, path: str) -> bool:
        """Whether this path exists. The call does not change its access time."""
        return (await self._file_info(path)).HasField("fs")

    async def is_directory(self, path: str) -> bool:
        """Whether this path exists and is a directory."""
        reply = await self._file_info(path)
        return reply.HasField("fs") and reply.fs.file_type == _DIRECTORY

    async def may_write(self, path: str) -> bool | None:
        """Whether this user may write the file or directory; None if it does not exist.

        Source: `FSNamesystem.checkAccess`. False also for a user who may not traverse to the path.
        """
        request = client.CheckAccessRequest(path=path, mode=_WRITE)
        try:
            await self._call(_CHECK_ACCESS, request, client.CheckAccessResponse)
        except RemoteCallError as exc:
            if exc.verdict is Verdict.ACCESS_CONTROL:
                return False
            if exc.verdict is Verdict.FILE_NOT_FOUND:
                return None
            raise
        return True

    async def _file_info(self, path: str) -> client.GetFileInfoResponse:
        return await self._call(
            _GET_FILE_INFO, client.GetFileInfoRequest(src=path), client.GetFileInfoResponse
        )

    async def roll_edits(self) -> int:
        """Start a new segment of the edit log and return its first txid. Needs superuser rights."""
        reply = await self._call(_ROLL_EDITS, client.RollEditsRequest(), client.RollEditsResponse)
        return reply.new_segment_txid

    async def close(self) -> None:
        """Close the connection. Calls in flight and later calls fail."""
        await self._connection.close()

    async def _call(self, method: Method, request: Message, result: type[MessageT]) -> MessageT:
        return await self._connection.call(method, request, result, self._timeout_s)
