"""What each operation makes of a namespace, and which events tell of it.

Each takes what there is, who asks, and the number of its first transaction; it gives a step for each transaction, or
raises `RefusedError`. Checks come in the NameNode's own order, since the first that fails names the error.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from nncache.hadoop.events import (
    Append,
    Close,
    Create,
    MetadataKind,
    MetadataUpdate,
    Rename,
    Truncate,
    Unlink,
)
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.paths import ROOT, name, parent
from tests.model.namespace import (
    ALL,
    FALSE,
    POLICIES,
    SUPERUSER,
    TRUE,
    WRITE,
    Inode,
    NameNodeReply,
    Namespace,
    RefusedError,
    Step,
    above,
    allows,
    denied,
    is_below,
    missing,
    no_directory,
    remote_exception,
    stopped,
)

Operation = Callable[[Namespace, int], list[Step]]
"""What is done to a namespace; the number is that of the first transaction."""


def mkdirs(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Make a directory and those above it that are missing: a transaction for each."""
    _come_to(before, user, path)
    inode = before.get(path)
    if inode is not None and inode.kind is FileType.FILE:
        raise RefusedError(remote_exception("org.apache.hadoop.fs.FileAlreadyExistsException", path))
    if inode is None:
        _may(before, user, WRITE, _ground(before, path))
    return _made(before, user, (*above(path), path), number)


def _made(
    before: Namespace, user: str, paths: tuple[str, ...], number: int, *, as_above: bool = False
) -> list[Step]:
    """Make those of the directories that are missing.

    Args:
        before: what there is.
        user: whose they become.
        paths: the directories, the topmost first.
        number: the first transaction's.
        as_above: their modes are those of the directory above them, and their owner may write
            (`FSDirMkdirOp.createAncestorDirectories`).
    """
    now, steps, mode = before, list[Step](), 0o755
    for each in paths:
        inode = now.get(each)
        if inode is not None:
            mode = inode.mode | 0o300 if as_above else mode
            continue
        mine = number + len(steps)
        now = _with(now, each, Inode(FileType.DIRECTORY, user, mode, mine, mine), mine)
        steps.append(Step(now, (Create(kind=FileType.DIRECTORY, path=each),)))
    return steps


def create(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Make a file, or replace one, and leave it open."""
    _come_to(before, user, path)
    _may(before, user, WRITE, _ground(before, path))
    if path in before:
        _no_directory(before, path)
        _may(before, user, WRITE, path)
    steps = _made(before, user, above(path), number, as_above=True)
    now = steps[-1].namespace if steps else before
    mine = number + len(steps)
    made = Inode(FileType.FILE, user, 0o644, mine, mine, replication=1, is_open=True)
    return [
        *steps,
        Step(_with(now, path, made, mine), (Create(kind=FileType.FILE, path=path, overwrite=True),)),
    ]


def append(before: Namespace, user: str, path: str, _number: int) -> list[Step]:
    """Open a file again; nothing shows in its status."""
    _come_to(before, user, path)
    _no_directory(before, path)
    inode = _writable(before, user, path)
    if inode.is_open:
        raise RefusedError(
            remote_exception("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", path)
        )
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
    inode = _writable_file(before, user, path)
    if inode.is_open:
        raise RefusedError(
            remote_exception("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", path)
        )
    if inode.length == 0:
        return []
    return [Step({**before, path: replace(inode, length=0, mtime=number)}, (Truncate(path, 0),))]


def delete(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Remove a path with all below it: one transaction. Every directory that is not empty has to be all theirs."""
    _come_to(before, user, path)
    _may_change_in(before, user, path)
    if path == ROOT or path not in before:
        return []
    for each, inode in sorted(before.items()):
        if inode.children and (each == path or is_below(each, path)):
            _may(before, user, ALL, each)
    return [Step(_without(before, path, number), (Unlink(path),))]


def rename(before: Namespace, user: str, source: str, destination: str, number: int) -> list[Step]:
    """Move a path with all below it; an existing directory takes it in under its own name (the old API)."""
    _come_to(before, user, source)
    _come_to(before, user, destination)
    target = before.get(destination)
    if target is not None and target.kind is FileType.DIRECTORY:
        destination = f"{destination.rstrip(ROOT)}/{name(source)}"
    _may_change_in(before, user, source)
    _come_to(before, user, destination)
    _may(before, user, WRITE, _ground(before, destination))
    if source not in before or source == ROOT or is_below(destination, source):
        return []
    if source == destination:
        return [Step(before, (Rename(source, destination),))]
    if destination in before or (parent(destination) or ROOT) not in before:
        return []
    now = dict(_without(before, source, number))
    now |= {
        destination + path.removeprefix(source): inode
        for path, inode in before.items()
        if path == source or is_below(path, source)
    }
    return [Step(_touched(now, destination, number, more=1), (Rename(source, destination),))]


def set_permission(before: Namespace, user: str, path: str, mode: int, _number: int) -> list[Step]:
    """Change a mode; the same again is nothing."""
    inode = _owned(before, user, path)
    if inode.mode == mode:
        return []
    return [Step({**before, path: replace(inode, mode=mode)}, (_metadata(path, MetadataKind.PERMS),))]


def set_owner(before: Namespace, user: str, path: str, owner: str, _number: int) -> list[Step]:
    """Give a path to somebody; only the superuser may."""
    inode = _owned(before, user, path)
    if inode.owner == owner:
        return []
    if user != SUPERUSER:
        raise RefusedError(_not_owned(user, path))
    return [Step({**before, path: replace(inode, owner=owner)}, (_metadata(path, MetadataKind.OWNER),))]


def set_times(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the time of modification."""
    inode = _writable(before, user, path)
    return [Step({**before, path: replace(inode, mtime=number)}, (_metadata(path, MetadataKind.TIMES),))]


def replication_of(number: int) -> int:
    """Return the replication that a transaction of this number sets."""
    return 1 + number % 9


def set_replication(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the replication of a file; of anything else it is left alone."""
    _come_to(before, user, path)
    inode = before.get(path)
    if inode is not None:
        _may(before, user, WRITE, path)
    if inode is None or inode.kind is FileType.DIRECTORY:
        return []
    changed = replace(inode, replication=replication_of(number))
    return [Step({**before, path: changed}, (_metadata(path, MetadataKind.REPLICATION),))]


def policy_of(number: int) -> str:
    """Return the name of the storage policy that a transaction of this number sets."""
    return tuple(POLICIES)[number % len(POLICIES)]


def set_storage_policy(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the storage policy of a path and of what is below it without one; no event tells."""
    inode = _writable(before, user, path)
    return [Step({**before, path: replace(inode, policy=POLICIES[policy_of(number)])}, ())]


_SAY_WHETHER: Final = {"DELETE", "RENAME", "SETREPLICATION"}


def reply(op: str, steps: Sequence[object]) -> NameNodeReply:
    """Return what WebHDFS says of an operation that was carried out in these steps, or in none."""
    return FALSE if op in _SAY_WHETHER and not steps else TRUE


def _metadata(path: str, kind: MetadataKind) -> MetadataUpdate:
    return MetadataUpdate(path=path, kind=kind)


# -- who may ---------------------------------------------------------------------------------------------------------


def _come_to(namespace: Namespace, user: str, path: str) -> None:
    """See that the user may get there."""
    refusal = stopped(namespace, user, path)
    if refusal is not None and refusal.status == 404:
        file = next(each for each in above(path) if namespace[each].kind is FileType.FILE)
        refusal = no_directory(file, "ParentNotDirectoryException")
    if refusal is not None:
        raise RefusedError(refusal)


def _ground(namespace: Namespace, path: str) -> str:
    """Return the nearest directory above a path that exists."""
    return next(each for each in reversed(above(path)) if each in namespace)


def _may(namespace: Namespace, user: str, access: int, path: str) -> None:
    """See that the user has those rights on what is there."""
    inode = namespace[path]
    if not allows(inode, user, access):
        raise RefusedError(denied(user, access, path, inode))


def _may_change_in(namespace: Namespace, user: str, path: str) -> None:
    """See that the user may change what is in the path's directory, if that exists."""
    directory = parent(path) or ROOT
    if directory in namespace:
        _may(namespace, user, WRITE, directory)


def _writable(namespace: Namespace, user: str, path: str) -> Inode:
    _come_to(namespace, user, path)
    if path not in namespace:
        raise RefusedError(missing(path))
    _may(namespace, user, WRITE, path)
    return namespace[path]


def _no_directory(namespace: Namespace, path: str) -> None:
    if path in namespace and namespace[path].kind is FileType.DIRECTORY:
        raise RefusedError(remote_exception("org.apache.hadoop.fs.FileAlreadyExistsException", path))


def _writable_file(namespace: Namespace, user: str, path: str) -> Inode:
    _writable(namespace, user, path)
    return _file(namespace, path)


def _owned(namespace: Namespace, user: str, path: str) -> Inode:
    _come_to(namespace, user, path)
    inode = namespace.get(path)
    if inode is None:
        raise RefusedError(missing(path))
    if user not in (SUPERUSER, inode.owner):
        raise RefusedError(_not_owned(user, path))
    return inode


def _not_owned(user: str, path: str) -> NameNodeReply:
    return remote_exception(
        "org.apache.hadoop.security.AccessControlException",
        f"Permission denied. user={user} is not the owner of inode={path}",
    )


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
