"""HDFS as one user, for many calls at a time, over RPC where that is faster.

Changes of the namespace alone go to the active NameNode over RPC, everything else over WebHDFS. The data of many
filters is read ahead. WebHDFS needs up to three HTTP calls for each filter; RPC lists a hundred directories in one
call, and only each definition takes a call of its own. Data that could not be read ahead is requested over WebHDFS.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final, ParamSpec, Protocol, TypeAlias, TypeVar

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.errors import RemoteCallError, RemoteExceptionError
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.namespace_calls import MAX_DIRECTORIES, NamespaceCalls
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS
from nncache.invalidation.filters.hdfs_calls import FAILURES, Hdfs

_P = ParamSpec("_P")
_T = TypeVar("_T")

WORTH_IT: Final = 16
"""Fewer filters than this are read without an RPC connection."""

AT_ONCE: Final = 32
"""Calls in flight at the same time."""

ReadAhead: TypeAlias = Callable[[str, Sequence[str]], Awaitable[Hdfs]]
"""Returns an HDFS with the data of the filters of these names, in this directory, read ahead."""


class HdfsWithRpc(Hdfs, Protocol):
    """HDFS over WebHDFS that also knows the RPC port of the NameNode that answers."""

    async def rpc_side(self) -> tuple[str, NamespaceCheck]:
        """Return host:port, and the check of the namespace that is expected there."""


class QuickHdfs:
    """An `nncache.invalidation.filters.hdfs_calls.Hdfs` with the same answers and errors as WebHDFS."""

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
async def calls_over_rpc(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> AsyncIterator[NamespaceCalls]:
    """Yield a connection to the NameNode that last answered `hdfs`. Raises one of FAILURES."""
    address, check = await hdfs.rpc_side()
    calls = NamespaceCalls(address, user, check, timeout_s=timeout_s, identity=identity)
    try:
        await calls.confirm_namespace()
        yield calls
    finally:
        await calls.close()


@asynccontextmanager
async def quick(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> AsyncIterator[Hdfs]:
    """Yield an HDFS for many changes; `hdfs` itself if its RPC port is unknown or unreachable."""
    async with AsyncExitStack() as closing:
        found: Hdfs = hdfs
        with suppress(*FAILURES):
            calls = calls_over_rpc(hdfs, user, timeout_s=timeout_s, identity=identity)
            found = QuickHdfs(hdfs, await closing.enter_async_context(calls))
        yield found


def _as_over_http(call: Callable[_P, Awaitable[_T]]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Wrap a call so that the NameNode's exceptions are the same as over WebHDFS."""

    async def translated(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await call(*args, **kwargs)
        except RemoteCallError as exc:
            raise RemoteExceptionError(HTTPStatus.FORBIDDEN, exc.remote, call="a call over RPC") from exc

    return translated


class ReadBefore:
    """An `hdfs_calls.Hdfs` that answers the first call for a path from the data read ahead, if there is any."""

    def __init__(
        self,
        hdfs: Hdfs,
        listings: Mapping[str, tuple[FileStatus, ...]],
        attributes: Mapping[str, Mapping[str, bytes]],
    ) -> None:
        self._hdfs = hdfs
        self._listings = dict(listings)
        self._attributes = dict(attributes)
        self.status = hdfs.status
        self.read = hdfs.read
        self.mkdirs = hdfs.mkdirs
        self.create = hdfs.create
        self.set_xattr = hdfs.set_xattr
        self.set_owner = hdfs.set_owner
        self.rename_to = hdfs.rename_to
        self.delete = hdfs.delete

    async def list(self, path: str) -> tuple[FileStatus, ...]:
        """Return the statuses of a directory's children: as read ahead the first time, then as they are now."""
        found = self._listings.pop(path, None)
        return await self._hdfs.list(path) if found is None else found

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """Return the extended attributes of a path: as read ahead the first time, then as they are now."""
        found = self._attributes.pop(path, None)
        return await self._hdfs.xattrs(path) if found is None else found


def reading_ahead(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> ReadAhead:
    """Return a function that reads ahead, as this user, from the NameNode that last answered `hdfs`."""

    async def read_ahead(path: str, names: Sequence[str]) -> Hdfs:
        if len(names) < WORTH_IT:
            return hdfs
        listings: dict[str, tuple[FileStatus, ...]] = {}
        attributes: dict[str, Mapping[str, bytes]] = {}
        with suppress(*FAILURES):  # missing data is then requested over HTTP
            async with calls_over_rpc(hdfs, user, timeout_s=timeout_s, identity=identity) as reads:
                await _read(reads, [f"{path}/{name}" for name in names], listings, attributes)
        return ReadBefore(hdfs, listings, attributes)

    return read_ahead


async def _read(
    reads: NamespaceCalls,
    places: Sequence[str],
    listings: dict[str, tuple[FileStatus, ...]],
    attributes: dict[str, Mapping[str, bytes]],
) -> None:
    async def list_some(paths: Sequence[str]) -> None:
        listings.update(await reads.list_many(paths))

    async def ask_attributes(place: str) -> None:
        with suppress(RemoteCallError):  # it is gone: WebHDFS will report that again
            attributes[place] = await reads.xattrs(place)

    await each_bounded(_in_parts(places), list_some, at_once=AT_ONCE)
    by_place = {place: {each.path_suffix: each for each in listings.get(place, ())} for place in places}
    lists = [f"{place}/{SUBSCRIBERS}" for place, parts in by_place.items() if _has_children(parts)]
    await each_bounded(_in_parts(lists), list_some, at_once=AT_ONCE)
    defined = (place for place, parts in by_place.items() if SUBSCRIBERS in parts and DEFINITION not in parts)
    await each_bounded(defined, ask_attributes, at_once=AT_ONCE)


def _has_children(parts: Mapping[str, FileStatus]) -> bool:
    subscribers = parts.get(SUBSCRIBERS)
    return subscribers is not None and subscribers.type is FileType.DIRECTORY and subscribers.children_num > 0


def _in_parts(paths: Sequence[str]) -> list[Sequence[str]]:
    return [paths[start : start + MAX_DIRECTORIES] for start in range(0, len(paths), MAX_DIRECTORIES)]
