"""A namespace as a value: what each operation makes of it, which events tell of it, and what GETFILESTATUS says of it.

Small and pure. Source: the measured tables of Hadoop 3.4.1 and 3.5.0 (operation -> transactions, events, statuses);
`tests/contracts/test_model_namespace.py` holds it against a real NameNode. Without ACLs, snapshots and symlinks.
The superuser may do everything; other users are told apart by name alone.
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
"""Rights by their bits, and how FsAction calls them."""


@dataclass(frozen=True, slots=True)
class Inode:
    """What is known of a path. A directory's `children` is their number; times are the number of a transaction.

    Its `policy` is 0 where it has that of the directory above it.
    """

    kind: FileType
    owner: str
    mode: int
    number: int
    mtime: int
    children: int = 0
    length: int = 0
    replication: int = 0  # a directory's
    policy: int = 0
    is_open: bool = False


POLICIES: Final = {"HOT": 7, "WARM": 5, "ONE_SSD": 10, "ALL_SSD": 12}
"""Storage policies by name (HdfsConstants.StoragePolicy): the number that a status gives.

Those with which a file can be written where there are disks only.
"""

Namespace = Mapping[str, Inode]
"""All that exists, by path; never changed in place."""

EMPTY: Final[Namespace] = {ROOT: Inode(FileType.DIRECTORY, SUPERUSER, 0o755, 16385, 0)}


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction: what there is after it, and the events that tell of it."""

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
    """The NameNode says no, and nothing was changed."""

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
    """Whether owner or others have those rights; everybody's group is another one."""
    rights = inode.mode >> 6 if inode.owner == user else inode.mode
    return user == SUPERUSER or rights & access == access


# -- what it says ------------------------------------------------------------------------------------------------------


def status_of(namespace: Namespace, user: str, path: str) -> NameNodeReply:
    """Answer GETFILESTATUS: execute on every ancestor, nothing on the path itself (FSPermissionChecker)."""
    refusal = stopped(namespace, user, path)
    if refusal is not None:
        return refusal
    inode = namespace.get(path)
    return missing(path) if inode is None else _status(inode, _policy(namespace, path))


def stopped(namespace: Namespace, user: str, path: str) -> NameNodeReply | None:
    """Return what a user is told who does not get as far as to that path; below a file is nothing."""
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
    """Return the storage policy of what is there, or of the nearest directory above it that has one."""
    return namespace[path].policy or next(
        (namespace[each].policy for each in reversed(above(path)) if namespace[each].policy), 0
    )


@lru_cache(4096)
def missing(path: str) -> NameNodeReply:
    """Say that a path does not exist."""
    return NameNodeReply(404, render_missing(path))


@lru_cache(4096)
def denied(user: str, access: int, path: str, inode: Inode) -> NameNodeReply:
    """Refuse; the words quote owner and mode."""
    return remote_exception(
        "org.apache.hadoop.security.AccessControlException",
        f"Permission denied: user={user}, access={_ACCESS[access]}, "
        f'inode=\\"{path}\\":{inode.owner}:{inode.mode:o}',
    )


@lru_cache(4096)
def no_directory(path: str, simple: str) -> NameNodeReply:
    """Refuse what goes through a file."""
    package = "org.apache.hadoop.security" if simple == "AccessControlException" else "org.apache.hadoop.fs"
    return remote_exception(f"{package}.{simple}", f"{path} (is not a directory)")


def remote_exception(java_class: str, message: str, status: int = 403) -> NameNodeReply:
    """Render a RemoteException."""
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
    """Whether somebody writes that file."""
    return path in namespace and namespace[path].is_open
