"""HDFS in memory, without permissions. Tests on it also run on a real HDFS, or are about a fault."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec.structs import replace

from nncache.hadoop.errors import MalformedReplyError, RemoteExceptionError
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.paths import ancestors, name, parent
from nncache.hadoop.remote_exception import RemoteException
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS, Filter
from nncache.invalidation.filters.hdfs_calls import Hdfs
from nncache.invalidation.filters.hdfs_store import FilterStore

_T = TypeVar("_T")

Fault = Callable[[str, str], Awaitable[None]]
"""A function that receives the name and path of a call, and may wait, raise, or change the files."""


async def nothing(call: str, path: str) -> None:
    """Raise nothing; only yield to the event loop."""
    await asyncio.sleep(0)


def refusal(exception: str, message: str = "no") -> RemoteExceptionError:
    """Return the error for an exception that a NameNode returns."""
    return RemoteExceptionError(403, RemoteException(exception, exception, message), call="a call")


def failing(failure: Exception, call: str, *paths: str) -> Fault:
    """Return a fault: this call fails for these paths, or for any path."""

    async def fail(made: str, path: str) -> None:
        if made == call and (not paths or path in paths):
            raise failure

    return fail


def status_of(
    owner: str = "hdfs", permission: str = "755", kind: FileType = FileType.DIRECTORY
) -> FileStatus:
    """Return the status of an empty file or directory."""
    return FileStatus(
        type=kind,
        path_suffix="",
        length=0,
        owner=owner,
        group="supergroup",
        permission=permission,
        access_time=0,
        modification_time=0,
        block_size=0,
        replication=0,
        file_id=0,
        children_num=0,
        storage_policy=0,
    )


@dataclass(slots=True)
class Node:
    """A file or a directory."""

    type: FileType
    file_id: int
    owner: str = "hdfs"
    permission: str = "755"
    data: bytes = b""
    attributes: dict[str, bytes] = field(default_factory=dict)
    modification_time: int = 0


@dataclass
class FakeHdfs:
    """A `nncache.invalidation.filters.hdfs_calls.Hdfs`; each call yields to the event loop."""

    before: Fault = nothing
    after: Fault = nothing  # an error after the call was carried out
    calls: list[tuple[str, str]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0

    user: str = "hdfs"  # the owner of new files and directories

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self.nodes = {"/": Node(FileType.DIRECTORY, 0)}

    def count(self, call: str) -> int:
        """Return the number of these calls."""
        return sum(made == call for made, _ in self.calls)

    def children(self, path: str) -> list[str]:
        """Return the paths of a directory's children."""
        return sorted(each for each in self.nodes if parent(each) == path)

    async def _call(self, call: str, path: str, act: Callable[[], _T]) -> _T:
        self.calls.append((call, path))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await self.before(call, path)
            result = act()
            await self.after(call, path)
        finally:
            self.under_way -= 1
        return result

    def _node(self, path: str) -> Node:
        if path not in self.nodes:
            raise refusal("FileNotFoundException", f"File does not exist: {path}")
        return self.nodes[path]

    def _status(self, path: str, suffix: str = "") -> FileStatus:
        node = self._node(path)
        found = status_of(node.owner, node.permission, node.type)
        return replace(
            found,
            path_suffix=suffix,
            length=len(node.data),
            modification_time=node.modification_time,
            file_id=node.file_id,
            children_num=len(self.children(path)),
        )

    async def status(self, path: str) -> FileStatus:
        """GETFILESTATUS."""
        return await self._call("status", path, lambda: self._status(path))

    async def list(self, path: str) -> tuple[FileStatus, ...]:
        """LISTSTATUS."""

        def act() -> tuple[FileStatus, ...]:
            if self._node(path).type is FileType.FILE:
                return (self._status(path),)
            return tuple(self._status(child, name(child)) for child in self.children(path))

        return await self._call("list", path, act)

    async def read(self, path: str) -> bytes:
        """OPEN."""
        return await self._call("read", path, lambda: self._node(path).data)

    async def mkdirs(self, path: str, permission: str = "755") -> bool:
        """MKDIRS."""

        def act() -> None:
            for each in (*reversed(ancestors(path)), path):
                self.nodes.setdefault(each, Node(FileType.DIRECTORY, next(self._ids), self.user))

        await self._call("mkdirs", path, act)
        return True

    async def create(self, path: str, data: bytes = b"", *, create_parent: bool = True) -> None:
        """CREATE, without overwriting."""

        def act() -> None:
            if path in self.nodes:
                raise refusal("FileAlreadyExistsException")
            above = parent(path)
            assert above is not None
            assert create_parent is False
            self._node(above)
            self.nodes[path] = Node(FileType.FILE, next(self._ids), self.user, data=data)

        await self._call("create", path, act)

    async def set_owner(self, path: str, owner: str | None = None, group: str | None = None) -> None:
        """SETOWNER."""

        def act() -> None:
            assert owner is not None
            self._node(path).owner = owner

        await self._call("set_owner", path, act)

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """GETXATTRS."""
        return await self._call("xattrs", path, lambda: dict(self._node(path).attributes))

    async def set_xattr(self, path: str, name: str, value: bytes) -> None:
        """SETXATTR."""
        await self._call("set_xattr", path, lambda: self._node(path).attributes.update({name: value}))

    async def rename_to(self, source: str, destination: str) -> None:
        """RENAME with an option."""

        def act() -> None:
            self._node(source)
            self._node(parent(destination) or "/")
            if destination in self.nodes:
                raise refusal("FileAlreadyExistsException")
            for path in [path for path in self.nodes if path == source or path.startswith(source + "/")]:
                self.nodes[destination + path.removeprefix(source)] = self.nodes.pop(path)

        await self._call("rename_to", source, act)

    async def delete(self, path: str, *, recursive: bool = False) -> bool:
        """DELETE."""

        def act() -> bool:
            gone = [each for each in self.nodes if each == path or each.startswith(path + "/")]
            for each in gone:
                del self.nodes[each]
            return bool(gone)

        return await self._call("delete", path, act)


class Naming(FakeHdfs):
    """HDFS that reports an RPC port and its namespace, or no port if `address` is empty."""

    def __init__(self, address: str, namespace: Namespace) -> None:
        super().__init__()
        self._address, self._namespace = address, namespace

    async def rpc_side(self) -> tuple[str, NamespaceCheck]:
        """Return the RPC address, and the check of its namespace."""
        if not self._address:
            raise MalformedReplyError("no such bean")
        check = NamespaceCheck("nn:9870", self._address)
        check.note_over_http(self._namespace)
        return self._address, check


@dataclass(frozen=True, slots=True)
class Place:
    """An HDFS and a path in it."""

    hdfs: Hdfs
    path: str

    @property
    def store(self) -> FilterStore:
        """A new store, without a memory of earlier readings."""
        return FilterStore(self.hdfs, self.path)

    async def add(self, *names: str) -> None:
        """Add filters owned by joe."""
        for each in names:
            await self.store.add(Filter(each, f"/user/joe/{each}", "joe"))

    async def put(
        self, name: str, definition: bytes | None, *, owner: str | None = "joe", users: tuple[str, ...] = ()
    ) -> None:
        """Create a filter's directory by hand; None omits a part."""
        await self.hdfs.mkdirs(f"{self.path}/{name}")
        if definition is not None:
            await self.hdfs.create(f"{self.path}/{name}/{DEFINITION}", definition, create_parent=False)
        if owner is not None:
            await self.hdfs.mkdirs(f"{self.path}/{name}/{SUBSCRIBERS}")
            for user in users:
                await self.hdfs.create(f"{self.path}/{name}/{SUBSCRIBERS}/{user}", create_parent=False)
            await self.hdfs.set_owner(f"{self.path}/{name}/{SUBSCRIBERS}", owner=owner)

    async def names(self) -> list[str]:
        """Return all names in the directory, including drafts."""
        return sorted(status.path_suffix for status in await self.hdfs.list(self.path))
