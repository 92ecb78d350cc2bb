"""Create a file and open it for writing.

Source: FSNamesystem.startFileInt and FSDirWriteFileOp.startFile of Hadoop 3.5.0.
"""

from dataclasses import dataclass
from typing import Final

from nncache.namenode.namespace import events
from nncache.namenode.namespace.acls import inherited
from nncache.namenode.namespace.delete import detach_file
from nncache.namenode.namespace.inode import Inode
from nncache.namenode.namespace.leases import WritingClient, take_over
from nncache.namenode.namespace.making import (
    Modes,
    NewId,
    check_new_name,
    check_parent_exists,
    check_path_length,
    is_valid,
    make_ancestors,
)
from nncache.namenode.namespace.permissions import WRITE, Caller, check_access, check_ancestor, check_traverse
from nncache.namenode.namespace.refusal import Java, Refusal, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, View

MAX_REPLICATION: Final = 512
MIN_BLOCK_SIZE: Final = 512
"""As on the test bed's clusters (dfs.namenode.fs-limits.min-block-size)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """The parameters of a CREATE."""

    modes: Modes
    replication: int
    block_size: int
    overwrite: bool = False
    create_parent: bool = True
    create: bool = True  # otherwise only an existing file is overwritten


def create(
    view: View, tx: Transaction, caller: Caller, file: NewFile, writer: WritingClient, new_id: NewId
) -> Inode | Refusal:
    """Create a file, and lease it to the writer. A returned Refusal is an answer with changes to commit."""
    (chain,) = view.chains
    check_path_length(chain.asked, "create")
    _check_start(chain, caller, file)
    if file.block_size < MIN_BLOCK_SIZE:
        raise io_error(
            f"Specified block size {file.block_size} is less than configured minimum value "
            f"dfs.namenode.fs-limits.min-block-size={MIN_BLOCK_SIZE}"
        )
    check_replication(chain.path, file.replication, writer.host)
    node = chain.last
    if node is not None:
        if not file.overwrite:
            refusal = take_over(view, tx, chain, node, writer, "CREATE_FILE")
            exists = f"{chain.path} for client {writer.host} already exists"
            return refusal or Refusal(Java.FILE_ALREADY_EXISTS, exists)
        detach_file(tx, chain, node)
    parent = chain.nodes[min(len(chain.nodes), len(chain.names)) - 1].inode
    above = (
        make_ancestors(tx, chain, caller, Modes(parent.mode).for_ancestors(), new_id)
        if node is None
        else parent
    )
    if isinstance(above, Refusal):
        return above
    try:
        check_new_name(chain, len(chain.names) - 1)
        tx.consume(chain, 1, 0)
    except Refusal as refusal:
        return refusal
    mode, acl = inherited(above, file.modes.masked, file.modes.unmasked, is_directory=False)
    made = Inode(
        id=new_id(),
        parent=above.id,
        name=chain.names[-1],
        is_directory=False,
        owner=caller.user,
        group=above.group,
        mode=mode,
        acl=acl,
        mtime=tx.now_ms,
        atime=tx.now_ms,
        replication=file.replication,
        block_size=file.block_size,
        holder=writer.holder,
        client=writer.host,
    )
    tx.make(made)
    tx.log(events.made(chain.path, made, overwrite=file.overwrite))
    tx.touch(above.id)
    tx.lease(writer.holder, made.id)
    return made


def _check_start(chain: Chain, caller: Caller, file: NewFile) -> None:
    """Check that the caller may create the file (resolvePathForStartFile)."""
    if not is_valid(chain.asked) or chain.names[:1] == (".reserved",):
        raise Refusal(Java.INVALID_PATH, f"Invalid path name {chain.asked}")
    check_traverse(caller, chain, creates=True)
    check_ancestor(caller, chain)
    node = chain.last
    if node is None:
        if not file.create_parent:
            check_parent_exists(chain)
        if not file.create:
            raise not_found(f"Can't overwrite non-existent {chain.path}")
        return
    if node.inode.is_directory:
        raise Refusal(Java.FILE_ALREADY_EXISTS, f"{chain.path} already exists as a directory")
    if file.overwrite:
        check_access(caller, chain, WRITE)


def check_replication(path: str, replication: int, host: str | None = None) -> None:
    """Refuse a replication that is too large (BlockManager.verifyReplication)."""
    if replication > MAX_REPLICATION:
        client = "" if host is None else f", clientName={host}"
        raise io_error(
            f"Requested replication factor of {replication} exceeds maximum of {MAX_REPLICATION} for {path}{client}"
        )
