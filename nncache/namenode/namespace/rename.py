"""Rename a file or a tree.

Source: FSDirRenameOp of Hadoop 3.5.0. The older of the two calls returns false where the newer one refuses, and moves
the source into an existing directory.
"""

from nncache.hadoop.events import Rename
from nncache.namenode.namespace.delete import detach
from nncache.namenode.namespace.files import has_quota_above, usage_of
from nncache.namenode.namespace.making import check_name, check_new_name, check_path_length
from nncache.namenode.namespace.permissions import (
    ALL,
    Caller,
    check_ancestor,
    check_below,
    check_parent,
    check_traverse,
)
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.snapshots import check_move
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View


def rename(view: View, tx: Transaction, caller: Caller) -> bool:
    """Rename as FileSystem.rename without options does.

    The view's paths: source, destination, and the source's name inside the destination.
    """
    source, destination, within = view.chains
    check_path_length(destination.asked, "rename")
    check_traverse(caller, source)
    check_name(destination)
    check_traverse(caller, destination, creates=True)
    if destination.last is not None and destination.last.inode.is_directory:
        destination = within
    check_parent(caller, source)
    check_traverse(caller, destination, creates=True)
    check_ancestor(caller, destination)
    node = source.last
    if node is None or not source.names:
        return False
    if source.path == destination.path:
        tx.log(Rename(source.path, destination.path, tx.now_ms))
        return True
    if _is_below(destination.path, source.path) or destination.last is not None or destination.parent is None:
        return False
    _move(view, tx, source, destination, node)
    return True


def rename_with_options(view: View, tx: Transaction, caller: Caller, options: frozenset[str]) -> None:
    """Rename as FileSystem.rename with options does. The view's paths: source, destination."""
    source, destination = view.chains
    check_path_length(destination.asked, "rename")
    check_traverse(caller, source)
    check_name(destination)
    check_traverse(caller, destination, creates=True)
    check_parent(caller, source)
    node = source.last
    if "TO_TRASH" in options and node is not None and node.inode.is_directory and not caller.is_superuser:
        check_below(caller, source.path, view.tree_of(node), ALL, ignore_empty=True)
    check_ancestor(caller, destination)
    if node is None:
        raise not_found(f"rename source {source.path} is not found.")
    if not source.names:
        raise io_error("rename source cannot be the root")
    if source.path == destination.path:
        raise Refusal(
            Java.FILE_ALREADY_EXISTS,
            f"The source {source.path} and destination {destination.path} are the same",
        )
    if _is_below(destination.path, source.path):
        raise io_error(
            f"Rename destination {destination.path} is a directory or file under source {source.path}"
        )
    if not destination.names:
        raise io_error("rename destination cannot be the root")
    target = destination.last
    if target is not None:
        _check_overwrite(source, destination, node, target, may_overwrite="OVERWRITE" in options)
    if destination.parent is None:
        raise not_found(f"rename destination parent {destination.path} not found.")
    _move(view, tx, source, destination, node)


def _check_overwrite(
    source: Chain, destination: Chain, node: Node, target: Node, *, may_overwrite: bool
) -> None:
    if node.inode.is_directory != target.inode.is_directory:
        raise io_error(f"Source {source.path} and destination {destination.path} must both be directories")
    if not may_overwrite:
        raise Refusal(Java.FILE_ALREADY_EXISTS, f"rename destination {destination.path} already exists")
    if target.children:
        raise io_error(f"rename destination directory is not empty: {destination.path}")


def _move(view: View, tx: Transaction, source: Chain, destination: Chain, node: Node) -> None:
    check_move(view, source, destination)
    check_new_name(destination, len(destination.names) - 1)
    assert destination.parent is not None, "the caller has seen that it is there"
    shared = _shared(source, destination)
    target = destination.last
    if has_quota_above(source, shared) or has_quota_above(destination, shared):
        names, space = usage_of(view, node)
        less_names, less_space = (0, 0) if target is None else usage_of(view, target)
        _verify(view, tx, destination, shared, names - less_names, space - less_space)
        tx.consume(source, -names, -space, below=shared)
        tx.consume(destination, names, space, below=shared, verify=False)
    if target is not None:
        detach(view, tx, destination, target)
    tx.move(node, destination.parent.inode.id, destination.names[-1])
    tx.touch(node.inode.parent)
    if destination.parent.inode.id != node.inode.parent:
        tx.touch(destination.parent)
    tx.log(Rename(source.path, destination.path, tx.now_ms))


def _verify(view: View, tx: Transaction, destination: Chain, shared: int, names: int, space: int) -> None:
    """Refuse a move that exceeds a quota, without charging it."""
    if names > 0 or space > 0:
        probe = Transaction(view, tx.now_ms)
        probe.consume(destination, names, space, below=shared)


def _shared(one: Chain, other: Chain) -> int:
    """Return the number of common ancestors of both paths, from the root."""
    number = 0
    for first, second in zip(one.ancestors(), other.ancestors(), strict=False):
        if first.inode.id != second.inode.id:
            break
        number += 1
    return number


def _is_below(path: str, above: str) -> bool:
    return path.startswith(above.rstrip("/") + "/")
