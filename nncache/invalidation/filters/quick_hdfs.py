"""HDFS as one user, many changes at a time.

What changes the namespace alone goes to the active NameNode over RPC, all the rest over WebHDFS.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from http import HTTPStatus
from typing import Protocol

from nncache.hadoop.errors import RemoteCallError, RemoteExceptionError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.namespace_calls import NamespaceCalls
from nncache.invalidation.filters.hdfs_calls import FAILURES, Hdfs


class HdfsWithRpc(Hdfs, Protocol):
    """HDFS over WebHDFS, which also says where the NameNode that answers has its RPC port."""

    async def rpc_side(self) -> tuple[str, NamespaceCheck]:
        """Return host:port, with the namespace that is to be found there."""


class QuickHdfs:
    """`nncache.invalidation.filters.hdfs_calls.Hdfs`: the same answers and the same errors as those of WebHDFS."""

    def __init__(self, hdfs: Hdfs, edits: NamespaceCalls) -> None:
        self._hdfs = hdfs
        self._edits = edits
        self.status = hdfs.status
        self.list = hdfs.list
        self.read = hdfs.read
        self.xattrs = hdfs.xattrs
        self.create = hdfs.create

    async def mkdirs(self, path: str, permission: str = "755") -> bool:
        """Make a directory and those above it."""
        with _as_over_http():
            return await self._edits.mkdirs(path, permission)

    async def set_owner(self, path: str, owner: str | None = None, group: str | None = None) -> None:
        """Set the owner, the group, or both."""
        with _as_over_http():
            await self._edits.set_owner(path, owner, group)

    async def set_xattr(self, path: str, name: str, value: bytes) -> None:
        """Set an extended attribute, whether it is there or not."""
        with _as_over_http():
            await self._edits.set_xattr(path, name, value)

    async def rename_to(self, source: str, destination: str) -> None:
        """Move a path to exactly this place, where nothing may be."""
        with _as_over_http():
            await self._edits.rename_to(source, destination)

    async def delete(self, path: str, *, recursive: bool = False) -> bool:
        """Delete a path; False if there is none."""
        with _as_over_http():
            return await self._edits.delete(path, recursive=recursive)


@asynccontextmanager
async def quick(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> AsyncIterator[Hdfs]:
    """Give an HDFS for many changes; the same one where its RPC port is not known, or not reached from here."""
    async with AsyncExitStack() as closing:
        found: Hdfs = hdfs
        with suppress(*FAILURES):
            address, check = await hdfs.rpc_side()
            edits = NamespaceCalls(address, user, check, timeout_s=timeout_s, identity=identity)
            closing.push_async_callback(edits.close)
            await edits.connect()
            found = QuickHdfs(hdfs, edits)
        yield found


@contextmanager
def _as_over_http() -> Iterator[None]:
    """Have an exception of the NameNode be what it is over WebHDFS."""
    try:
        yield
    except RemoteCallError as exc:
        raise RemoteExceptionError(HTTPStatus.FORBIDDEN, exc.remote, call="a call over RPC") from exc
