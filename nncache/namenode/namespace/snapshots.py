"""Snapshottable directories. No snapshot can be created, as with a limit of 0 per directory.

Source: FSDirSnapshotOp and SnapshotManager of Hadoop 3.5.0 with dfs.namenode.snapshot.max.limit=0.
"""

from typing import Final

from nncache.coordination.zookeeper import CreateOp, DeleteOp
from nncache.hadoop.paths import ROOT
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import ROOT_ID
from nncache.namenode.namespace.making import is_valid
from nncache.namenode.namespace.permissions import (
    READ,
    Caller,
    check_access,
    check_owner,
    check_superuser,
    check_traverse,
    reached,
)
from nncache.namenode.namespace.refusal import Java, Refusal, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View

_RESERVED: Final = {".snapshot", ".reserved"}
_ANYBODY: Final = Caller("", frozenset(), is_superuser=True)


def allow(view: View, tx: Transaction, caller: Caller) -> None:
    """Make a directory snapshottable; snapshottable directories must not nest."""
    chain, node = _to_be_set(view, caller, "allowSnapshot")
    for path in view.snapshottable_paths():
        for one, other, what in ((chain.path, path, "subdirectory"), (path, chain.path, "ancestor")):
            if one != other and _is_within(other, one):
                raise _refused(
                    f"Nested snapshottable directories not allowed: path={chain.path}, the {what} {path} is "
                    "already a snapshottable directory."
                )
    if not node.inode.is_snapshottable:
        tx.change(node, is_snapshottable=True)
        tx.write(CreateOp(f"{layout.SNAPSHOTTABLE}/{node.inode.id}", b""))


def disallow(view: View, tx: Transaction, caller: Caller) -> None:
    """Make a directory snapshottable no longer."""
    _, node = _to_be_set(view, caller, "disallowSnapshot")
    if node.inode.is_snapshottable:
        tx.change(node, is_snapshottable=False)
        tx.write(DeleteOp(f"{layout.SNAPSHOTTABLE}/{node.inode.id}"))


def _to_be_set(view: View, caller: Caller, operation: str) -> tuple[Chain, Node]:
    (chain,) = view.chains
    check_superuser(caller, operation)
    check_traverse(caller, chain, creates=True)
    return chain, _directory(caller, chain)


def create_snapshot(view: View, _: Transaction, caller: Caller, name: str) -> None:
    """Refuse to create a snapshot."""
    chain = reached(view, caller)
    check_owner(caller, chain)
    if name and (ROOT in name or name in _RESERVED or not is_valid(ROOT + name)):
        raise Refusal(Java.INVALID_PATH, f"Invalid path name Invalid snapshot name: {name}")
    is_default_root = not _snapshottable(caller, chain).inode.is_snapshottable
    raise _refused(
        "Failed to add snapshot: there are already 0 snapshot(s) and the snapshot quota is 0"
        if is_default_root
        else "Failed to create snapshot: there are already 0 snapshot(s) and the per directory snapshot limit is 0"
    )


def refuse_snapshot(view: View, _: Transaction, caller: Caller, message: str, name: str) -> None:
    """Refuse to rename or delete a snapshot, since none exists. `message` is a format of {name} and {path}."""
    chain = reached(view, caller)
    check_owner(caller, chain)
    _snapshottable(caller, chain)
    raise _refused(message.format(name=name, path=chain.path))


def list_snapshots(view: View, caller: Caller) -> None:
    """Check that the path is a snapshottable directory; it has no snapshots."""
    (chain,) = view.chains
    check_traverse(_ANYBODY, chain, creates=True)  # before any check of permissions
    check_traverse(caller, chain)
    check_access(caller, chain, READ)
    _snapshottable(caller, chain)


def check_move(view: View, source: Chain, destination: Chain) -> None:
    """Refuse to move a tree that has a snapshottable directory to below another; the root always counts as one."""
    paths = view.snapshottable_paths()
    above = destination.path_of(len(destination.names) - 1)
    if any(_is_within(path, source.path) for path in paths) and (
        above == ROOT or any(_is_within(above, path) for path in paths)
    ):
        raise _refused(
            f"Unable to rename because {source.path} has snapshottable descendant directories and {above} is a descent "
            "of a snapshottable directory, and HDFS does not support nested snapshottable directory."
        )


def _is_within(path: str, top: str) -> bool:
    return f"{path.rstrip(ROOT)}{ROOT}".startswith(f"{top.rstrip(ROOT)}{ROOT}")


def _snapshottable(caller: Caller, chain: Chain) -> Node:
    node = _directory(caller, chain)
    if not node.inode.is_snapshottable and node.inode.id != ROOT_ID:
        raise _refused(f"Directory is not a snapshottable directory: {chain.path}")
    return node


def _directory(caller: Caller, chain: Chain) -> Node:
    check_traverse(caller, chain)
    if chain.last is None:
        raise not_found(f"Directory does not exist: {chain.path}")
    if not chain.last.inode.is_directory:
        raise Refusal(Java.PATH_IS_NOT_DIRECTORY, f"`{chain.path}': Is not a directory")
    return chain.last


def _refused(message: str) -> Refusal:
    return Refusal(Java.SNAPSHOT, message)
