"""ACLs of znodes, and their text form in Hadoop.

Source: org.apache.zookeeper.ZooDefs.Perms; the text is that of `ha.zookeeper.acl` (org.apache.hadoop.util.ZKUtil,
3.4.1): scheme:id:permissions, with the permissions c, d, r, w and a in any order.
"""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

ZOOKEEPER_BYTES_OF_AN_ENTRY: Final = 12  # permissions, and the lengths of scheme and id


class ZnodePerms(enum.IntFlag):
    """Permissions of an ACL entry, with ZooKeeper's own numbers."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16


ALL: Final = ZnodePerms.READ | ZnodePerms.WRITE | ZnodePerms.CREATE | ZnodePerms.DELETE | ZnodePerms.ADMIN
CHANGES: Final = ALL & ~ZnodePerms.READ
"""All permissions except READ."""

_LETTERS: Final[Mapping[str, ZnodePerms]] = {
    "c": ZnodePerms.CREATE,
    "d": ZnodePerms.DELETE,
    "r": ZnodePerms.READ,
    "w": ZnodePerms.WRITE,
    "a": ZnodePerms.ADMIN,
}


@dataclass(frozen=True, slots=True)
class ZnodeAclEntry:
    """The permissions of one identity on a znode; they do not apply to the znode's children."""

    scheme: str  # `sasl`, `x509`, `digest`, `ip`, `world`; `auth` on creation: all the creator's identities
    id: str  # within the scheme, such as `alice@EXAMPLE.COM`
    rights: ZnodePerms  # CREATE and DELETE concern the znode's children

    def __str__(self) -> str:
        letters = "".join(letter for letter, right in _LETTERS.items() if right in self.rights)
        return f"{self.scheme}:{self.id}:{letters}"

    @property
    def is_known_identity(self) -> bool:
        """Whether ZooKeeper has authenticated the identity; False for every client (`world`) or an address (`ip`)."""
        return self.scheme not in {"world", "ip"}


Acl: TypeAlias = tuple[ZnodeAclEntry, ...]

OPEN_ACL: Final[Acl] = (ZnodeAclEntry("world", "anyone", ALL),)
"""Every client has all permissions."""

CREATOR_ALL_ACL: Final[Acl] = (ZnodeAclEntry("auth", "", ALL),)
"""All permissions for the creator alone; ZooKeeper refuses this ACL to a client that it has not authenticated."""


def parse_acl_entry(text: str) -> ZnodeAclEntry:
    """Parse one entry. Raises ValueError if it is invalid; the message says what is allowed."""
    scheme, _, rest = text.partition(":")
    id_, _, letters = rest.rpartition(":")
    if not scheme or not id_ or not letters or not set(letters) <= _LETTERS.keys():
        raise ValueError(
            "must be scheme:id:permissions with the permissions c, d, r, w and a, such as "
            "sasl:nncache-proxy@EXAMPLE.COM:r"
        )
    rights = ZnodePerms(0)
    for letter in letters:
        rights |= _LETTERS[letter]
    return ZnodeAclEntry(scheme, id_, rights)


def shown(acl: Iterable[ZnodeAclEntry]) -> str:
    """Return an ACL as text for people."""
    return ", ".join(map(str, acl)) or "no one"


def is_same(one: Acl, other: Acl) -> bool:
    """Return whether two ACLs grant the same permissions; an identity has those of all its entries."""
    return _merged(one) == _merged(other)


def merged(acl: Iterable[ZnodeAclEntry]) -> Acl:
    """Return an equivalent ACL with one entry per identity."""
    return tuple(ZnodeAclEntry(scheme, id_, rights) for (scheme, id_), rights in _merged(acl).items())


def size_bytes(acl: Iterable[ZnodeAclEntry]) -> int:
    """Return the size of an ACL in a request."""
    return sum(
        len(entry.scheme.encode()) + len(entry.id.encode()) + ZOOKEEPER_BYTES_OF_AN_ENTRY for entry in acl
    )


def _merged(acl: Iterable[ZnodeAclEntry]) -> dict[tuple[str, str], ZnodePerms]:
    found: dict[tuple[str, str], ZnodePerms] = {}
    for entry in acl:
        identity = (entry.scheme, entry.id)
        found[identity] = found.get(identity, ZnodePerms(0)) | entry.rights
    return found
