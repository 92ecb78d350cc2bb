"""Cut a file off.

Source: FSDirTruncateOp of Hadoop 3.5.0. Inside a block the DataNodes have to cut their replicas: until then the file
is open, and has its old length.
"""

import msgspec

from nncache.hadoop.events import Truncate
from nncache.namenode.namespace.files import change_file, file_of
from nncache.namenode.namespace.inode import Block, BlockState
from nncache.namenode.namespace.leases import Purpose, Writer, drop_block, order_recovery, take_over
from nncache.namenode.namespace.permissions import WRITE, Caller, check_access, check_traverse
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import View


def truncate(view: View, tx: Transaction, caller: Caller, length: int, writer: Writer) -> bool | Refusal:
    """Cut a file off at a length; True if it has that length now, False if a block has to be cut."""
    (chain,) = view.chains
    check_traverse(caller, chain)
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
    refusal = take_over(view, tx, chain, node, writer, Purpose.TRUNCATE_FILE)
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
        verify=False,
        blocks=(*kept[:-1], cut),
        mtime=tx.now_ms,
        holder=writer.holder,
        client=writer.host,
    )
    order_recovery(tx, file.id, cut)
    return False
