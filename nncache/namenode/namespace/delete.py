"""Delete a file or a directory tree.

Source: FSDirDeleteOp of Hadoop 3.5.0. One transaction detaches the file or tree; it is reclaimed later.
The permissions of the directories below and the tree's quota usage are read before the transaction and not guarded by
it: a concurrent change of them counts as a later one.
"""

from nncache.hadoop.events import Unlink
from nncache.namenode.namespace.files import has_quota_above, usage_of
from nncache.namenode.namespace.permissions import (
    ALL,
    Caller,
    check_below,
    check_parent,
    check_traverse,
)
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View


def delete(view: View, tx: Transaction, caller: Caller, *, recursive: bool) -> bool:
    """Delete the file or directory at a path. Return False if it does not exist or is the root."""
    (chain,) = view.chains
    if chain.path == "/.reserved":
        raise Refusal(Java.INVALID_PATH, f"Invalid path name {chain.path}")
    check_traverse(caller, chain)
    check_parent(caller, chain)
    node = chain.last
    if node is None:
        return False
    if node.inode.is_directory and node.children:
        if not caller.is_superuser:
            check_below(caller, chain.path, view.tree_of(node), ALL, ignore_empty=True)
        if not recursive:
            raise Refusal(
                Java.PATH_IS_NOT_EMPTY_DIRECTORY, f"`{chain.path} is non empty': Directory is not empty"
            )
    if not chain.names:
        return False
    detach(view, tx, chain, node)
    tx.touch(node.inode.parent)
    tx.log(Unlink(chain.path, tx.now_ms))
    return True


def detach(view: View, tx: Transaction, chain: Chain, node: Node) -> None:
    """Remove a file or a tree from the namespace, and subtract it from the quotas above."""
    if not node.inode.is_directory:
        detach_file(tx, chain, node)
        return
    if has_quota_above(chain):
        names, space = usage_of(view, node)
        tx.consume(chain, -names, -space)
    tx.detach(node)


def detach_file(tx: Transaction, chain: Chain, node: Node) -> None:
    """Remove a file from the namespace, subtract it from the quotas above, and release its lease if it is open."""
    if node.inode.is_open:
        tx.release(node.inode.holder, node.inode.id)
    tx.consume(chain, -1, -node.inode.space)
    tx.detach(node)
    if node.inode.is_open:
        tx.change(node, holder="", client="")
