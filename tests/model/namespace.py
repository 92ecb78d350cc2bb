"""A namespace as a value, with the steps, rights and statuses that operations need.

Small and pure. Source: the measured tables of Hadoop 3.4.1 and 3.5.0 (operation -> transactions, events, statuses);
`tests/contracts/test_model_namespace.py` compares it with a real NameNode. It has no ACLs, snapshots or symlinks. The
superuser may do everything; other users differ by name alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from nncache.hadoop.events import Event
from nncache.hadoop.filestatus import FileType, render_missing
from nncache.hadoop.paths import ROOT, parent

SUPERUSER: Final = "hdfs"
_BLOCK: Final = 128

ALL: Final = 0o7
WRITE: Final = 0o2
EXECUTE: Final = 0o1
_ACCESS: Final = {ALL: "ALL", WRITE: "WRITE", EXECUTE: "EXECUTE"}
"""Rights by their bits, with their names in FsAction."""


@dataclass(frozen=True, slots=True)
class Inode:
    """A file or directory. `children` is the number of a directory's children; times are transaction numbers.

    `policy` is 0 if the path inherits the storage policy of its parent.
    """

    kind: FileType
    owner: str
    mode: int
    number: int
    mtime: int
    children: int = 0
    length: int = 0
    replication: int = 0  # 0 for a directory
    policy: int = 0
    is_open: bool = False


POLICIES: Final = {"HOT": 7, "WARM": 5, "ONE_SSD": 10, "ALL_SSD": 12}
"""The ids of storage policies in a status, by name (HdfsConstants.StoragePolicy).

Files can be written with each of these where all storage is disk.
"""

Namespace = Mapping[str, Inode]
"""All inodes by path; never changed in place."""

EMPTY: Final[Namespace] = {ROOT: Inode(FileType.DIRECTORY, SUPERUSER, 0o755, 16385, 0)}


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction: the namespace after it, and the events that report it."""

    namespace: Namespace
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class NameNodeReply:
    """A reply of WebHDFS."""

    status: int
    body: bytes


TRUE: Final = NameNodeReply(200, b'{"boolean":true}')
FALSE: Final = NameNodeReply(200, b'{"boolean":false}')


class RefusedError(Exception):
    """The NameNode refused an operation and changed nothing."""

    def __init__(self, answer: NameNodeReply) -> None:
        super().__init__(answer)
        self.answer = answer


@lru_cache(4096)
def above(path: str) -> tuple[str, ...]:
    """Return the ancestors of a path, the root first."""
    found: list[str] = []
    while (path := parent(path) or "") != "":
        found.append(path)
    return tuple(reversed(found))


@lru_cache(4096)
def is_below(path: str, top: str) -> bool:
    """Whether a path lies below another one."""
    return top in above(path)


def allows(inode: Inode, user: str, access: int) -> bool:
    """Whether a user has these rights as the owner or as others; no user belongs to the file's group."""
    rights = inode.mode >> 6 if inode.owner == user else inode.mode
    return user == SUPERUSER or rights & access == access


# -- replies -----------------------------------------------------------------------------------------------


def status_of(namespace: Namespace, user: str, path: str) -> NameNodeReply:
    """Return the reply to GETFILESTATUS: it needs execute on each ancestor only (FSPermissionChecker)."""
    refusal = stopped(namespace, user, path)
    if refusal is not None:
        return refusal
    inode = namespace.get(path)
    return missing(path) if inode is None else _status(inode, _policy(namespace, path))


def stopped(namespace: Namespace, user: str, path: str) -> NameNodeReply | None:
    """Return the refusal for a user who cannot traverse to the path; None if they can or it is missing."""
    for each in above(path):
        inode = namespace.get(each)
        if inode is None:
            return None
        if inode.kind is FileType.FILE:
            return missing(path) if user == SUPERUSER else no_directory(each, "AccessControlException")
        if not allows(inode, user, EXECUTE):
            return denied(user, EXECUTE, each, inode)
    return None


def _policy(namespace: Namespace, path: str) -> int:
    """Return the storage policy of a path: its own, or that of the nearest ancestor with one."""
    return namespace[path].policy or next(
        (namespace[each].policy for each in reversed(above(path)) if namespace[each].policy), 0
    )


@lru_cache(4096)
def missing(path: str) -> NameNodeReply:
    """Return the 404 for a path."""
    return NameNodeReply(404, render_missing(path))


@lru_cache(4096)
def denied(user: str, access: int, path: str, inode: Inode) -> NameNodeReply:
    """Return the 403 for missing rights; its message quotes owner and mode."""
    return remote_exception(
        "org.apache.hadoop.security.AccessControlException",
        f"Permission denied: user={user}, access={_ACCESS[access]}, "
        f'inode=\\"{path}\\":{inode.owner}:{inode.mode:o}',
    )


@lru_cache(4096)
def no_directory(path: str, simple: str) -> NameNodeReply:
    """Return the 403 for a path through a file."""
    package = "org.apache.hadoop.security" if simple == "AccessControlException" else "org.apache.hadoop.fs"
    return remote_exception(f"{package}.{simple}", f"{path} (is not a directory)")


def remote_exception(java_class: str, message: str, status: int = 403) -> NameNodeReply:
    """Return a RemoteException as a reply."""
    simple = java_class.rpartition(".")[2]
    body = f'{{"RemoteException":{{"exception":"{simple}","javaClassName":"{java_class}","message":"{message}"}}}}'
    return NameNodeReply(status, body.encode())


@lru_cache(4096)
def _status(inode: Inode, policy: int) -> NameNodeReply:
    body = (
        f'{{"FileStatus":{{"accessTime":0,"blockSize":{_BLOCK},"childrenNum":{inode.children},'
        f'"fileId":{inode.number},"group":"users","length":{inode.length},"modificationTime":{inode.mtime},'
        f'"owner":"{inode.owner}","pathSuffix":"","permission":"{inode.mode:o}",'
        f'"replication":{inode.replication},"storagePolicy":{policy},"type":"{inode.kind.value}"}}}}'
    )
    return NameNodeReply(200, body.encode())


def is_open(namespace: Namespace, path: str) -> bool:
    """Whether a file is open for writing."""
    return path in namespace and namespace[path].is_open
