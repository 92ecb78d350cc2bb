"""Open a file that exists, to write more.

Source: FSDirAppendOp of Hadoop 3.5.0.
"""

import msgspec

from nncache.hadoop.events import Append
from nncache.namenode.namespace.files import change_file
from nncache.namenode.namespace.inode import BlockState, Inode
from nncache.namenode.namespace.leases import Purpose, Writer, take_over
from nncache.namenode.namespace.permissions import WRITE, Caller, check_access, check_traverse
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import View


def append(view: View, tx: Transaction, caller: Caller, writer: Writer) -> Inode | Refusal:
    """Give the writer the lease of a file; its last block, if it is not full, is under construction again."""
    (chain,) = view.chains
    check_traverse(caller, chain)
    node = chain.last
    if node is not None and node.inode.is_directory:
        raise Refusal(
            Java.FILE_ALREADY_EXISTS,
            f"Cannot append to directory {chain.path}; already exists as a directory.",
        )
    check_access(caller, chain, WRITE)
    if node is None:
        raise not_found(f"Failed to append to non-existent file {chain.path} for client {writer.host}")
    refusal = take_over(view, tx, chain, node, writer, Purpose.APPEND_FILE)
    if refusal is not None:
        return refusal
    file = tx.now(node)
    blocks = file.blocks
    replicas = view.replicas_of(blocks[-1].id) if blocks else None
    if blocks and (replicas is None or not replicas.good(blocks[-1])):
        return io_error(
            f"append: lastBlock={blocks[-1]} of src={chain.path} is not sufficiently replicated yet."
        )
    if blocks and blocks[-1].length < file.block_size:
        last = msgspec.structs.replace(blocks[-1], state=BlockState.UNDER_CONSTRUCTION)
        blocks = (*blocks[:-1], last)
    tx.lease(writer.holder, file.id)
    tx.log(Append(chain.path))
    return change_file(tx, chain, node, blocks=blocks, holder=writer.holder, client=writer.host)
