"""HDFS as one user, many changes at a time.

What changes the namespace alone goes to the active NameNode over RPC, all the rest over WebHDFS.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, ParamSpec, Protocol, TypeVar

from nncache.hadoop.errors import RemoteCallError, RemoteExceptionError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.namespace_calls import NamespaceCalls
from nncache.invalidation.filters.hdfs_calls import FAILURES, Hdfs

_P = ParamSpec("_P")
_T = TypeVar("_T")


class HdfsWithRpc(Hdfs, Protocol):
    """HDFS over WebHDFS, which also says where the NameNode that answers has its RPC port."""

    async def rpc_side(self) -> tuple[str, NamespaceCheck]:
        """Return host:port, with the namespace that is to be found there."""


class QuickHdfs:
    """`nncache.invalidation.filters.hdfs_calls.Hdfs`: the same answers and the same errors as those of WebHDFS."""

    def __init__(self, hdfs: Hdfs, edits: NamespaceCalls) -> None:
        self.status = hdfs.status
        self.list = hdfs.list
        self.read = hdfs.read
        self.xattrs = hdfs.xattrs
        self.create = hdfs.create
        self.mkdirs = _as_over_http(edits.mkdirs)
        self.set_owner = _as_over_http(edits.set_owner)
        self.set_xattr = _as_over_http(edits.set_xattr)
        self.rename_to = _as_over_http(edits.rename_to)
        self.delete = _as_over_http(edits.delete)


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


def _as_over_http(call: Callable[_P, Awaitable[_T]]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Have an exception of the NameNode be what it is over WebHDFS."""

    async def translated(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await call(*args, **kwargs)
        except RemoteCallError as exc:
            raise RemoteExceptionError(HTTPStatus.FORBIDDEN, exc.remote, call="a call over RPC") from exc

    return translated
