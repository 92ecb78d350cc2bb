"""Read many directories and attributes of one NameNode over Hadoop RPC.

A hundred directories take one call (HDFS-13616, since Hadoop 3.3.0). Source: ClientNamenodeProtocol.proto, hdfs.proto
and xattr.proto of Hadoop 3.4.1 and 3.5.0.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.connection import Method, RpcConnection
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client

_CLIENT: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_LIST: Final = Method(_CLIENT, "getBatchedListing", is_repeatable=True)
_GET_XATTRS: Final = Method(_CLIENT, "getXAttrs", is_repeatable=True)

MAX_DIRECTORIES: Final = 100
"""Of one call: dfs.batched.ls.limit, by default."""

_USER: Final = "user."
_USER_NAMESPACE: Final = 0
_TYPES: Final = {1: FileType.DIRECTORY, 2: FileType.FILE, 3: FileType.SYMLINK}  # HdfsFileStatusProto.FileType


class NamespaceReads:
    """One NameNode, as one user. It raises what `nncache.hadoop.rpc.namespace_edits.NamespaceEdits` raises."""

    def __init__(
        self,
        address: str,
        user: str,
        check: NamespaceCheck,
        *,
        timeout_s: float,
        identity: KerberosIdentity | None = None,
    ) -> None:
        self._connection = RpcConnection(address, user, check=check, identity=identity)
        self._timeout_s = timeout_s

    async def connect(self) -> None:
        """See to it that there is a connection, and that it leads to the right namespace."""
        await self._connection.confirm_namespace(self._timeout_s)

    async def close(self) -> None:
        """Close the connection; calls under way fail."""
        await self._connection.close()

    async def list_many(self, paths: Sequence[str]) -> Mapping[str, tuple[FileStatus, ...]]:
        """Return the statuses of the children of these directories, at most MAX_DIRECTORIES, by path.

        What the NameNode does not list (it is not there, or this user may not read it) is left out.
        """
        found: dict[str, list[FileStatus]] = {}
        refused: set[str] = set()
        start_after = b""
        while True:
            request = client.GetBatchedListingRequest(
                paths=paths, start_after=start_after, need_location=False
            )
            reply = await self._connection.call(
                _LIST, request, client.GetBatchedListingResponse, self._timeout_s
            )
            for each in reply.listings:
                if not each.parent_idx < len(paths):
                    raise MalformedReplyError(f"a listing of directory {each.parent_idx} of {len(paths)}")
                path = paths[each.parent_idx]
                if each.HasField("exception"):
                    refused.add(path)
                found.setdefault(path, []).extend(map(status_of, each.partial_listing))
            if not reply.has_more:
                return {path: tuple(statuses) for path, statuses in found.items() if path not in refused}
            if reply.start_after == start_after:
                raise MalformedReplyError("a listing that has more goes on where it began")
            start_after = reply.start_after

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """Return the extended attributes of the namespace `user`, by name."""
        request = client.GetXAttrsRequest(src=path)
        reply = await self._connection.call(_GET_XATTRS, request, client.GetXAttrsResponse, self._timeout_s)
        return {
            _USER + each.name.decode(): each.value
            for each in reply.x_attrs
            if each.namespace == _USER_NAMESPACE
        }


def status_of(status: client.HdfsFileStatus) -> FileStatus:
    """Return a status in the form of WebHDFS; without the optional keys, which are not read here.

    Raises:
        MalformedReplyError: it holds a type that is none, or a name that is not UTF-8.
    """
    try:
        return FileStatus(
            type=_TYPES[status.file_type],
            path_suffix=status.path.decode(),
            length=status.length,
            owner=status.owner.decode(),
            group=status.group.decode(),
            permission=f"{status.permission.perm:o}",
            access_time=status.access_time,
            modification_time=status.modification_time,
            block_size=status.blocksize,
            replication=status.block_replication,
            file_id=status.file_id,
            children_num=status.children_num,
            storage_policy=status.storage_policy,
        )
    except (KeyError, UnicodeDecodeError) as exc:
        raise MalformedReplyError(f"a listing holds what cannot be read: {exc}") from exc
