"""Append the blocks of files to another file of the same directory.

Source: FSDirConcatOp of Hadoop 3.5.0.
"""

from nncache.coordination.zookeeper import CreateOp, SetDataOp
from nncache.namenode.namespace import events, layout
from nncache.namenode.namespace.files import file_of
from nncache.namenode.namespace.inode import Block, Location, encode
from nncache.namenode.namespace.permissions import (
    READ,
    WRITE,
    Caller,
    check_access,
    check_parent,
    check_traverse,
)
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View


def concat(view: View, tx: Transaction, caller: Caller) -> None:
    """Move all blocks of the sources, the later paths, to the target, the first path; remove the sources.

    With `is_watched`, the moved blocks get as many replicas as the target wants.
    """
    target, *sources = view.chains
    check_traverse(caller, target)
    check_access(caller, target, WRITE)
    node = file_of(target)
    if node.inode.is_open:
        raise _illegal(f"concat: target file {target.path} is under construction")
    found = [_source(caller, chain, target, node) for chain in sources]
    if len({each.inode.id for each in found}) < len(found):
        raise _illegal("concat: at least two of the source files are the same")
    view.need_replicas(block.id for source in found for block in source.inode.blocks)
    blocks: list[Block] = list(node.inode.blocks)
    for source in found:
        blocks += source.inode.blocks
        for block in source.inode.blocks:
            replicas = view.replicas_of(block.id)
            if replicas is not None:
                location = Location(file=node.inode.id, targets=replicas.location.targets)
                tx.write(SetDataOp(layout.location(block.id), encode(location), replicas.version))
        tx.remove(source)
    joined = tx.change(node, blocks=tuple(blocks), mtime=tx.now_ms)
    tx.consume(target, -len(found), joined.space - sum(each.inode.space for each in (node, *found)))
    if tx.is_watched and any(_is_to_be_looked_at(view, source, node.inode.replication) for source in found):
        tx.write(CreateOp(layout.waiting_file(node.inode.id, node.version), b""))
    tx.touch(node.inode.parent)
    tx.log(*events.joined(target.path, (chain.asked for chain in sources), tx.now_ms))


def _is_to_be_looked_at(view: View, source: Node, wanted: int) -> bool:
    """Tell whether a source's blocks may lack wanted replicas, or have more; its queued checks are lost with it."""
    if source.inode.replication != wanted:
        return True
    found = [(block, view.replicas_of(block.id)) for block in source.inode.blocks]
    return any(replicas is not None and len(replicas.good(block)) != wanted for block, replicas in found)


def _source(caller: Caller, chain: Chain, target: Chain, into: Node) -> Node:
    """Return a source, if it may be appended to the target file."""
    check_traverse(caller, chain)
    check_access(caller, chain, READ)
    check_parent(caller, chain)
    node = file_of(chain)
    file, path = node.inode, chain.asked
    if file.parent != into.inode.parent:
        raise _illegal(f"Source file {path} is not in the same directory with the target {target.path}")
    if file.id == into.inode.id:
        raise _illegal(f"concat: the src file {path} is the same with the target file {target.path}")
    if file.is_open or not file.blocks:
        raise _illegal(f"concat: source file {path} is invalid or empty or underConstruction")
    if file.block_size > into.inode.block_size:
        raise _illegal(
            f"concat: source file {path} has preferred block size {file.block_size} which is greater than the "
            f"target file's preferred block size {into.inode.block_size}"
        )
    return node


def _illegal(message: str) -> Refusal:
    return Refusal(Java.HADOOP_ILLEGAL_ARGUMENT, message)
