"""Reads of the namespace; they change at most an access time.

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
"""A read updates an access time that is older than this (dfs.namenode.accesstime.precision)."""


def status(view: View, caller: Caller) -> FileStatus:
    """Return the status of the file or directory at a path."""
    node = found(view, caller)
    if node is None:
        raise not_found(f"File does not exist: {view.chains[0].asked}")
    return status_of(node, policy_of([node.inode for node in view.chains[0].nodes]))


def found(view: View, caller: Caller) -> Node | None:
    """Return the node at a path, None if it is missing. The superuser gets None, not a refusal, below a file."""
    (chain,) = view.chains
    if not caller.is_superuser:
        check_traverse(caller, chain)
    return chain.last


def status_of(node: Node, policy: int, suffix: str = "") -> FileStatus:
    """Return the status of an inode with its effective storage policy."""
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
    """Return the file or directory to list, and its effective storage policy."""
    chain = reached(view, caller)
    if chain.last is None:
        raise not_found(f"File {chain.asked} does not exist.")
    if chain.last.inode.is_directory:
        check_access(caller, chain, READ | EXECUTE)
    return chain.last, policy_of([node.inode for node in chain.nodes])


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSummary:
    """The totals of a tree."""

    is_directory: bool
    directories: int
    files: int
    length: int
    space: int
    names_quota: int
    space_quota: int


def content_summary(view: View, caller: Caller, *, as_usage: bool = False) -> ContentSummary:
    """Return the totals of a tree; the caller needs access to all its directories. `as_usage`: for GETQUOTAUSAGE."""
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
    """Return a file that the caller may read, and update its access time if that is old."""
    chain = reached(view, caller)
    node = file_of(chain)
    check_access(caller, chain, READ)
    if tx.now_ms > node.inode.atime + ACCESS_TIME_PRECISION_MS:
        tx.log(MetadataUpdate(path=chain.path, kind=MetadataKind.TIMES, mtime=-1, atime=tx.now_ms))
        return tx.change(node, atime=tx.now_ms)
    return node.inode


def check_may(view: View, caller: Caller, access: int) -> None:
    """Check that a path exists and that the caller has these permissions on it."""
    chain = reached(view, caller)
    if chain.last is None:
        raise not_found(f"Path not found: {chain.path}")
    check_access(caller, chain, access)


def policy(view: View, caller: Caller) -> int:
    """Return the effective storage policy of a path; 0: the default."""
    chain = reached(view, caller)
    check_access(caller, chain, READ)
    if chain.last is None:
        raise not_found(f"File/Directory does not exist: {chain.path}")
    return policy_of([node.inode for node in chain.nodes])
