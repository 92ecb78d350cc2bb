"""Blocks of a file that is being written: allocated, committed, abandoned, received.

Source: FSDirWriteFileOp of Hadoop 3.5.0, and how BlockManager commits and completes a block.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from nncache.coordination.zookeeper import Create, Delete, SetData
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.files import change_file
from nncache.namenode.namespace.inode import Block, BlockState, Inode, Location, encode
from nncache.namenode.namespace.leases import check_lease, close, drop_block, is_held, look_again
from nncache.namenode.namespace.making import NewId
from nncache.namenode.namespace.refusal import Java, Refusal, io_error
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View

MAX_BLOCKS: Final = 10_000
"""Of a file (dfs.namenode.fs-limits.max-blocks-per-file)."""

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
    """Allocate the next block of a file; asked once more with the same `previous`, it is the same block.

    `choose` says which DataNodes are to hold so many replicas; those of a watched block are looked at until all do.

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
    tx.write(Create(layout.location(block.id), encode(location)))
    if tx.is_watched:
        tx.write(Create(layout.waiting(block.id), b""))
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
    """Take the length of the last block from its writer; it is complete if a DataNode holds it.

    So is one before it that was held by none when it was committed.
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
    length = last.length if last.state is BlockState.COMMITTED else submitted.length  # the first one holds
    state = BlockState.COMPLETE if is_held(view, last) else BlockState.COMMITTED
    committed = msgspec.structs.replace(last, length=length, state=state)
    replicas = view.replicas_of(last.id)
    if (
        replicas is not None
        and replicas.waiting is not None
        and state is BlockState.COMPLETE
        and len(replicas.good(committed)) == len(replicas.held) == node.inode.replication
    ):
        tx.write(Delete(layout.waiting(last.id), replicas.waiting))  # nothing is left to be looked at
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
    if len(node.inode.blocks) > 1 and not _is_replicated(view, node.inode.blocks[-2]):
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


def _is_replicated(view: View, block: Block) -> bool:
    return block.state is BlockState.COMPLETE or (
        block.state is BlockState.COMMITTED and is_held(view, block)
    )


class Received(Enum):
    """What a DataNode's report of a replica comes to."""

    COUNTED = "a replica of a block of the file"
    KEPT = "a replica that the recovery of the block may need"
    UNWANTED = "the file does not have the block, or has it further: the replica may go"


def judge_received(block: Block, file: Inode) -> Received:
    """Say what is done with a replica that a DataNode holds, of a block that should be the file's."""
    stored = next((each for each in file.blocks if each.id == block.id), None)
    if stored is None:
        return Received.UNWANTED
    if block.stamp >= stored.stamp:
        return Received.COUNTED
    is_whole = stored.state in {BlockState.COMMITTED, BlockState.COMPLETE}
    return (
        Received.UNWANTED if is_whole else Received.KEPT
    )  # one that is written further was to get the next stamp


def begin_pipeline(view: View, tx: Transaction, holder: str, block: Block, file_id: int) -> Block:
    """Give the last block of a file that is appended to its next stamp (updateBlockForPipeline, updatePipeline)."""
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
        tx.write(SetData(layout.location(block.id), encode(location), replicas.version))
        tx.write(look_again(block.id, replicas.waiting))
    return begun


def update_pipeline(
    view: View, tx: Transaction, holder: str, block: Block, targets: tuple[str, ...], file_id: int
) -> None:
    """Take the stamp with which a last block is written on, without the DataNodes that have failed (updatePipeline)."""
    (chain,) = view.chains
    node = check_lease(view, chain, holder, file_id)
    blocks = node.inode.blocks
    replicas = view.replicas_of(block.id)
    if not blocks or blocks[-1].id != block.id or blocks[-1].stamp >= block.stamp or replicas is None:
        raise io_error(f"Update {blocks[-1] if blocks else 'null'} but the new block is {block}")
    tx.change(node, blocks=(*blocks[:-1], msgspec.structs.replace(blocks[-1], stamp=block.stamp)))
    # Those that have failed may still have a part of it: that is deleted with the block.
    kept = (*targets, *(name for name in replicas.location.targets if name not in targets))
    location = msgspec.structs.replace(replicas.location, targets=kept)
    tx.write(SetData(layout.location(block.id), encode(location), replicas.version))
