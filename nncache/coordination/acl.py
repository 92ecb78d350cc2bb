"""ACLs of znodes, and their text as Hadoop writes it.

Source: org.apache.zookeeper.ZooDefs.Perms; the text is that of `ha.zookeeper.acl` (org.apache.hadoop.util.ZKUtil,
3.4.1): scheme:id:permissions, with the permissions c, d, r, w and a in any order.
"""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

ZOOKEEPER_BYTES_OF_AN_ENTRY: Final = 12  # permissions, and the lengths of scheme and id


class Right(enum.IntFlag):
    """What an entry of an ACL allows; ZooKeeper's own numbers."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16


ALL: Final = Right.READ | Right.WRITE | Right.CREATE | Right.DELETE | Right.ADMIN
CHANGES: Final = ALL & ~Right.READ
"""Each right but that to read."""

_LETTERS: Final[Mapping[str, Right]] = {
    "c": Right.CREATE,
    "d": Right.DELETE,
    "r": Right.READ,
    "w": Right.WRITE,
    "a": Right.ADMIN,
}


@dataclass(frozen=True, slots=True)
class AclEntry:
    """What one identity may do with a znode; nothing of it holds for the znode's children."""

    scheme: str  # `sasl`, `x509`, `digest`, `ip`, `world`; `auth` when a znode is made: all identities of its maker
    id: str  # within the scheme, such as `alice@EXAMPLE.COM`
    rights: Right  # what it allows; DELETE and CREATE are about the znode's children

    def __str__(self) -> str:
        letters = "".join(letter for letter, right in _LETTERS.items() if right in self.rights)
        return f"{self.scheme}:{self.id}:{letters}"

    @property
    def is_known_identity(self) -> bool:
        """Whether it names someone whom ZooKeeper has authenticated, and not everybody or an address."""
        return self.scheme not in {"world", "ip"}


Acl: TypeAlias = tuple[AclEntry, ...]

OPEN: Final[Acl] = (AclEntry("world", "anyone", ALL),)
"""Every client may do everything."""

OF_ITS_MAKER: Final[Acl] = (AclEntry("auth", "", ALL),)
"""Only who makes the znode; ZooKeeper refuses it to a client that it has not authenticated."""


def parse_acl_entry(text: str) -> AclEntry:
    """Read one entry. Raises ValueError: it is invalid; says what is allowed."""
    scheme, _, rest = text.partition(":")
    id_, _, letters = rest.rpartition(":")
    if not scheme or not id_ or not letters or not set(letters) <= _LETTERS.keys():
        raise ValueError(
            "must be scheme:id:permissions with the permissions c, d, r, w and a, such as "
            "sasl:nncache-proxy@EXAMPLE.COM:r"
        )
    rights = Right(0)
    for letter in letters:
        rights |= _LETTERS[letter]
    return AclEntry(scheme, id_, rights)


def shown(acl: Iterable[AclEntry]) -> str:
    """Return an ACL for people."""
    return ", ".join(map(str, acl)) or "no one"


def is_same(one: Acl, other: Acl) -> bool:
    """Tell whether both allow the same; ZooKeeper lets any entry of an identity allow something."""
    return _merged(one) == _merged(other)


def merged(acl: Iterable[AclEntry]) -> Acl:
    """Return the ACL with one entry for each identity."""
    return tuple(AclEntry(scheme, id_, rights) for (scheme, id_), rights in _merged(acl).items())


def size_bytes(acl: Iterable[AclEntry]) -> int:
    """Return what an ACL takes in a request."""
    return sum(
        len(entry.scheme.encode()) + len(entry.id.encode()) + ZOOKEEPER_BYTES_OF_AN_ENTRY for entry in acl
    )


def _merged(acl: Iterable[AclEntry]) -> dict[tuple[str, str], Right]:
    found: dict[tuple[str, str], Right] = {}
    for entry in acl:
        identity = (entry.scheme, entry.id)
        found[identity] = found.get(identity, Right(0)) | entry.rights
    return found
