"""HDFS as one user, many calls at a time, over RPC where that is quicker.

Of changes those of the namespace alone go to the active NameNode over RPC, all the rest over WebHDFS. What many filters
consist of is read before each is looked at: WebHDFS needs up to three calls for each filter, over HTTP; here a hundred
directories take one call of RPC, and only the definitions one each. What could not be read ahead is asked as before.
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
"""Fewer filters are read without a connection of their own."""

AT_ONCE: Final = 32
"""Calls under way."""

ReadAhead: TypeAlias = Callable[[str, Sequence[str]], Awaitable[Hdfs]]
"""Gives HDFS with what the filters of these names, in this directory, consist of."""


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
async def calls_over_rpc(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> AsyncIterator[NamespaceCalls]:
    """Yield a connection to the NameNode that has answered `hdfs` last. Raises one of FAILURES."""
    address, check = await hdfs.rpc_side()
    calls = NamespaceCalls(address, user, check, timeout_s=timeout_s, identity=identity)
    try:
        await calls.connect()
        yield calls
    finally:
        await calls.close()


@asynccontextmanager
async def quick(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> AsyncIterator[Hdfs]:
    """Give an HDFS for many changes; the same one where its RPC port is not known, or not reached from here."""
    async with AsyncExitStack() as closing:
        found: Hdfs = hdfs
        with suppress(*FAILURES):
            calls = calls_over_rpc(hdfs, user, timeout_s=timeout_s, identity=identity)
            found = QuickHdfs(hdfs, await closing.enter_async_context(calls))
        yield found


def _as_over_http(call: Callable[_P, Awaitable[_T]]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Have an exception of the NameNode be what it is over WebHDFS."""

    async def translated(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await call(*args, **kwargs)
        except RemoteCallError as exc:
            raise RemoteExceptionError(HTTPStatus.FORBIDDEN, exc.remote, call="a call over RPC") from exc

    return translated


class ReadBefore:
    """`hdfs_calls.Hdfs`, whose first answer to a question is what was read ahead, where it was."""

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
        """Return the statuses of a directory's children, as read ahead the first time, then as they are now."""
        found = self._listings.pop(path, None)
        return await self._hdfs.list(path) if found is None else found

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """Return the extended attributes of a path, as read ahead the first time, then as they are now."""
        found = self._attributes.pop(path, None)
        return await self._hdfs.xattrs(path) if found is None else found


def reading_ahead(
    hdfs: HdfsWithRpc, user: str, *, timeout_s: float, identity: KerberosIdentity | None = None
) -> ReadAhead:
    """Return what reads ahead from the NameNode that has answered `hdfs` last, as this user."""

    async def read_ahead(path: str, names: Sequence[str]) -> Hdfs:
        if len(names) < WORTH_IT:
            return hdfs
        listings: dict[str, tuple[FileStatus, ...]] = {}
        attributes: dict[str, Mapping[str, bytes]] = {}
        with suppress(*FAILURES):  # whatever is missing then is asked over HTTP
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
        with suppress(RemoteCallError):  # of one that is gone: WebHDFS says so again
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
