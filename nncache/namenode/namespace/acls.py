"""ACL rules: changes of entries, masks, and the entries that a new child inherits.

Source: AclTransformation and AclStorage of Hadoop 3.5.0. With entries for named users or groups, the group bits of an
inode's mode hold the mask, and the owning group's entry is stored among the ACL entries.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from nncache.namenode.namespace import events
from nncache.namenode.namespace.files import existing
from nncache.namenode.namespace.inode import AclEntry, Inode
from nncache.namenode.namespace.permissions import ALL, Caller, check_owner, reached, symbol
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import View

MAX_ENTRIES: Final = 32
_TYPES: Final = ("user", "group", "mask", "other")
_REQUIRED: Final = ("user", "group", "other")

Acl: TypeAlias = tuple[AclEntry, ...]
Change: TypeAlias = Callable[[Acl, Sequence[AclEntry]], Acl]


def change_acl(
    view: View, tx: Transaction, caller: Caller, change: Change, entries: Sequence[AclEntry] = ()
) -> None:
    """Change the ACL of a path's inode. `change`: `merge`, `remove`, `replace`, `without_default` or `minimal`."""
    chain = reached(view, caller)
    check_owner(caller, chain)
    node = chain.last
    assert node is not None, "check_owner has seen that it is there"
    try:
        acl = change(full_acl(node.inode), entries)
        if any(entry.is_default for entry in acl) and not node.inode.is_directory:
            raise _invalid(f"Invalid ACL: only directories may have a default ACL. Path: {chain.path}")
    except Refusal as refused:
        raise Refusal(refused.java, f"{refused.message} Path: {chain.path}") from refused
    mode, kept = _stored(acl, node.inode.mode)
    tx.change(node, mode=mode, acl=kept)
    is_removed = change is minimal or (change is replace and not entries)
    tx.log(events.acl_set(chain.path, () if is_removed else acl))


def full_acl(inode: Inode) -> Acl:
    """Return all ACL entries of an inode, including those that its mode encodes."""
    access = [entry for entry in inode.acl if not entry.is_default]
    default = [entry for entry in inode.acl if entry.is_default]
    owners, groups, others = _bits(inode.mode)
    middle = [*access, _entry("mask", groups)] if access else [_entry("group", groups)]
    return (_entry("user", owners), *middle, _entry("other", others), *default)


def shown(inode: Inode) -> tuple[str, ...]:
    """Return the stored entries in the format of GETACLSTATUS."""
    return tuple(
        f"{'default:' if each.is_default else ''}{each.type}:{each.name}:{symbol(each.permission << 6)[:3]}"
        for each in inode.acl
    )


def inherited(parent: Inode, mode: int, unmasked: int | None, *, is_directory: bool) -> tuple[int, Acl]:
    """Return the mode and the entries of a new child of a directory (AclStorage.copyINodeDefaultAcl).

    A default ACL replaces the umask: the mode before the umask then applies.
    """
    defaults = tuple(entry for entry in parent.acl if entry.is_default)
    if not defaults:
        return mode, ()
    asked = mode if unmasked is None else unmasked
    owners, groups, others = _bits(asked)
    is_minimal = len(defaults) == len(_REQUIRED)
    access = tuple(
        AclEntry(
            is_default=False,
            type=each.type,
            name=each.name,
            permission=each.permission & _limit(each, owners, groups, others, is_minimal=is_minimal),
        )
        for each in defaults
    )
    return _stored((*access, *defaults) if is_directory else access, asked)


def _limit(entry: AclEntry, owners: int, groups: int, others: int, *, is_minimal: bool) -> int:
    if entry.type == "user" and not entry.name:
        return owners
    if entry.type == "mask" or (entry.type == "group" and is_minimal):
        return groups
    return others if entry.type == "other" else ALL


def merge(existing: Acl, spec: Sequence[AclEntry]) -> Acl:
    """Change and add entries (MODIFYACLENTRIES)."""
    given = _by_key(spec)
    known = set(map(_key, existing))
    kept = [each for each in existing if _key(each) not in given]
    new = [each for each in spec if _key(each) not in known or each is given[_key(each)]]
    return _built(kept, new, dirty=spec)


def remove(existing: Acl, spec: Sequence[AclEntry]) -> Acl:
    """Remove entries (REMOVEACLENTRIES)."""
    given = _by_key(spec)
    removed = [each for each in existing if _key(each) in given]
    return _built([each for each in existing if _key(each) not in given], (), dirty=removed)


def replace(existing: Acl, spec: Sequence[AclEntry]) -> Acl:
    """Replace all entries of the scopes that `spec` names (SETACL). An empty `spec` removes the ACL."""
    if not spec:
        return minimal(existing, spec)
    _check_number(spec)
    scopes = {each.is_default for each in spec}
    kept = [each for each in existing if each.is_default not in scopes]
    return _built(kept, spec, dirty=spec)


def without_default(existing: Acl, _: Sequence[AclEntry]) -> Acl:
    """Remove the default entries (REMOVEDEFAULTACL)."""
    return tuple(each for each in existing if not each.is_default)


def minimal(existing: Acl, _: Sequence[AclEntry]) -> Acl:
    """Keep only the owner, group and other entries; the group keeps its own permissions (REMOVEACL)."""
    return tuple(each for each in existing if not (each.is_default or each.name or each.type == "mask"))


def _built(kept: Sequence[AclEntry], new: Iterable[AclEntry], *, dirty: Iterable[AclEntry]) -> Acl:
    """Combine the entries, add missing default entries, compute the masks, and validate the ACL."""
    changed, added = tuple(dirty), tuple(new)
    scopes = {each.is_default for each in changed}
    masks = {each.is_default: each for each in (*kept, *added) if each.type == "mask"}
    dirty_masks = {each.is_default for each in changed if each.type == "mask"}
    entries = [each for each in (*kept, *added) if each.type != "mask"]
    entries += _defaults_to_copy(entries)
    for scope in {each.is_default for each in entries}:
        of_scope = [each for each in entries if each.is_default is scope]
        is_needed = any(each.name for each in of_scope)
        if scope not in masks and is_needed and scope in dirty_masks:
            raise _invalid("Invalid ACL: mask is required and cannot be deleted.")
        if scope in masks and (scope not in scopes or scope in dirty_masks):
            entries.append(masks[scope])
        elif is_needed or scope in masks:
            union = 0
            for each in of_scope:
                if each.type == "group" or each.name:
                    union |= each.permission
            entries.append(AclEntry(is_default=scope, type="mask", name="", permission=union))
    return _checked(entries)


def _defaults_to_copy(entries: Sequence[AclEntry]) -> list[AclEntry]:
    """Return copies of access entries for missing default entries; empty if there is no default entry."""
    has = {each.type for each in entries if each.is_default and not each.name}
    if not any(each.is_default for each in entries):
        return []
    return [
        AclEntry(is_default=True, type=each.type, name="", permission=each.permission)
        for each in entries
        if not each.is_default and not each.name and each.type in _REQUIRED and each.type not in has
    ]


def _checked(entries: Sequence[AclEntry]) -> Acl:
    ordered = tuple(sorted(entries, key=_key))
    for one, other in pairwise(ordered):
        if _key(one) == _key(other):
            raise _invalid("Invalid ACL: multiple entries with same scope, type and name.")
    for each in ordered:
        if each.name and each.type in {"mask", "other"}:
            spelled = f"{'default:' if each.is_default else ''}{each.type}:{each.name}:"
            raise _invalid(
                f"Invalid ACL: this entry type must not have a name: {spelled}{symbol(each.permission << 6)[:3]}."
            )
    _check_number(ordered)
    for scope, words in ((False, "ACL"), (True, "default ACL")):
        unnamed = {each.type for each in ordered if each.is_default is scope and not each.name}
        if (unnamed or not scope) and not unnamed.issuperset(_REQUIRED):
            raise _invalid(f"Invalid {words}: the user, group and other entries are required.")
    return ordered


def _check_number(entries: Sequence[AclEntry]) -> None:
    for scope, words in ((False, "access"), (True, "default")):
        number = sum(each.is_default is scope for each in entries)
        if number > MAX_ENTRIES:
            raise _invalid(
                f"Invalid ACL: ACL has {number} {words} entries, which exceeds maximum of {MAX_ENTRIES}."
            )


def _by_key(spec: Sequence[AclEntry]) -> dict[tuple[bool, int, str], AclEntry]:
    """Return what is given for each entry: of several the first, as HDFS's binary search finds of two."""
    _check_number(spec)
    return {_key(each): each for each in reversed(spec)}


def _stored(acl: Acl, mode: int) -> tuple[int, Acl]:
    """Return the mode that an inode stores for a full ACL, and the entries that the mode cannot encode."""
    access = [entry for entry in acl if not entry.is_default]
    rights = {entry.type: entry.permission for entry in access if not entry.name}
    default = tuple(entry for entry in acl if entry.is_default)
    groups = rights.get("mask", rights["group"])
    kept = mode & ~0o777 | rights["user"] << 6 | groups << 3 | rights["other"]
    if len(access) == len(_REQUIRED):
        return kept, default
    unnamed = {"user", "mask", "other"}
    return kept, (*(each for each in access if each.name or each.type not in unnamed), *default)


def _bits(mode: int) -> tuple[int, int, int]:
    return mode >> 6 & ALL, mode >> 3 & ALL, mode & ALL


def _entry(kind: str, permission: int) -> AclEntry:
    return AclEntry(is_default=False, type=kind, name="", permission=permission)


def _key(entry: AclEntry) -> tuple[bool, int, str]:
    return entry.is_default, _TYPES.index(entry.type), entry.name


def _invalid(message: str) -> Refusal:
    return Refusal(Java.ACL, message)


def acl_status(view: View, caller: Caller) -> Inode:
    """Return the inode whose ACL is requested."""
    chain = reached(view, caller)
    return existing(chain).inode
