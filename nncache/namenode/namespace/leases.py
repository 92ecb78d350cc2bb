"""Leases of open files, and the recovery of files whose writer has disappeared.

Source: FSNamesystem.checkLease, recoverLeaseInternal, internalReleaseLease, commitBlockSynchronization (Hadoop 3.5.0).
An order to recover stays in the queue until it is carried out, so no attempt needs a time limit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop.events import Close
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.files import change_file, file_of
from nncache.namenode.namespace.inode import Block, BlockState, Inode, Location, Recovery, Replica, encode
from nncache.namenode.namespace.permissions import WRITE, Caller, check_access, reached
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import BlockReplicas, Chain, Node, View

Purpose: TypeAlias = Literal["CREATE_FILE", "APPEND_FILE", "TRUNCATE_FILE"]
"""The operation for which a client needs an open file (FSNamesystem.RecoverLeaseOp)."""


@dataclass(frozen=True, slots=True)
class WritingClient:
    """A client that writes."""

    holder: str
    host: str
    is_soft_limit_over: Callable[[str, int], bool]  # by holder and version of its lease, as observed here


def check_lease(view: View, chain: Chain, holder: str, file_id: int) -> Node:
    """Return the file that a holder writes.

    Raises:
        Refusal: the holder does not write the file; the messages are those of HDFS's checkLease.
    """
    described = f"{chain.path} (inode {file_id}) {_lease_words(view, holder)}"
    node = chain.last
    if node is None:
        raise not_found(f"File does not exist: {described}")
    if node.inode.is_directory:
        raise Refusal(Java.LEASE_EXPIRED, f"INode is not a regular file: {described}")
    if not node.inode.is_open:
        raise Refusal(Java.LEASE_EXPIRED, f"File is not open for writing: {described}")
    if node.inode.holder != holder:
        owner = node.inode.holder
        raise Refusal(Java.LEASE_EXPIRED, f"Client (={holder}) is not the lease owner (={owner}: {described}")
    return node


def _lease_words(view: View, holder: str) -> str:
    lease = view.lease_of(holder)
    if lease is None or not lease.files:
        return f"Holder {holder} does not have any open files."
    return f"[Lease.  Holder: {holder}, pending creates: {lease.files}]"


def take_over(
    view: View, tx: Transaction, chain: Chain, node: Node, writer: WritingClient, purpose: Purpose
) -> Refusal | None:
    """Check that a file is not being written; if its writer's soft limit has expired, close it or begin to.

    Returns the answer to the client if a recovery is under way, with changes to commit; None if the file is closed.

    Raises:
        Refusal: another client, or this one, is already writing the file.
    """
    file = node.inode
    if not file.is_open:
        return None

    def words(why: str) -> str:
        return f"Failed to {purpose} {chain.path} for {writer.holder} on {writer.host} because {why}"

    if file.holder == writer.holder:
        why = f"{writer.holder} is already the current lease holder."
        raise Refusal(Java.ALREADY_BEING_CREATED, words(why))
    lease = view.lease_of(file.holder)
    if lease is None:
        why = "the file is under construction but no leases found."
        raise Refusal(Java.ALREADY_BEING_CREATED, words(why))
    if writer.is_soft_limit_over(file.holder, lease.version):
        if release(view, tx, chain, node, None):
            return None
        return Refusal(Java.RECOVERY_IN_PROGRESS, words("lease recovery is in progress. Try again later."))
    owner = f"{file.holder} on {file.client}"
    if file.blocks and file.blocks[-1].state is BlockState.UNDER_RECOVERY:
        raise Refusal(Java.RECOVERY_IN_PROGRESS, words(f"another recovery is in progress by {owner}"))
    raise Refusal(Java.ALREADY_BEING_CREATED, words(f"this file lease is currently owned by {owner}"))


def recover_lease(view: View, tx: Transaction, caller: Caller, holder: str) -> bool:
    """Close a file, whichever client writes it, or begin its recovery. Return whether it is closed."""
    chain = reached(view, caller)
    node = file_of(chain)
    if not node.inode.is_open:
        return True
    check_access(caller, chain, WRITE)
    return release(view, tx, chain, node, holder)


def is_file_closed(view: View, caller: Caller) -> bool:
    """Tell whether a file is not being written."""
    chain = reached(view, caller)
    return not file_of(chain).inode.is_open


def release(view: View, tx: Transaction, chain: Chain, node: Node, new_holder: str | None) -> bool:
    """Close an open file, or begin to recover its last block. Return whether it is closed.

    Args:
        view: the data that was read.
        tx: gets the changes.
        chain: the file's path.
        node: the file.
        new_holder: gets the lease if the file is not closed now; None: the holder keeps it, and it is renewed.

    Raises:
        Refusal: the file cannot be closed now; a later retry may succeed.
    """
    blocks = tx.now(node).blocks
    complete = next(
        (at for at, block in enumerate(blocks) if block.state is not BlockState.COMPLETE), len(blocks)
    )
    if complete == len(blocks):
        close(tx, chain, node)
        return True
    left = len(blocks) - complete
    if left > 2 or (left == 2 and blocks[complete].state is not BlockState.COMMITTED):  # noqa: PLR2004 - last, penultimate
        raise io_error(
            "DIR* NameSystem.internalReleaseLease: attempt to release a create lock on "
            f"{chain.path} but file is already closed."
        )
    last = blocks[-1]
    has_penultimate = len(blocks) == 1 or is_held(view, blocks[-2])
    if last.state is BlockState.COMMITTED:
        if has_penultimate and is_held(view, last):
            close(tx, chain, node)
            return True
        if not has_penultimate:
            raise Refusal(
                Java.ALREADY_BEING_CREATED,
                f"DIR* NameSystem.internalReleaseLease: Failed to release lease for file {chain.path}. "
                "Committed blocks are waiting to be minimally replicated.",
            )
    if last.state is not BlockState.UNDER_RECOVERY:
        _begin_recovery(tx, chain, node, last)
    if new_holder is None:
        tx.renew(node.inode.holder)
    elif new_holder != node.inode.holder:
        tx.release(node.inode.holder, node.inode.id)
        tx.lease(new_holder, node.inode.id)
        tx.change(node, holder=new_holder)
    return False


def is_held(view: View, block: Block) -> bool:
    """Tell whether a block is minimally replicated: a DataNode holds it, under its stamp or a later one."""
    replicas = view.replicas_of(block.id)
    return replicas is not None and any(
        replica.stamp >= block.stamp and not replica.is_corrupt for replica in replicas.held.values()
    )


def _begin_recovery(tx: Transaction, chain: Chain, node: Node, last: Block) -> None:
    begun = msgspec.structs.replace(
        last, state=BlockState.UNDER_RECOVERY, recovery_id=max(last.stamp, last.recovery_id) + 1
    )
    change_file(tx, chain, node, verify=False, blocks=(*tx.now(node).blocks[:-1], begun))
    order_recovery(tx, node.inode.id, begun)


def order_recovery(tx: Transaction, file: int, block: Block) -> None:
    """Queue the recovery of a block."""
    order = Recovery(file=file, block=block.id, recovery_id=block.recovery_id, truncate_to=block.truncate_to)
    tx.write(CreateOp(f"{layout.RECOVER}/{block.id}", encode(order)))


def close(tx: Transaction, chain: Chain, node: Node) -> None:
    """Close a file. Each of its blocks must be on some DataNode."""
    file = tx.now(node)
    blocks = tuple(msgspec.structs.replace(block, state=BlockState.COMPLETE) for block in file.blocks)
    tx.release(file.holder, file.id)
    closed = change_file(tx, chain, node, verify=False, blocks=blocks, holder="", client="", mtime=tx.now_ms)
    tx.log(Close(chain.path, closed.length, closed.mtime))


def drop_block(view: View, tx: Transaction, block: Block) -> None:
    """Remove a block from the store, and queue its replicas for deletion."""
    replicas = view.replicas_of(block.id)
    if replicas is not None:
        tx.write(*dropped(block.id, replicas))


def dropped(block: int, replicas: BlockReplicas) -> list[ZnodeOp]:
    """Return the operations that remove a block from the store and queue its replicas for deletion."""
    return [
        *(
            CreateOp(layout.deletion(name, block), b"")
            for name in {*replicas.location.targets, *replicas.held}
        ),
        *(DeleteOp(layout.replica(block, name)) for name in replicas.held),
        DeleteOp(layout.location(block)),
        *([] if replicas.waiting is None else [DeleteOp(layout.waiting(block))]),
    ]


def look_again(block: int, waiting: int | None) -> ZnodeOp:
    """Return the operation that queues a block's replica check; a concurrent transaction that ends it then fails."""
    path = layout.waiting(block)
    return CreateOp(path, b"") if waiting is None else SetDataOp(path, b"")


def put_replica(block: int, datanode: str, replica: Replica, *, is_held: bool) -> ZnodeOp:
    """Return the operation that records a DataNode's replica."""
    path, data = layout.replica(block, datanode), encode(replica)
    return SetDataOp(path, data) if is_held else CreateOp(path, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The result of a block's recovery: no data, or a length at these DataNodes."""

    order: Recovery
    length: int = 0
    datanodes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no replica has a byte: the block is then dropped."""
        return not self.datanodes


def commit_synchronization(view: View, tx: Transaction, recovered: Recovered) -> None:
    """Store the result of a recovery. Close the file, unless another of its blocks is not complete.

    Queue a replica check for a watched block: the recovery may have left out some DataNodes.

    Raises:
        Refusal: a later recovery has begun.
    """
    (chain,) = view.chains
    order = recovered.order
    tx.write(DeleteOp(f"{layout.RECOVER}/{order.block}"))
    node = chain.last
    if node is None:  # the file was deleted
        return
    file: Inode = node.inode
    last = file.blocks[-1] if file.blocks else None
    if not file.is_open or last is None or last.id != order.block or last.state is BlockState.COMPLETE:
        return
    if last.recovery_id != order.recovery_id:
        raise io_error(
            f"The recovery id {order.recovery_id} does not match current recovery id {last.recovery_id} "
            f"for block {last}"
        )
    if recovered.is_empty:
        drop_block(view, tx, last)
        change_file(tx, chain, node, verify=False, blocks=file.blocks[:-1])
    else:
        replicas = view.replicas_of(last.id)
        assert replicas is not None, "the block of a file has a location"
        replica = Replica(stamp=order.recovery_id, length=recovered.length)
        for datanode in recovered.datanodes:
            tx.write(put_replica(last.id, datanode, replica, is_held=datanode in replicas.held))
        for datanode in replicas.held.keys() - set(recovered.datanodes):
            tx.write(DeleteOp(layout.replica(last.id, datanode)))
        for datanode in {*replicas.location.targets, *replicas.held} - set(recovered.datanodes):
            tx.write(CreateOp(layout.deletion(datanode, last.id), b""))
        location = Location(file=file.id, targets=recovered.datanodes)
        tx.write(SetDataOp(layout.location(last.id), encode(location), replicas.version))
        if tx.is_watched:
            tx.write(look_again(last.id, replicas.waiting))
        done = Block(last.id, order.recovery_id, recovered.length, BlockState.COMPLETE)
        change_file(tx, chain, node, verify=False, blocks=(*file.blocks[:-1], done))
    if all(block.state is BlockState.COMPLETE for block in tx.now(node).blocks):
        close(tx, chain, node)
