"""The effects of each operation on a namespace, and the events that report them.

Each function takes namespace, user and first transaction number, and returns one step per transaction or raises
`RefusedError`. Checks run in the NameNode's order: the first that fails sets the error.
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
"""A change of a namespace; the number is that of its first transaction."""


def mkdirs(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Create a directory and its missing ancestors: one transaction each."""
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
    """Create those of the directories that are missing.

    Args:
        before: the namespace.
        user: their owner.
        paths: the directories, topmost first.
        number: of the first transaction.
        as_above: they inherit the mode of their parent, with write and execute for the owner
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
    """Create or overwrite a file and leave it open."""
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
    """Reopen a file; its status does not change."""
    _come_to(before, user, path)
    _no_directory(before, path)
    inode = _writable(before, user, path)
    if inode.is_open:
        raise RefusedError(
            remote_exception("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", path)
        )
    return [Step({**before, path: replace(inode, is_open=True)}, (Append(path),))]


def flush(before: Namespace, _user: str, path: str, _number: int) -> list[Step]:
    """Write to an open file: its length grows, and no event reports it."""
    inode = _file(before, path)
    if not inode.is_open:
        return []
    return [Step({**before, path: replace(inode, length=inode.length + 1)}, ())]


def close(before: Namespace, _user: str, path: str, number: int) -> list[Step]:
    """Close a file."""
    inode = _file(before, path)
    if not inode.is_open:
        return []
    closed = replace(inode, is_open=False, length=inode.length + 1, mtime=number)
    return [Step({**before, path: closed}, (Close(path, closed.length),))]


def truncate(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Truncate a file to length 0, which is a block boundary."""
    inode = _writable_file(before, user, path)
    if inode.is_open:
        raise RefusedError(
            remote_exception("org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException", path)
        )
    if inode.length == 0:
        return []
    return [Step({**before, path: replace(inode, length=0, mtime=number)}, (Truncate(path, 0),))]


def delete(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Delete a subtree in one transaction; the user needs all rights on each directory that is not empty."""
    _come_to(before, user, path)
    _may_change_in(before, user, path)
    if path == ROOT or path not in before:
        return []
    for each, inode in sorted(before.items()):
        if inode.children and (each == path or is_below(each, path)):
            _may(before, user, ALL, each)
    return [Step(_without(before, path, number), (Unlink(path),))]


def rename(before: Namespace, user: str, source: str, destination: str, number: int) -> list[Step]:
    """Rename a subtree; an existing directory receives it under its own name (the old API)."""
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
    """Change a mode; an equal mode logs nothing."""
    inode = _owned(before, user, path)
    if inode.mode == mode:
        return []
    return [Step({**before, path: replace(inode, mode=mode)}, (_metadata(path, MetadataKind.PERMS),))]


def set_owner(before: Namespace, user: str, path: str, owner: str, _number: int) -> list[Step]:
    """Change an owner; only the superuser may."""
    inode = _owned(before, user, path)
    if inode.owner == owner:
        return []
    if user != SUPERUSER:
        raise RefusedError(_not_owned(user, path))
    return [Step({**before, path: replace(inode, owner=owner)}, (_metadata(path, MetadataKind.OWNER),))]


def set_times(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the modification time."""
    inode = _writable(before, user, path)
    return [Step({**before, path: replace(inode, mtime=number)}, (_metadata(path, MetadataKind.TIMES),))]


def replication_of(number: int) -> int:
    """Return the replication that a transaction of this number sets."""
    return 1 + number % 9


def set_replication(before: Namespace, user: str, path: str, number: int) -> list[Step]:
    """Set the replication of a file; return no step for any other path."""
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
    """Set the storage policy of a path and of descendants without their own; no event reports it."""
    inode = _writable(before, user, path)
    return [Step({**before, path: replace(inode, policy=POLICIES[policy_of(number)])}, ())]


_SAY_WHETHER: Final = {"DELETE", "RENAME", "SETREPLICATION"}


def reply(op: str, steps: Sequence[object]) -> NameNodeReply:
    """Return the reply of WebHDFS to an operation that logged these steps, or none."""
    return FALSE if op in _SAY_WHETHER and not steps else TRUE


def _metadata(path: str, kind: MetadataKind) -> MetadataUpdate:
    return MetadataUpdate(path=path, kind=kind)


# -- permission checks -------------------------------------------------------------------------------------


def _come_to(namespace: Namespace, user: str, path: str) -> None:
    """Check that the user may traverse to the path."""
    refusal = stopped(namespace, user, path)
    if refusal is not None and refusal.status == 404:
        file = next(each for each in above(path) if namespace[each].kind is FileType.FILE)
        refusal = no_directory(file, "ParentNotDirectoryException")
    if refusal is not None:
        raise RefusedError(refusal)


def _ground(namespace: Namespace, path: str) -> str:
    """Return the nearest existing ancestor of a path."""
    return next(each for each in reversed(above(path)) if each in namespace)


def _may(namespace: Namespace, user: str, access: int, path: str) -> None:
    """Check that the user has these rights on an existing path."""
    inode = namespace[path]
    if not allows(inode, user, access):
        raise RefusedError(denied(user, access, path, inode))


def _may_change_in(namespace: Namespace, user: str, path: str) -> None:
    """Check that the user may write to the path's parent directory, if it exists."""
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
    """Update the parent directory after a child was created, deleted or replaced."""
    directory = parent(path) or ROOT
    inode = before[directory]
    return {**before, directory: replace(inode, mtime=number, children=inode.children + more)}
