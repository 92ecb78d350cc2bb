"""The ACLs of entries, and the faults of other ACLs.

Source: the security section of the registry's design; `RegistrySecurity` and `RegistryAdminService` of Hadoop 3.5.0.
Hadoop gives users write permission on their home entry. The design does not, and this module follows the design.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from nncache.coordination.acl import ALL, OPEN_ACL, Acl, ZnodeAclEntry, ZnodePerms
from nncache.registry.errors import InvalidPathnameError
from nncache.registry.names import element_of_user
from nncache.registry.paths import USERS, elements_of

READABLE: Final = ZnodeAclEntry("world", "anyone", ZnodePerms.READ)
"""Every client may read the registry."""

ITS_MAKER: Final = ZnodeAclEntry("auth", "", ALL)
"""ZooKeeper replaces this entry by all identities of the client that creates the znode."""

HOME_RIGHTS: Final = ZnodePerms.CREATE | ZnodePerms.READ | ZnodePerms.DELETE


@dataclass(frozen=True, slots=True)
class ZooKeeperIdentity:
    """An identity of ZooKeeper, such as sasl and yarn@EXAMPLE.COM."""

    scheme: str
    id: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.id}"

    def entry(self, rights: ZnodePerms) -> ZnodeAclEntry:
        """Return an ACL entry that grants these rights to the identity."""
        return ZnodeAclEntry(self.scheme, self.id, rights)


def parse_account(text: str, realm: str) -> ZooKeeperIdentity:
    """Parse scheme:id; the realm is appended to an id that ends in @.

    Raises ValueError if it is invalid, or the realm is missing; the message says what is allowed.
    """
    scheme, _, name = text.partition(":")
    if not scheme or not name or (":" in name and scheme != "digest"):
        raise ValueError("must be scheme:id, such as sasl:yarn@ or sasl:yarn@EXAMPLE.COM")
    if name.endswith("@"):
        if not realm:
            raise ValueError("ends in @, so the realm is needed: registry_realm must be given")
        name += realm
    return ZooKeeperIdentity(scheme, name)


def digest_account(user: str, password: str) -> ZooKeeperIdentity:
    """Return the identity of a client with this password (ZooKeeper's DigestAuthenticationProvider).

    Raises ValueError if the user or the password is empty, or contains a colon.
    """
    if not user or not password or ":" in user + password:
        raise ValueError("an accessor needs an id and a password, neither empty nor with a colon")
    digest = hashlib.sha1(f"{user}:{password}".encode()).digest()  # noqa: S324 - ZooKeeper's own scheme
    return ZooKeeperIdentity("digest", f"{user}:{base64.b64encode(digest).decode()}")


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The rules for the ACLs of entries."""

    system: tuple[ZooKeeperIdentity, ...] | None = None  # with all rights on everything; None: all have them
    realm: str = ""  # of the users

    @property
    def is_secure(self) -> bool:
        """Whether entries are protected."""
        return self.system is not None

    def system_acl(self) -> Acl:
        """Return the ACL of the root, /users and /services."""
        if self.system is None:
            return OPEN_ACL
        return (READABLE, *(account.entry(ALL) for account in self.system))

    def entry_acl(self, accessors: Iterable[ZooKeeperIdentity] = ()) -> Acl:
        """Return the ACL of an entry that this client creates."""
        if self.system is None:
            return OPEN_ACL
        return (*self.system_acl(), ITS_MAKER, *(account.entry(ALL) for account in accessors))

    def home_acl(self, user: str) -> Acl:
        """Return the ACL of a user's home entry: the user may only add and remove entries."""
        if self.system is None:
            return OPEN_ACL
        return (
            *self.system_acl(),
            ZnodeAclEntry("sasl", f"{user}@{self.realm}" if self.realm else user, HOME_RIGHTS),
        )

    def faults(self, path: str, acl: Acl) -> Iterator[str]:
        """Yield each fault of an entry's ACL; none if the registry is not secure."""
        if self.system is None:
            return
        if not any(
            ZnodePerms.READ in entry.rights
            for entry in acl
            if (entry.scheme, entry.id) == ("world", "anyone")
        ):
            yield "not every client may read it"
        for entry in acl:
            if not entry.is_known_identity and entry.rights & ~ZnodePerms.READ:
                yield f"{entry} lets clients change it that ZooKeeper has not authenticated"
        for account in self.system:
            if not any(
                (entry.scheme, entry.id, entry.rights) == (account.scheme, account.id, ALL) for entry in acl
            ):
                yield f"the system account {account} has not all rights"
        yield from self._strangers(path, acl)

    def _strangers(self, path: str, acl: Acl) -> Iterator[str]:
        """Yield each right that is forbidden: any above the homes, another user's in a home, more than crd on it."""
        elements = elements_of(path)
        system = {(account.scheme, account.id) for account in self.system or ()}
        for entry in acl:
            if not entry.is_known_identity or (entry.scheme, entry.id) in system:
                continue
            if len(elements) <= 1:
                yield f"{entry} is no system account"
            elif elements[0] != USERS[1:]:
                continue
            elif entry.scheme == "sasl" and not self._is_user_of(elements[1], entry.id):
                yield f"{entry} is another user than the one whose entries are here"
            elif len(elements) == 2 and entry.rights & ~HOME_RIGHTS:  # noqa: PLR2004 - /users and the user
                yield f"{entry} may do more than add and remove entries (crd)"

    def _is_user_of(self, element: str, name: str) -> bool:
        try:
            return element_of_user(name) == element and name.partition("@")[2] in {"", self.realm}
        except InvalidPathnameError:
            return False  # no user of the registry
