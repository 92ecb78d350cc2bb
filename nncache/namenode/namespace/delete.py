"""Delete a file, or a directory with all below.

Source: FSDirDeleteOp of Hadoop 3.5.0. What goes is detached in one transaction, and reclaimed later.
The rights to the directories below, and what the tree counts for quotas, are read before the transaction and not
guarded by it: a change of them just then is as if it came a moment later.
"""

from nncache.hadoop.events import Unlink
from nncache.namenode.namespace.files import has_quota_above, usage_of
from nncache.namenode.namespace.permissions import (
    ALL,
    WRITE,
    Caller,
    check_below,
    check_parent,
    check_traverse,
)
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View


def delete(view: View, tx: Transaction, caller: Caller, *, recursive: bool) -> bool:
    """Delete what a path names; False if it names nothing, or the root."""
    (chain,) = view.chains
    if chain.path == "/.reserved":
        raise Refusal(Java.INVALID_PATH, f"Invalid path name {chain.path}")
    check_traverse(caller, chain)
    check_parent(caller, chain, WRITE)
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
    """Take a file or a tree out of the namespace, and out of what its quotas count."""
    if not node.inode.is_directory:
        detach_file(tx, chain, node)
        return
    if has_quota_above(chain):
        names, space = usage_of(view, node)
        tx.consume(chain, -names, -space)
    tx.detach(node)


def detach_file(tx: Transaction, chain: Chain, node: Node) -> None:
    """Take a file out of the namespace; the lease of one that is being written ends."""
    if node.inode.is_open:
        tx.release(node.inode.holder, node.inode.id)
    tx.consume(chain, -1, -node.inode.space)
    tx.detach(node)
    if node.inode.is_open:
        tx.change(node, holder="", client="")
