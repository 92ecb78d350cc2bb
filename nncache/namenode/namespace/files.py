"""Rules that several operations on files share."""

import msgspec

from nncache.namenode.namespace.inode import Inode
from nncache.namenode.namespace.refusal import not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, DirectoryTree, Node, View


def file_of(chain: Chain) -> Node:
    """Return the file at a path (INodeFile.valueOf)."""
    node = chain.last
    if node is None:
        raise not_found(f"File does not exist: {chain.path}")
    if node.inode.is_directory:
        raise not_found(f"Path is not a file: {chain.path}")
    return node


def existing(chain: Chain) -> Node:
    """Return the file or directory at a path (FSDirectory.resolveLastINode)."""
    if chain.last is None:
        raise not_found(f"cannot find {chain.path}")
    return chain.last


def change_file(tx: Transaction, chain: Chain, node: Node, *, verify: bool = True, **fields: object) -> Inode:
    """Change fields of a file, and charge the change of its space. A Refusal by a quota leaves all unchanged."""
    before = tx.now(node)
    tx.consume(chain, 0, msgspec.structs.replace(before, **fields).space - before.space, verify=verify)
    return tx.change(node, **fields)


def usage_of(view: View, node: Node) -> tuple[int, int]:
    """Return a tree's number of files and directories, and its bytes, each replica counted."""
    if node.inode.quota is not None:
        return node.inode.quota.used_names, node.inode.quota.used_space
    return counted(view.tree_of(node))


def counted(tree: DirectoryTree) -> tuple[int, int]:
    """Return the same for a tree that was read."""
    inodes = [node.inode for node in tree.nodes()]
    return len(inodes), sum(inode.space for inode in inodes if not inode.is_directory)


def has_quota_above(chain: Chain, below: int = 0) -> bool:
    """Tell whether a directory above a path has a quota, from index `below` on."""
    return any(node.inode.quota is not None for node in chain.nodes[below : len(chain.names)])
