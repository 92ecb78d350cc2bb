"""Mode, owner, times, replication, storage policy, quotas, extended attributes.

Source: FSDirAttrOp and FSDirXAttrOp of Hadoop 3.5.0.
"""

from collections.abc import Sequence
from typing import Final

from nncache.coordination.zookeeper import CreateOp
from nncache.hadoop.events import MetadataKind, MetadataUpdate
from nncache.namenode.namespace import events, layout
from nncache.namenode.namespace.create import check_replication
from nncache.namenode.namespace.files import change_file, counted, existing
from nncache.namenode.namespace.inode import NO_QUOTA, ROOT_ID, UNLIMITED, Inode, Quota
from nncache.namenode.namespace.permissions import (
    READ,
    STICKY,
    WRITE,
    Caller,
    check_access,
    check_owner,
    check_superuser,
    check_traverse,
    reached,
)
from nncache.namenode.namespace.refusal import Java, Refusal, denied, io_error, not_found
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node, View

XATTR_NAMESPACES: Final = ("user", "trusted", "security", "system", "raw")
MAX_XATTRS: Final = 32
MAX_XATTR_BYTES: Final = 16_384

POLICIES: Final = {
    "PROVIDED": 1, "COLD": 2, "WARM": 5, "HOT": 7, "ONE_SSD": 10, "ALL_SSD": 12, "ALL_NVDIMM": 14, "LAZY_PERSIST": 15,
}  # fmt: skip
"""Numbers of the storage policies, by name. Policies are stored but have no effect."""

_LAZY_PERSIST: Final = (
    "BlockStoragePolicy{LAZY_PERSIST:15, storageTypes=[RAM_DISK, DISK], creationFallbacks=[DISK], "
    "replicationFallbacks=[DISK]}"
)


def set_permission(view: View, tx: Transaction, caller: Caller, mode: int) -> None:
    """Set the mode. With an ACL, the group bits are its mask."""
    chain = reached(view, caller)
    check_owner(caller, chain)
    node = existing(chain)
    if mode != node.inode.mode:
        tx.change(node, mode=mode)
        tx.log(MetadataUpdate(path=chain.path, kind=MetadataKind.PERMS, permission=f"{mode:o}"))


def set_owner(view: View, tx: Transaction, caller: Caller, owner: str | None, group: str | None) -> None:
    """Set owner and group; None leaves either unchanged."""
    chain = reached(view, caller)
    check_owner(caller, chain)
    if not caller.is_superuser:
        if owner is not None and owner != caller.user:
            raise denied(f"User {caller.user} is not a super user (non-super user cannot change owner).")
        if group is not None and group not in caller.groups:
            raise denied(f"User {caller.user} does not belong to {group}")
    node = existing(chain)
    fields = {"owner": owner or node.inode.owner, "group": group or node.inode.group}
    if fields != {"owner": node.inode.owner, "group": node.inode.group}:
        tx.change(node, **fields)
        tx.log(MetadataUpdate(path=chain.path, kind=MetadataKind.OWNER, owner=owner or "", group=group or ""))


def set_times(view: View, tx: Transaction, caller: Caller, mtime: int, atime: int) -> None:
    """Set the modification and access times in ms; -1 leaves either unchanged."""
    chain = reached(view, caller)
    check_access(caller, chain, WRITE)
    node = chain.last
    if node is None:
        raise not_found(f"File/Directory {chain.path} does not exist.")
    if atime != -1:
        tx.change(node, atime=atime)
    if mtime != -1:
        if node.inode.is_directory:
            tx.change(node)  # guards the inode: `touch` checks no version
            tx.touch(node, mtime)
        else:
            tx.change(node, mtime=mtime)
    if (mtime, atime) != (-1, -1):
        tx.log(MetadataUpdate(path=chain.path, kind=MetadataKind.TIMES, mtime=mtime, atime=atime))


def set_replication(view: View, tx: Transaction, caller: Caller, replication: int) -> bool:
    """Set a file's replication; with `is_watched`, queue a replica check. Return False if the path is no file."""
    (chain,) = view.chains
    check_replication(chain.asked, replication)
    check_traverse(caller, chain)
    check_access(caller, chain, WRITE)
    node = chain.last
    if node is None or node.inode.is_directory:
        return False
    change_file(tx, chain, node, replication=replication)
    if tx.is_watched:
        tx.write(CreateOp(layout.waiting_file(node.inode.id, node.version), b""))
    tx.log(MetadataUpdate(path=chain.path, kind=MetadataKind.REPLICATION, replication=replication))
    return True


def set_storage_policy(view: View, tx: Transaction, caller: Caller, policy: str) -> None:
    """Set the storage policy."""
    if policy.upper() not in POLICIES:
        message = f"Cannot find a block policy with the name {policy}"
        raise Refusal(Java.HADOOP_ILLEGAL_ARGUMENT, message)
    _set_policy(view, tx, caller, POLICIES[policy.upper()])


def unset_storage_policy(view: View, tx: Transaction, caller: Caller) -> None:
    """Inherit the storage policy of the parent directory."""
    _set_policy(view, tx, caller, 0)


def _set_policy(view: View, tx: Transaction, caller: Caller, policy: int) -> None:
    (chain,) = view.chains
    check_traverse(caller, chain)
    check_access(caller, chain, WRITE)
    node = chain.last
    if node is None:
        raise not_found(f"File/Directory does not exist: {chain.path}")
    if policy == POLICIES["LAZY_PERSIST"] and not node.inode.is_directory:
        raise Refusal(
            Java.HADOOP_ILLEGAL_ARGUMENT, f"Policy {_LAZY_PERSIST} cannot be set after file creation."
        )
    tx.change(node, policy=policy)


def policy_of(inodes: Sequence[Inode]) -> int:
    """Return the effective storage policy of the last inode of a path; 0: the default."""
    return next((inode.policy for inode in reversed(inodes) if inode.policy), 0)


# ---- quotas --------------------------------------------------------------------------------------------------------


def set_quota(view: View, tx: Transaction, caller: Caller, names: int, space: int) -> None:
    """Set a directory's quotas: NO_QUOTA removes a quota, UNLIMITED leaves it unchanged."""
    (chain,) = view.chains
    if not caller.is_superuser:
        check_superuser(caller, _quota_command(names, space))
    check_traverse(caller, chain)
    node = chain.last
    if node is None:
        raise not_found(f"Directory does not exist: {chain.path}")
    if not node.inode.is_directory:
        raise Refusal(Java.PATH_IS_NOT_DIRECTORY, f"`{chain.path}': Is not a directory")
    old = node.inode.quota
    if names == UNLIMITED:
        names = old.names if old is not None else NO_QUOTA
    if space == UNLIMITED:
        space = old.space if old is not None else NO_QUOTA
    if names == space == NO_QUOTA:
        tx.change(node, quota=None)
        return
    used_names, used_space = counted(view.tree_of(node))
    tx.change(node, quota=Quota(names=names, space=space, used_names=used_names, used_space=used_space))


def _quota_command(names: int, space: int) -> str:
    """Return the NameNode's name of the operation (FSNamesystem.getQuotaCommand)."""
    if names == NO_QUOTA and space == UNLIMITED:
        return "clearQuota"
    if names == UNLIMITED and space == NO_QUOTA:
        return "clearSpaceQuota"
    return "setQuota" if space == UNLIMITED else "setSpaceQuota"


def shown_quota(inode: Inode) -> tuple[int, int]:
    """Return the quotas of names and bytes that answers report; the root without a quota of names has UNLIMITED."""
    if inode.quota is None:
        return (UNLIMITED if inode.id == ROOT_ID else NO_QUOTA), NO_QUOTA
    names = inode.quota.names
    return (UNLIMITED if inode.id == ROOT_ID and names == NO_QUOTA else names), inode.quota.space


# ---- extended attributes -------------------------------------------------------------------------------------------


def parse_xattr_name(name: str) -> tuple[str, str]:
    """Return an attribute's namespace and the name within it (XAttrHelper.buildXAttr)."""
    space, dot, rest = name.partition(".")
    if not dot or space.lower() not in XATTR_NAMESPACES:
        raise Refusal(
            Java.HADOOP_ILLEGAL_ARGUMENT,
            "An XAttr name must be prefixed with user/trusted/security/system/raw, followed by a '.'",
        )
    if not rest:
        raise Refusal(Java.HADOOP_ILLEGAL_ARGUMENT, "XAttr name cannot be empty.")
    return space.lower(), rest


def set_xattr(
    view: View, tx: Transaction, caller: Caller, name: str, value: bytes, flags: frozenset[str]
) -> None:
    """Set an extended attribute. Flags: CREATE permits a new one, REPLACE an existing one."""
    (chain,) = view.chains
    space, rest = parse_xattr_name(name)
    if len(rest.encode()) + len(value) > MAX_XATTR_BYTES:
        raise Refusal(
            Java.HADOOP_ILLEGAL_ARGUMENT,
            "The XAttr is too big. The maximum combined size of the name and value is "
            f"{MAX_XATTR_BYTES}, but the total size is {len(rest.encode()) + len(value)}",
        )
    node = _to_be_changed(chain, caller, space, rest)
    full = f"{space}.{rest}"
    if full in node.inode.xattrs:
        if "REPLACE" not in flags:
            raise io_error(f"XAttr: {rest} already exists. The REPLACE flag must be specified.")
    elif "CREATE" not in flags:
        raise io_error(f"XAttr: {rest} does not exist. The CREATE flag must be specified.")
    xattrs = {full: value} | {key: kept for key, kept in node.inode.xattrs.items() if key != full}
    if len(xattrs) > MAX_XATTRS:
        raise io_error(f"Cannot add additional XAttr to inode, would exceed limit of {MAX_XATTRS}")
    tx.change(node, xattrs=xattrs)
    tx.log(events.xattr_changed(chain.path, space, rest, value))


def remove_xattr(view: View, tx: Transaction, caller: Caller, name: str) -> None:
    """Remove an extended attribute."""
    (chain,) = view.chains
    space, rest = parse_xattr_name(name)
    node = _to_be_changed(chain, caller, space, rest)
    kept = {key: value for key, value in node.inode.xattrs.items() if key != f"{space}.{rest}"}
    if len(kept) == len(node.inode.xattrs):
        raise io_error("No matching attributes found for remove operation")
    tx.change(node, xattrs=kept)
    tx.log(events.xattr_changed(chain.path, space, rest, None))


def get_xattrs(view: View, caller: Caller, names: Sequence[str] = ()) -> list[tuple[str, bytes]]:
    """Return the attributes of these names; without names, all that the caller may see."""
    (chain,) = view.chains
    wanted = [parse_xattr_name(name) for name in names]
    for space, rest in wanted:
        _check_xattr_namespace(caller, space, rest)
    check_traverse(caller, chain)
    check_access(caller, chain, READ)
    found = {
        name: value
        for name, value in existing(chain).inode.xattrs.items()
        if name.startswith("user.") or (name.startswith("trusted.") and caller.is_superuser)
    }
    if not wanted:
        return list(found.items())
    try:
        return [(f"{space}.{rest}", found[f"{space}.{rest}"]) for space, rest in wanted]
    except KeyError:
        message = "At least one of the attributes provided was not found."
        raise Refusal(Java.XATTR_NOT_FOUND, message) from None


def _check_xattr_namespace(caller: Caller, space: str, name: str) -> None:
    if space != "user" and not (space == "trusted" and caller.is_superuser):
        raise denied(f"User doesn't have permission for xattr: {space}.{name}")


def _to_be_changed(chain: Chain, caller: Caller, space: str, name: str) -> Node:
    """Return what has an attribute, if the caller may change that."""
    _check_xattr_namespace(caller, space, name)
    check_traverse(caller, chain)
    node = chain.last
    if space == "user" and node is not None and node.inode.is_directory and node.inode.mode & STICKY:
        check_owner(caller, chain)
    elif space == "user":
        check_access(caller, chain, WRITE)
    return existing(chain)
