"""Read and change the namespace of one NameNode over Hadoop RPC.

For many calls in a row: they share one connection, and cost the NameNode a third of the same calls over WebHDFS. No
call needs a DataNode. Source: ClientNamenodeProtocol.proto, hdfs.proto and xattr.proto of Hadoop 3.4.1 and 3.5.0.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.connection import Method
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto.inotify_pb2 import FsPermission, XAttr
from nncache.hadoop.rpc.statuses import status_of

_CLIENT: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_MKDIRS: Final = Method(_CLIENT, "mkdirs", is_repeatable=True)
_CREATE: Final = Method(_CLIENT, "create", is_repeatable=False)
_COMPLETE: Final = Method(_CLIENT, "complete", is_repeatable=False)
_SET_OWNER: Final = Method(_CLIENT, "setOwner", is_repeatable=True)
_SET_XATTR: Final = Method(_CLIENT, "setXAttr", is_repeatable=True)
_RENAME: Final = Method(_CLIENT, "rename2", is_repeatable=False)
_DELETE: Final = Method(_CLIENT, "delete", is_repeatable=False)

_LIST: Final = Method(_CLIENT, "getBatchedListing", is_repeatable=True)
_GET_XATTRS: Final = Method(_CLIENT, "getXAttrs", is_repeatable=True)

MAX_DIRECTORIES: Final = 100
"""The limit of one getBatchedListing (HDFS-13616, since Hadoop 3.3.0): the default of dfs.batched.ls.limit."""

_USER: Final = "user."
_USER_NAMESPACE: Final = 0
_CREATE_OR_REPLACE: Final = 3  # XAttrSetFlag
_CREATE_NEW: Final = 1  # CreateFlag: FileAlreadyExistsException if the file exists
_REPLICATION: Final = 1
_BLOCK_BYTES: Final = 128 * 1024 * 1024


class NamespaceCalls(NameNodeRpc):
    """A client of one NameNode for one user. Its methods match those of `nncache.hadoop.namenodes.webhdfs.WebHdfs`."""

    def __init__(
        self,
        address: str,
        user: str,
        check: NamespaceCheck,
        *,
        timeout_s: float,
        identity: KerberosIdentity | None = None,
    ) -> None:
        super().__init__(address, user, check=check, timeout_s=timeout_s, identity=identity)
        self._lease_holder = f"nncache-{uuid.uuid4().hex}"

    async def list_many(self, paths: Sequence[str]) -> Mapping[str, tuple[FileStatus, ...]]:
        """Return the statuses of the children of at most MAX_DIRECTORIES directories, by directory.

        A directory that is missing, or that this user may not read, is omitted.
        """
        found: dict[str, list[FileStatus]] = {}
        refused: set[str] = set()
        start_after = b""
        while True:
            request = client.GetBatchedListingRequest(
                paths=paths, start_after=start_after, need_location=False
            )
            reply = await self._call(_LIST, request, client.GetBatchedListingResponse)
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
        """Return the extended attributes in the namespace `user`, by name."""
        request = client.GetXAttrsRequest(src=path)
        reply = await self._call(_GET_XATTRS, request, client.GetXAttrsResponse)
        return {
            _USER + each.name.decode(): each.value
            for each in reply.x_attrs
            if each.namespace == _USER_NAMESPACE
        }

    async def mkdirs(self, path: str, permission: str = "755") -> bool:
        """Create a directory and its missing ancestors."""
        mode = FsPermission(perm=int(permission, 8))
        request = client.MkdirsRequest(src=path, masked=mode, create_parent=True)
        return (await self._call(_MKDIRS, request, client.MkdirsResponse)).result

    async def create(self, path: str, permission: str = "644") -> None:
        """Create a file and open it for writing. It is visible to clients immediately. `complete` closes it."""
        request = client.CreateRequest(
            src=path,
            masked=FsPermission(perm=int(permission, 8)),
            client_name=self._lease_holder,
            create_flag=_CREATE_NEW,
            create_parent=True,
            replication=_REPLICATION,
            block_size=_BLOCK_BYTES,
        )
        await self._call(_CREATE, request, client.CreateResponse)

    async def complete(self, path: str) -> None:
        """Close a file that `create` has opened. It is empty, so there is no block to wait for."""
        request = client.CompleteRequest(src=path, client_name=self._lease_holder)
        await self._call(_COMPLETE, request, client.CompleteResponse)

    async def set_owner(self, path: str, owner: str | None = None, group: str | None = None) -> None:
        """Set the owner, the group, or both."""
        request = client.SetOwnerRequest(src=path, username=owner, groupname=group)
        await self._call(_SET_OWNER, request, client.SetOwnerResponse)

    async def set_xattr(self, path: str, name: str, value: bytes) -> None:
        """Create or replace an extended attribute in the namespace `user`."""
        assert name.startswith(_USER), name
        attribute = XAttr(namespace=_USER_NAMESPACE, name=name.removeprefix(_USER).encode(), value=value)
        request = client.SetXAttrRequest(src=path, x_attr=attribute, flag=_CREATE_OR_REPLACE)
        await self._call(_SET_XATTR, request, client.SetXAttrResponse)

    async def rename_to(self, source: str, destination: str) -> None:
        """Rename a path to exactly this path; FileAlreadyExistsException if the destination exists, of any kind."""
        request = client.Rename2Request(src=source, dst=destination, overwrite_dest=False)
        await self._call(_RENAME, request, client.Rename2Response)

    async def delete(self, path: str, *, recursive: bool = False) -> bool:
        """Delete a path; False if it does not exist."""
        request = client.DeleteRequest(src=path, recursive=recursive)
        return (await self._call(_DELETE, request, client.DeleteResponse)).result
