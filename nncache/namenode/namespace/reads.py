"""What is answered without changing anything, but for an access time.

Source: FSDirStatAndListingOp of Hadoop 3.5.0.
"""

from dataclasses import dataclass
from typing import Final

from nncache.hadoop.events import MetadataKind, MetadataUpdate
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.namenode.namespace.attributes import policy_of, shown_quota
from nncache.namenode.namespace.files import file_of
from nncache.namenode.namespace.inode import ROOT_ID, Inode
from nncache.namenode.namespace.permissions import (
    EXECUTE,
    READ,
    Caller,
    check_access,
    check_below,
    check_each,
    check_traverse,
    reached,
)
from nncache.namenode.namespace.refusal import not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Node, View

ACCESS_TIME_PRECISION_MS: Final = 3_600_000
"""A read sets the access time if it is older (dfs.namenode.accesstime.precision)."""


def status(view: View, caller: Caller) -> FileStatus:
    """Return the status of what a path names."""
    node = found(view, caller)
    if node is None:
        raise not_found(f"File does not exist: {view.chains[0].asked}")
    return status_of(node, policy_of([node.inode for node in view.chains[0].nodes]))


def found(view: View, caller: Caller) -> Node | None:
    """Return what a path names, if the caller may go there; for the superuser there is nothing below a file."""
    (chain,) = view.chains
    if not caller.is_superuser:
        check_traverse(caller, chain)
    return chain.last


def status_of(node: Node, policy: int, suffix: str = "") -> FileStatus:
    """Return the status of an inode, with the storage policy that holds for it."""
    inode = node.inode
    return FileStatus(
        type=FileType.DIRECTORY if inode.is_directory else FileType.FILE,
        path_suffix=suffix,
        length=0 if inode.is_directory else inode.length,
        owner=inode.owner,
        group=inode.group,
        permission=f"{inode.mode:o}",
        access_time=inode.atime,
        modification_time=node.mtime if inode.is_directory else inode.mtime,
        block_size=inode.block_size,
        replication=inode.replication,
        file_id=inode.id,
        children_num=node.children,
        storage_policy=policy,
        acl_bit=bool(inode.acl),
        snapshot_enabled=inode.is_snapshottable or inode.id == ROOT_ID,
    )


def listed(view: View, caller: Caller) -> tuple[Node, int]:
    """Return the file or directory to be listed, with its storage policy."""
    chain = reached(view, caller)
    if chain.last is None:
        raise not_found(f"File {chain.asked} does not exist.")
    if chain.last.inode.is_directory:
        check_access(caller, chain, READ | EXECUTE)
    return chain.last, policy_of([node.inode for node in chain.nodes])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSummary:
    """What a tree holds."""

    is_directory: bool
    directories: int
    files: int
    length: int
    space: int
    names_quota: int
    space_quota: int


def content_summary(view: View, caller: Caller, *, as_usage: bool = False) -> ContentSummary:
    """Return what a tree holds; all its directories must be open to the caller. `as_usage` words a refusal."""
    chain = reached(view, caller)
    node = chain.last
    if node is None:
        what = "File/Directory does not exist" if as_usage else "File does not exist"
        raise not_found(f"{what}: {chain.path}")
    tree = view.tree_of(node)
    if as_usage:
        check_below(caller, chain.path, tree, READ | EXECUTE, ignore_empty=False)
    else:
        check_each(caller, chain.path, tree, READ | EXECUTE)
    inodes = [each.inode for each in tree.nodes()]
    files = [inode for inode in inodes if not inode.is_directory]
    names_quota, space_quota = shown_quota(node.inode)
    return ContentSummary(
        is_directory=node.inode.is_directory,
        directories=len(inodes) - len(files),
        files=len(files),
        length=sum(inode.length for inode in files),
        space=sum(inode.space for inode in files),
        names_quota=names_quota,
        space_quota=space_quota,
    )


def readable(view: View, tx: Transaction, caller: Caller) -> Inode:
    """Return a file that the caller may read, and set its access time if it is old."""
    chain = reached(view, caller)
    node = file_of(chain)
    check_access(caller, chain, READ)
    if tx.now_ms > node.inode.atime + ACCESS_TIME_PRECISION_MS:
        tx.log(MetadataUpdate(path=chain.path, kind=MetadataKind.TIMES, mtime=-1, atime=tx.now_ms))
        return tx.change(node, atime=tx.now_ms)
    return node.inode


def check_may(view: View, caller: Caller, access: int) -> None:
    """See that the caller has these rights to what a path names."""
    chain = reached(view, caller)
    if chain.last is None:
        raise not_found(f"Path not found: {chain.path}")
    check_access(caller, chain, access)


def policy(view: View, caller: Caller) -> int:
    """Return the storage policy that holds for what a path names; 0: the default one."""
    chain = reached(view, caller)
    check_access(caller, chain, READ)
    if chain.last is None:
        raise not_found(f"File/Directory does not exist: {chain.path}")
    return policy_of([node.inode for node in chain.nodes])
