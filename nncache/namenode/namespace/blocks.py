"""Blocks of a file that is being written: allocated, committed, abandoned, received.

Source: FSDirWriteFileOp of Hadoop 3.5.0, and how BlockManager commits and completes a block.
"""

from typing import Final

import msgspec

from nncache.coordination.zookeeper import Create
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.files import change_file
from nncache.namenode.namespace.inode import Block, BlockState, Location, Replica, encode
from nncache.namenode.namespace.leases import check_lease, close, drop_block, put_replica
from nncache.namenode.namespace.making import NewId
from nncache.namenode.namespace.refusal import Java, Refusal, io_error
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View

MAX_BLOCKS: Final = 10_000
"""Of a file (dfs.namenode.fs-limits.max-blocks-per-file)."""

FIRST_STAMP: Final = 1001


def add_block(
    view: View,
    tx: Transaction,
    holder: str,
    previous: Block | None,
    file_id: int,
    targets: tuple[str, ...],
    new_id: NewId,
) -> Block | Refusal:
    """Allocate the next block of a file; asked once more with the same `previous`, it is the same block.

    A Refusal is an answer after which something has changed: the block before is committed, and a quota has no room.

    Raises:
        Refusal: another client's file, another `previous` than the last block, too many blocks, or the last but one
            is at no DataNode yet.
    """
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    last = blocks[-1] if blocks else None
    if not _is_same(previous, last):
        is_full = last is not None and last.length >= node.inode.block_size
        if not (previous is None and is_full and last is not None and last.state is BlockState.COMPLETE):
            return _asked_again(chain, blocks, previous, last)
    if len(blocks) > 1 and blocks[-2].state is not BlockState.COMPLETE:
        raise Refusal(Java.NOT_REPLICATED_YET, f"Not replicated yet: {chain.path}")
    if len(blocks) >= MAX_BLOCKS:
        raise io_error(
            "File has reached the limit on maximum number of blocks (dfs.namenode.fs-limits.max-blocks-per-file): "
            f"{len(blocks)} >= {MAX_BLOCKS}"
        )
    commit_last(view, tx, chain, node, previous)
    block = Block(new_id(), FIRST_STAMP)
    try:
        change_file(tx, chain, node, blocks=(*tx.now(node).blocks, block))
    except Refusal as refusal:
        return refusal
    tx.write(Create(layout.location(block.id), encode(Location(file=node.inode.id, targets=targets))))
    return block


def _asked_again(
    chain: Chain, blocks: tuple[Block, ...], previous: Block | None, last: Block | None
) -> Block:
    penultimate = blocks[-2] if len(blocks) > 1 else None
    if last is None or not _is_same(previous, penultimate):
        raise io_error(
            f"Cannot allocate block in {chain.path}: passed 'previous' block {previous or 'null'} does not match "
            f"actual last block in file {last or 'null'}"
        )
    if last.length:
        raise io_error(
            f"Request looked like a retry to allocate block {last} but it already contains {last.length} bytes"
        )
    return last


def _is_same(one: Block | None, other: Block | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.id, one.stamp) == (other.id, other.stamp)


def commit_last(view: View, tx: Transaction, chain: Chain, node: Node, said: Block | None) -> None:
    """Take the length of the last block from its writer; it is complete if a DataNode holds it."""
    blocks = tx.now(node).blocks
    if said is None or not blocks or blocks[-1].state is BlockState.COMPLETE:
        return
    last = blocks[-1]
    if last.state is BlockState.UNDER_RECOVERY:
        raise io_error(f"Commit or complete block {said}, whereas it is under recovery.")
    if last.state is not BlockState.COMMITTED and not _is_same(said, last):
        raise io_error(f"Commit block with mismatching GS. NN has {last}, client submits {said}")
    replicas = view.replicas_of(last.id)
    is_held = replicas is not None and bool(replicas.held)
    state = BlockState.COMPLETE if is_held else BlockState.COMMITTED
    if last.state is BlockState.COMMITTED:  # what was said first holds
        committed = msgspec.structs.replace(last, state=state)
    else:
        committed = msgspec.structs.replace(last, length=said.length, state=state)
    change_file(tx, chain, node, verify=False, blocks=(*blocks[:-1], committed))


def complete(view: View, tx: Transaction, holder: str, last: Block | None, file_id: int) -> bool:
    """Close a file; False if a block is at no DataNode yet: the writer asks again then."""
    (chain,) = view.chains
    try:
        node = check_lease(view, chain, holder, file_id)
    except Refusal as refused:
        closed = chain.last
        if (
            refused.java is Java.LEASE_EXPIRED
            and closed is not None
            and not closed.inode.is_directory
            and not closed.inode.is_open
            and _is_same(last, closed.inode.blocks[-1] if closed.inode.blocks else None)
        ):
            return True  # the answer to the first call was lost (HDFS-3031)
        raise
    if len(node.inode.blocks) > 1 and node.inode.blocks[-2].state is not BlockState.COMPLETE:
        return False
    commit_last(view, tx, chain, node, last)
    if any(block.state is not BlockState.COMPLETE for block in tx.now(node).blocks):
        return False
    close(tx, chain, node)
    return True


def abandon_block(view: View, tx: Transaction, holder: str, block: Block, file_id: int) -> None:
    """Drop the last block of a file; another block than the last is left alone."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    if blocks and blocks[-1].id == block.id:
        drop_block(view, tx, blocks[-1])
        change_file(tx, chain, node, verify=False, blocks=blocks[:-1])


def fsync(view: View, tx: Transaction, holder: str, file_id: int, last_length: int) -> None:
    """Take the length of the last block, while it is being written; -1: it is not said."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    if last_length >= 0 and blocks and blocks[-1].state is not BlockState.COMPLETE:
        last = msgspec.structs.replace(blocks[-1], length=last_length)
        tx.change(node, blocks=(*blocks[:-1], last))


def received(view: View, tx: Transaction, block: Block, datanode: str) -> bool:
    """Take down that a DataNode holds a block; False if no file has it any more: the replica may go."""
    (chain,) = view.chains
    node = chain.last
    replicas = view.replicas_of(block.id)
    if node is None or replicas is None:
        return False
    stored = next((each for each in node.inode.blocks if each.id == block.id), None)
    if stored is None:
        return False
    if (
        block.stamp < stored.stamp
    ):  # one that is written further was to get the next stamp: recovery may need it
        return stored.state in {BlockState.UNDER_CONSTRUCTION, BlockState.UNDER_RECOVERY}
    put_replica(tx, block.id, replicas, datanode, Replica(stamp=block.stamp, length=block.length))
    if stored.state is BlockState.COMMITTED and block.length == stored.length:
        change_file(
            tx,
            chain,
            node,
            verify=False,
            blocks=tuple(
                msgspec.structs.replace(each, state=BlockState.COMPLETE) if each.id == block.id else each
                for each in node.inode.blocks
            ),
        )
    return True


def begin_pipeline(view: View, tx: Transaction, holder: str, block: Block, file_id: int) -> Block:
    """Give the last block of a file that is appended to its next stamp (updateBlockForPipeline, updatePipeline)."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    if not blocks or blocks[-1].id != block.id or blocks[-1].state is BlockState.COMPLETE:
        raise io_error(f"{block} does not exist or is not under Construction")
    begun = msgspec.structs.replace(blocks[-1], stamp=blocks[-1].stamp + 1)
    tx.change(node, blocks=(*blocks[:-1], begun))
    return begun
