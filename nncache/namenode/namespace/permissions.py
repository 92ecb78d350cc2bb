"""Permission checks.

Source: org.apache.hadoop.hdfs.server.namenode.FSPermissionChecker of Hadoop 3.5.0, in its order of checks.
"""

from dataclasses import dataclass
from typing import Final

from nncache.namenode.namespace.inode import Inode
from nncache.namenode.namespace.refusal import Java, Refusal, denied, not_found
from nncache.namenode.namespace.view import Chain, DirectoryTree, View

READ: Final = 4
WRITE: Final = 2
EXECUTE: Final = 1
ALL: Final = 7

ACTIONS: Final = (
    "NONE", "EXECUTE", "WRITE", "WRITE_EXECUTE", "READ", "READ_EXECUTE", "READ_WRITE", "ALL",
)  # fmt: skip
"""FsAction's names, indexed by their bits."""

STICKY: Final = 0o1000


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who calls an operation."""

    user: str
    groups: frozenset[str]
    is_superuser: bool


def symbol(mode: int) -> str:
    """Return a mode as `ls` shows it: rwxr-xr-t."""
    bits = "".join(letter if mode >> (8 - at) & 1 else "-" for at, letter in enumerate("rwxrwxrwx"))
    return bits[:-1] + ("t" if mode & EXECUTE else "T") if mode & STICKY else bits


def check_traverse(caller: Caller, chain: Chain, *, creates: bool = False) -> None:
    """Check that the caller may traverse all ancestors of the path, and that they are directories.

    Raises:
        Refusal: AccessControlException; below a file, ParentNotDirectoryException if `creates`.
    """
    for index, node in enumerate(chain.ancestors()):
        if not node.inode.is_directory:
            message = f"{chain.path_of(index)} (is not a directory)"
            raise Refusal(Java.PARENT_NOT_DIRECTORY, message) if creates else denied(message)
        if not caller.is_superuser:
            _check(caller, chain, index, EXECUTE)


def reached(view: View, caller: Caller) -> Chain:
    """Return the view's only path, if the caller may traverse to it. Raises as `check_traverse` does."""
    (chain,) = view.chains
    check_traverse(caller, chain)
    return chain


def check_owner(caller: Caller, chain: Chain) -> None:
    """Check that the path exists and that the caller owns it."""
    if chain.last is None:
        raise not_found(f"Directory/File does not exist {chain.path}")
    if not caller.is_superuser and chain.last.inode.owner != caller.user:
        raise denied(f"Permission denied. user={caller.user} is not the owner of inode={chain.path}")


def check_superuser(caller: Caller, operation: str) -> None:
    """Check that the caller is the superuser; `operation` is the NameNode's name of the call."""
    if not caller.is_superuser:
        raise denied(
            f"Access denied for user {caller.user}. Superuser privilege is required for operation {operation}"
        )


def check_access(caller: Caller, chain: Chain, access: int) -> None:
    """Check that the caller has these permissions on the path's inode; a missing one passes."""
    if not caller.is_superuser and chain.last is not None:
        _check(caller, chain, len(chain.names), access)


def check_ancestor(caller: Caller, chain: Chain) -> None:
    """Check that the caller may write in the nearest existing ancestor."""
    if not caller.is_superuser and chain.names:
        _check(caller, chain, min(len(chain.names), len(chain.nodes)) - 1, WRITE)


def check_parent(caller: Caller, chain: Chain) -> None:
    """Check that the caller may write in the parent, and that its sticky bit allows a removal."""
    if caller.is_superuser or not chain.names or chain.parent is None:
        return
    above, last = len(chain.names) - 1, chain.last
    if last is not None and _is_stuck(caller, chain.parent.inode, last.inode):
        raise _sticky(caller, chain.path, last.inode, chain.path_of(above), chain.parent.inode)
    _check(caller, chain, above, WRITE)


def check_below(caller: Caller, path: str, tree: DirectoryTree, access: int, *, ignore_empty: bool) -> None:
    """Check that the caller has these permissions on all directories of a tree, whose sticky bits allow removals."""
    if caller.is_superuser or not tree.top.inode.is_directory:
        return
    waiting = [(path, tree)]
    while waiting:
        at, each = waiting.pop()
        inode = each.top.inode
        if each.below or not ignore_empty:
            if not may(caller, inode, access):
                raise _denied(caller, inode, at, access)
            for child in each.below:
                if _is_stuck(caller, inode, child.top.inode):
                    name = _join(at, child.top.inode.name)
                    raise _sticky(caller, name, child.top.inode, at, tree.top.inode)
        waiting += [
            (_join(at, child.top.inode.name), child) for child in each.below if child.top.inode.is_directory
        ]


def check_each(caller: Caller, path: str, tree: DirectoryTree, access: int) -> None:
    """Check that the caller has these permissions on all directories of a tree, parents first."""
    waiting = [] if caller.is_superuser else [(path, tree)]
    while waiting:
        at, each = waiting.pop()
        inode = each.top.inode
        if inode.is_directory and not may(caller, inode, access):
            raise _denied(caller, inode, at, access)
        waiting += [(_join(at, child.top.inode.name), child) for child in reversed(each.below)]


def may(caller: Caller, inode: Inode, access: int) -> bool:
    """Tell whether the caller has these permissions on an inode."""
    if caller.is_superuser:
        return True
    owners, groups, others = (inode.mode >> shift & ALL for shift in (6, 3, 0))
    entries = [entry for entry in inode.acl if not entry.is_default]
    if caller.user == inode.owner:
        return owners & access == access
    if not entries:
        rights = groups if inode.group in caller.groups else others
        return rights & access == access
    is_named = False
    for entry in entries:
        masked = entry.permission & groups  # the group bits hold the mask
        if entry.type == "user" and entry.name == caller.user:
            return masked & access == access
        if entry.type == "group" and (entry.name or inode.group) in caller.groups:
            if masked & access == access:
                return True
            is_named = True
    return not is_named and others & access == access


def _check(caller: Caller, chain: Chain, index: int, access: int) -> None:
    inode = chain.nodes[index].inode
    if not may(caller, inode, access):
        raise _denied(caller, inode, chain.path_of(index), access)


def _denied(caller: Caller, inode: Inode, path: str, access: int) -> Refusal:
    return denied(
        f'Permission denied: user={caller.user}, access={ACTIONS[access]}, inode="{path}":{_shown(inode)}'
    )


def _is_stuck(caller: Caller, parent: Inode, inode: Inode) -> bool:
    return bool(parent.mode & STICKY) and caller.user not in {parent.owner, inode.owner}


def _sticky(caller: Caller, path: str, inode: Inode, parent_path: str, parent: Inode) -> Refusal:
    return denied(
        f'Permission denied by sticky bit: user={caller.user}, path="{path}":{_shown(inode)}, '
        f'parent="{parent_path}":{_shown(parent)}'
    )


def _shown(inode: Inode) -> str:
    return f"{inode.owner}:{inode.group}:{'d' if inode.is_directory else '-'}{symbol(inode.mode)}"


def _join(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"
