"""Reopen a file to append to it or to truncate it.

Source: FSDirAppendOp and FSDirTruncateOp of Hadoop 3.5.0. DataNodes must cut their replicas for a truncation inside a
block: until then the file is open and its length is unchanged.
"""

import msgspec

from nncache.hadoop.events import Append, Truncate
from nncache.namenode.namespace.files import change_file, file_of
from nncache.namenode.namespace.inode import Block, BlockState, Inode
from nncache.namenode.namespace.leases import WritingClient, drop_block, order_recovery, take_over
from nncache.namenode.namespace.permissions import WRITE, Caller, check_access, reached
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import View


def append(view: View, tx: Transaction, caller: Caller, writer: WritingClient) -> Inode | Refusal:
    """Lease a file to the writer. Its last block, unless full, is under construction again."""
    chain = reached(view, caller)
    node = chain.last
    if node is not None and node.inode.is_directory:
        raise Refusal(
            Java.FILE_ALREADY_EXISTS,
            f"Cannot append to directory {chain.path}; already exists as a directory.",
        )
    check_access(caller, chain, WRITE)
    if node is None:
        raise not_found(f"Failed to append to non-existent file {chain.path} for client {writer.host}")
    refusal = take_over(view, tx, chain, node, writer, "APPEND_FILE")
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


def truncate(
    view: View, tx: Transaction, caller: Caller, length: int, writer: WritingClient
) -> bool | Refusal:
    """Truncate a file. Return True if it has the length now, False if DataNodes must cut a block first."""
    chain = reached(view, caller)
    check_access(caller, chain, WRITE)
    node = file_of(chain)
    last = node.inode.blocks[-1] if node.inode.blocks else None
    if last is not None and last.state is BlockState.UNDER_RECOVERY and last.truncate_to >= 0:
        if node.inode.known_length + last.truncate_to == length:
            return False
        raise Refusal(
            Java.ALREADY_BEING_CREATED,
            f"Failed to TRUNCATE_FILE {chain.path} for {writer.holder} on {writer.host} because "
            f"{chain.path} is being truncated.",
        )
    refusal = take_over(view, tx, chain, node, writer, "TRUNCATE_FILE")
    if refusal is not None:
        return refusal
    file = tx.now(node)
    if file.length == length:
        return True
    if file.length < length:
        raise Refusal(
            Java.HADOOP_ILLEGAL_ARGUMENT,
            f"Cannot truncate to a larger file size. Current size: {file.length}, truncate size: {length}.",
        )
    tx.log(Truncate(chain.path, length, tx.now_ms))
    kept: list[Block] = []
    begin = 0
    for block in file.blocks:
        if begin >= length:
            break
        kept.append(block)
        begin += block.length
    rest = file.blocks[len(kept) :]
    view.need_replicas(block.id for block in rest)
    for block in rest:
        drop_block(view, tx, block)
    if begin == length:
        change_file(tx, chain, node, verify=False, blocks=tuple(kept), mtime=tx.now_ms)
        return True
    cut = msgspec.structs.replace(
        kept[-1],
        state=BlockState.UNDER_RECOVERY,
        recovery_id=kept[-1].stamp + 1,
        truncate_to=length - (begin - kept[-1].length),
    )
    tx.lease(writer.holder, file.id)
    change_file(
        tx,
        chain,
        node,
        blocks=(*kept[:-1], cut),
        mtime=tx.now_ms,
        holder=writer.holder,
        client=writer.host,
    )
    order_recovery(tx, file.id, cut)
    return False
