"""A namespace as a value: what each operation makes of it, which events tell of it, and what GETFILESTATUS says of it.

Small and pure. Source: the measured tables of Hadoop 3.4.1 and 3.5.0 (operation -> transactions, events, statuses).
Without ACLs, snapshots and symlinks. The superuser may do everything; other users are told apart by name alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from hadoop.events import (
    Append,
    Close,
    Create,
    Event,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
)
from hadoop.filestatus import FileType, render_missing
from hadoop.paths import ROOT, name, parent

SUPERUSER: Final = "hdfs"
_BLOCK: Final = 128


@dataclass(frozen=True, slots=True)
class Inode:
    """What is known of a path. A directory's `children` is their number; times are the number of a transaction."""

    kind: FileType
    owner: str
    mode: int
    number: int
    mtime: int
    children: int = 0
    length: int = 0
    replication: int = 1
    policy: int = 0
    is_open: bool = False


Namespace = Mapping[str, Inode]
"""All that exists, by path; never changed in place."""

EMPTY: Final[Namespace] = {ROOT: Inode(FileType.DIRECTORY, SUPERUSER, 0o755, 16385, 0)}


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction: what there is after it, and the events that tell of it."""

    namespace: Namespace
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply of WebHDFS."""

    status: int
    body: bytes


class RefusedError(Exception):
    """The NameNode says no, and nothing was changed."""

    def __init__(self, answer: Answer) -> None:
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


# -- what it says ------------------------------------------------------------------------------------------------------


def status_of(namespace: Namespace, user: str, path: str) -> Answer:
    """Answer GETFILESTATUS: execute on every ancestor, nothing on the path itself (FSPermissionChecker)."""
    for each in above(path):
        inode = namespace.get(each)
        if inode is None:
            return missing(path)
        if not may_traverse(inode, user):
            return denied(user, each, inode)
    inode = namespace.get(path)
    return missing(path) if inode is None else _status(inode)


def may_traverse(inode: Inode, user: str) -> bool:
    """Whether the user may pass through; a file can be passed through by nobody but the superuser."""
    if user == SUPERUSER:
        return True
    return inode.kind is FileType.DIRECTORY and allows(inode, user, 0o1)


def may_reach(namespace: Namespace, user: str, directory: str) -> bool:
    """Whether the user is told the truth of what is in a directory, whether it exists or not."""
    return status_of(namespace, user, f"{directory.rstrip(ROOT)}/0").status != 403


@lru_cache(4096)
def missing(path: str) -> Answer:
    """Say that a path does not exist."""
    return Answer(404, render_missing(path))


@lru_cache(4096)
def denied(user: str, path: str, inode: Inode) -> Answer:
    """Refuse; the words quote owner and mode."""
    return remote_exception(
        "org.apache.hadoop.security.AccessControlException",
        f"Permission denied: user={user}, access=EXECUTE, inode={path}:{inode.owner}:{inode.mode:o}",
    )


def remote_exception(java_class: str, message: str, status: int = 403) -> Answer:
    """Render a RemoteException."""
    simple = java_class.rpartition(".")[2]
    body = f'{{"RemoteException":{{"exception":"{simple}","javaClassName":"{java_class}","message":"{message}"}}}}'
    return Answer(status, body.encode())


@lru_cache(4096)
def _status(inode: Inode) -> Answer:
    body = (
        f'{{"FileStatus":{{"accessTime":0,"blockSize":{_BLOCK},"childrenNum":{inode.children},'
        f'"fileId":{inode.number},"group":"users","length":{inode.length},"modificationTime":{inode.mtime},'
        f'"owner":"{inode.owner}","pathSuffix":"","permission":"{inode.mode:o}",'
        f'"replication":{inode.replication},"storagePolicy":{inode.policy},"type":"{inode.kind.value}"}}}}'
    )
    return Answer(200, body.encode())


# -- what is done to it ------------------------------------------------------------------------------------------------


def mkdirs(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Make a directory and those above it that are missing: a transaction for each."""
    _see(before, user, path)
    steps: list[Step] = []
    now = before
    for each in (*above(path)[1:], path):
        inode = now.get(each)
        if inode is None:
            _may_write(now, user, each)
            made = Inode(FileType.DIRECTORY, user, 0o755, number + len(steps), number + len(steps))
            now = _with(now, each, made, number + len(steps))
            steps.append(Step(now, (Create(kind=FileType.DIRECTORY, path=each),)))
        elif inode.kind is not FileType.DIRECTORY:
            raise RefusedError(remote_exception("org.apache.hadoop.fs.ParentNotDirectoryException", each))
    return steps


def create(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Make a file, or replace one, and leave it open."""
    _see(before, user, path)
    steps = mkdirs(before, user, parent(path) or ROOT, number)
    now = steps[-1].namespace if steps else before
    _may_write(now, user, path)
    old = now.get(path)
    if old is not None and old.kind is FileType.DIRECTORY:
        raise RefusedError(remote_exception("org.apache.hadoop.fs.FileAlreadyExistsException", path))
    if old is not None and not allows(old, user, 0o2):
        raise RefusedError(denied(user, path, old))
    mine = number + len(steps)
    made = Inode(FileType.FILE, user, 0o644, mine, mine, is_open=True)
    return [
        *steps,
        Step(_with(now, path, made, mine), (Create(kind=FileType.FILE, path=path, overwrite=True),)),
    ]


def append(before: Namespace, user: str, path: str, _number: int) -> list[Step]:
    """Open a file again; nothing shows in its status."""
    _see(before, user, path)
    inode = _file(before, path)
    if not allows(inode, user, 0o2):
        raise RefusedError(denied(user, path, inode))
    if inode.is_open:
        raise RefusedError(remote_exception("org.apache.hadoop.hdfs.protocol.RecoveryInProgress", path))
    return [Step({**before, path: replace(inode, is_open=True)}, (Append(path),))]


def flush(before: Namespace, _user: str, path: str, _number: int) -> list[Step]:
    """Write to an open file: its length grows, and no event tells."""
    inode = _file(before, path)
    if not inode.is_open:
        return []
    return [Step({**before, path: replace(inode, length=inode.length + 1)}, ())]


def close(before: Namespace, _user: str, path: str, number: int) -> list[Step]:
    """Complete a file."""
    inode = _file(before, path)
    if not inode.is_open:
        return []
    closed = replace(inode, is_open=False, length=inode.length + 1, mtime=number)
    return [Step({**before, path: closed}, (Close(path, closed.length),))]


def truncate(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Cut a file to nothing, on a block's boundary."""
    _see(before, user, path)
    inode = _file(before, path)
    if inode.is_open or inode.length == 0:
        return []
    return [Step({**before, path: replace(inode, length=0, mtime=number)}, (Truncate(path, 0),))]


def delete(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Remove a path with all below it: one transaction."""
    _see(before, user, path)
    if path == ROOT or path not in before:
        return []
    _may_write(before, user, path)
    return [Step(_without(before, path, number), (Unlink(path),))]


def rename(before: Namespace, user: str, source: str, destination: str, number: int) -> list[Step]:
    """Move a path with all below it; an existing directory takes it in under its own name (the old API)."""
    _see(before, user, source)
    _see(before, user, destination)
    target = before.get(destination)
    if target is not None and target.kind is FileType.DIRECTORY:
        destination = f"{destination.rstrip(ROOT)}/{name(source)}"
    if source not in before or source == ROOT or is_below(destination, source):
        return []
    if source == destination:
        return [Step(before, (Rename(source, destination),))]
    if destination in before or (parent(destination) or ROOT) not in before:
        return []
    _may_write(before, user, source)
    _may_write(before, user, destination)
    now = dict(_without(before, source, number))
    now |= {
        destination + path.removeprefix(source): inode
        for path, inode in before.items()
        if path == source or is_below(path, source)
    }
    return [Step(_touched(now, destination, number, more=1), (Rename(source, destination),))]


def set_permission(before: Namespace, user: str, path: str, mode: int) -> list[Step]:
    """Change a mode; the same again is nothing."""
    inode = _owned(before, user, path)
    if inode.mode == mode:
        return []
    return [Step({**before, path: replace(inode, mode=mode)}, (_metadata(path, MetadataKind.PERMS),))]


def set_owner(before: Namespace, user: str, path: str, owner: str) -> list[Step]:
    """Give a path to somebody; only the superuser may."""
    inode = _owned(before, user, path)
    if inode.owner == owner:
        return []
    if user != SUPERUSER:
        raise RefusedError(denied(user, path, inode))
    return [Step({**before, path: replace(inode, owner=owner)}, (_metadata(path, MetadataKind.OWNER),))]


def set_times(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the time of modification."""
    inode = _owned(before, user, path)
    return [Step({**before, path: replace(inode, mtime=number)}, (_metadata(path, MetadataKind.TIMES),))]


def set_replication(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the replication of a file."""
    inode = _owned(before, user, path)
    if inode.kind is FileType.DIRECTORY:
        return []
    changed = replace(inode, replication=1 + number % 9)
    return [Step({**before, path: changed}, (_metadata(path, MetadataKind.REPLICATION),))]


def set_storage_policy(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the storage policy of a path and of all below it; no event tells."""
    _owned(before, user, path)
    policy = 1 + number % 9
    return [
        Step(
            {
                each: replace(inode, policy=policy) if each == path or is_below(each, path) else inode
                for each, inode in before.items()
            },
            (),
        )
    ]


def _metadata(path: str, kind: MetadataKind) -> MetadataUpdate:
    return MetadataUpdate(path=path, kind=kind)


def allows(inode: Inode, user: str, bit: int) -> bool:
    """Whether owner or others have that right; everybody's group is another one."""
    return user == SUPERUSER or bool(inode.mode & (bit << 6 if inode.owner == user else bit))


def _see(namespace: Namespace, user: str, path: str) -> None:
    """See that the user may get there."""
    answer = status_of(namespace, user, path)
    if answer.status == 403:
        raise RefusedError(answer)


def _may_write(namespace: Namespace, user: str, path: str) -> None:
    """See that the user may change what is in the path's directory."""
    directory = parent(path) or ROOT
    inode = namespace[directory]
    if inode.kind is not FileType.DIRECTORY or not allows(inode, user, 0o2):
        raise RefusedError(denied(user, directory, inode))


def _owned(namespace: Namespace, user: str, path: str) -> Inode:
    _see(namespace, user, path)
    inode = namespace.get(path)
    if inode is None:
        raise RefusedError(missing(path))
    if user not in (SUPERUSER, inode.owner):
        raise RefusedError(denied(user, path, inode))
    return inode


def _file(namespace: Namespace, path: str) -> Inode:
    inode = namespace.get(path)
    if inode is None or inode.kind is not FileType.FILE:
        raise RefusedError(missing(path))
    return inode


def _with(before: Namespace, path: str, inode: Inode, number: int) -> Namespace:
    return {**_touched(before, path, number, more=path not in before), path: inode}


def _without(before: Namespace, path: str, number: int) -> Namespace:
    left = {each: inode for each, inode in before.items() if each != path and not is_below(each, path)}
    return _touched(left, path, number, more=-1)


def _touched(before: Namespace, path: str, number: int, *, more: int) -> Namespace:
    """The directory of a path shows that something in it came, went or was replaced."""
    directory = parent(path) or ROOT
    inode = before[directory]
    return {**before, directory: replace(inode, mtime=number, children=inode.children + more)}
