"""Blocks of a file under construction: allocated, committed, abandoned, received.

Source: FSDirWriteFileOp of Hadoop 3.5.0, and its BlockManager, which commits and completes a block.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.files import change_file
from nncache.namenode.namespace.inode import Block, BlockState, Inode, Location, encode
from nncache.namenode.namespace.leases import check_lease, close, drop_block, is_held, look_again
from nncache.namenode.namespace.making import NewId
from nncache.namenode.namespace.refusal import Java, Refusal, io_error
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View

MAX_BLOCKS: Final = 10_000
"""Per file (dfs.namenode.fs-limits.max-blocks-per-file)."""

FIRST_STAMP: Final = 1001

Choose: TypeAlias = Callable[[int], tuple[str, ...]]


def add_block(
    view: View,
    tx: Transaction,
    holder: str,
    previous: Block | None,
    file_id: int,
    choose: Choose,
    new_id: NewId,
) -> Block | Refusal:
    """Allocate the next block of a file. A retry with the same `previous` returns the same block.

    `choose` returns the target DataNodes for a number of replicas. A watched block is checked until they all hold it.

    A returned Refusal is an answer with changes to commit: a quota has no room, but the previous block is committed.

    Raises:
        Refusal: the file is another client's, `previous` is not its last block, it has too many blocks, or no DataNode
        holds its penultimate block yet.
    """
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    last = blocks[-1] if blocks else None
    if not _is_same(previous, last):
        is_full = last is not None and last.length >= node.inode.block_size
        if not (previous is None and is_full and last is not None and last.state is BlockState.COMPLETE):
            return _asked_again(chain, blocks, previous, last)
    if len(blocks) > 1 and not _is_replicated(view, blocks[-2]):
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
    location = Location(file=node.inode.id, targets=choose(node.inode.replication))
    tx.write(CreateOp(layout.location(block.id), encode(location)))
    if tx.is_watched:
        tx.write(CreateOp(layout.waiting(block.id), b""))
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


def commit_last(view: View, tx: Transaction, chain: Chain, node: Node, submitted: Block | None) -> None:
    """Commit the last block with the length that its writer submits. The block is complete if a DataNode holds it.

    Complete also the penultimate block, if it was committed before a DataNode held it.
    """
    blocks = tx.now(node).blocks
    if len(blocks) > 1 and blocks[-2].state is BlockState.COMMITTED and _is_replicated(view, blocks[-2]):
        blocks = (*blocks[:-2], msgspec.structs.replace(blocks[-2], state=BlockState.COMPLETE), blocks[-1])
        tx.change(node, blocks=blocks)
    if submitted is None or not blocks or blocks[-1].state is BlockState.COMPLETE:
        return
    last = blocks[-1]
    if last.state is BlockState.UNDER_RECOVERY:
        raise io_error(f"Commit or complete block {submitted}, whereas it is under recovery.")
    if last.state is not BlockState.COMMITTED and not _is_same(submitted, last):
        raise io_error(f"Commit block with mismatching GS. NN has {last}, client submits {submitted}")
    length = last.length if last.state is BlockState.COMMITTED else submitted.length  # the first commit wins
    state = BlockState.COMPLETE if is_held(view, last) else BlockState.COMMITTED
    committed = msgspec.structs.replace(last, length=length, state=state)
    replicas = view.replicas_of(last.id)
    if (
        replicas is not None
        and replicas.waiting is not None
        and state is BlockState.COMPLETE
        and len(replicas.good(committed)) == len(replicas.held) == node.inode.replication
    ):
        tx.write(DeleteOp(layout.waiting(last.id), replicas.waiting))  # all replicas exist: no check is left
    change_file(tx, chain, node, verify=False, blocks=(*blocks[:-1], committed))


def complete(view: View, tx: Transaction, holder: str, last: Block | None, file_id: int) -> bool:
    """Close a file. Return False if no DataNode holds one of its blocks yet: the writer then retries."""
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
    if len(node.inode.blocks) > 1 and not _is_replicated(view, node.inode.blocks[-2]):
        return False
    commit_last(view, tx, chain, node, last)
    if any(block.state is not BlockState.COMPLETE for block in tx.now(node).blocks):
        return False
    close(tx, chain, node)
    return True


def abandon_block(view: View, tx: Transaction, holder: str, block: Block, file_id: int) -> None:
    """Drop the last block of a file; do nothing if `block` is not the last."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    if blocks and blocks[-1].id == block.id:
        drop_block(view, tx, blocks[-1])
        change_file(tx, chain, node, verify=False, blocks=blocks[:-1])


def fsync(view: View, tx: Transaction, holder: str, file_id: int, last_length: int) -> None:
    """Store the length of the last block while it is being written; -1: the writer does not report it."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    if last_length >= 0 and blocks and blocks[-1].state is not BlockState.COMPLETE:
        last = msgspec.structs.replace(blocks[-1], length=last_length)
        tx.change(node, blocks=(*blocks[:-1], last))


def _is_replicated(view: View, block: Block) -> bool:
    return block.state is BlockState.COMPLETE or (
        block.state is BlockState.COMMITTED and is_held(view, block)
    )


class ReplicaVerdict(Enum):
    """The verdict on a replica that a DataNode reports."""

    COUNTED = "a replica of a block of the file"
    KEPT = "a replica that the recovery of the block may need"
    UNWANTED = "the file does not have the block, or has it further: the replica may go"


def judge_received(block: Block, file: Inode) -> ReplicaVerdict:
    """Return the verdict on a DataNode's replica of a block that should belong to the file."""
    stored = next((each for each in file.blocks if each.id == block.id), None)
    if stored is None:
        return ReplicaVerdict.UNWANTED
    if block.stamp >= stored.stamp:
        return ReplicaVerdict.COUNTED
    is_whole = stored.state in {BlockState.COMMITTED, BlockState.COMPLETE}
    # While a block is under construction, this replica may still be due to get the new stamp.
    return ReplicaVerdict.UNWANTED if is_whole else ReplicaVerdict.KEPT


def begin_pipeline(view: View, tx: Transaction, holder: str, block: Block, file_id: int) -> Block:
    """Set the next stamp of the last block of a file open for append (updateBlockForPipeline, updatePipeline)."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    if not blocks or blocks[-1].id != block.id or blocks[-1].state is BlockState.COMPLETE:
        raise io_error(f"{block} does not exist or is not under Construction")
    begun = msgspec.structs.replace(blocks[-1], stamp=blocks[-1].stamp + 1)
    tx.change(node, blocks=(*blocks[:-1], begun))
    replicas = view.replicas_of(block.id)
    if tx.is_watched and replicas is not None:
        targets = tuple(sorted(replicas.good(blocks[-1])))
        location = msgspec.structs.replace(replicas.location, targets=targets)
        tx.write(SetDataOp(layout.location(block.id), encode(location), replicas.version))
        tx.write(look_again(block.id, replicas.waiting))
    return begun


def update_pipeline(
    view: View, tx: Transaction, holder: str, block: Block, targets: tuple[str, ...], file_id: int
) -> None:
    """Set the stamp of a last block whose writer continues without the failed DataNodes (updatePipeline)."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    replicas = view.replicas_of(block.id)
    if not blocks or blocks[-1].id != block.id or blocks[-1].stamp >= block.stamp or replicas is None:
        raise io_error(f"Update {blocks[-1] if blocks else 'null'} but the new block is {block}")
    tx.change(node, blocks=(*blocks[:-1], msgspec.structs.replace(blocks[-1], stamp=block.stamp)))
    # Failed DataNodes stay targets: they may hold a part of the block, which is deleted with it.
    kept = (*targets, *(name for name in replicas.location.targets if name not in targets))
    location = msgspec.structs.replace(replicas.location, targets=kept)
    tx.write(SetDataOp(layout.location(block.id), encode(location), replicas.version))
