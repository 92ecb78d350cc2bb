"""Who may do what with an entry: the ACLs of the design, and what is wrong with others.

Source: the design's security section; `RegistrySecurity` and `RegistryAdminService` of Hadoop 3.5.0. Hadoop gives users
the right to write their home entry; the design does not, and it is followed.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from nncache.coordination.acl import ALL, OPEN, Acl, AclEntry, Right
from nncache.registry.paths import USERS, elements_of

READABLE: Final = AclEntry("world", "anyone", Right.READ)
"""Any client may read what is registered."""

ITS_MAKER: Final = AclEntry("auth", "", ALL)
"""What ZooKeeper makes all identities of the client of that makes an entry."""

HOME_RIGHTS: Final = Right.CREATE | Right.READ | Right.DELETE


@dataclass(frozen=True, slots=True)
class ZooKeeperIdentity:
    """An identity of ZooKeeper, such as sasl and yarn@EXAMPLE.COM."""

    scheme: str
    id: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.id}"

    def entry(self, rights: Right) -> AclEntry:
        """Return an entry of an ACL that allows it these."""
        return AclEntry(self.scheme, self.id, rights)


def parse_account(text: str, realm: str) -> ZooKeeperIdentity:
    """Read scheme:id; an id that ends in @ gets the realm.

    Raises ValueError if it is invalid, or there is no realm; says what is allowed.
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
    """Return the identity of a client that knows this password (ZooKeeper's DigestAuthenticationProvider).

    Raises ValueError if the user or the password is empty, or has a colon.
    """
    if not user or not password or ":" in user + password:
        raise ValueError("an accessor needs an id and a password, neither empty nor with a colon")
    digest = hashlib.sha1(f"{user}:{password}".encode()).digest()  # noqa: S324 - ZooKeeper's own scheme
    return ZooKeeperIdentity("digest", f"{user}:{base64.b64encode(digest).decode()}")


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """How entries are protected."""

    system: tuple[ZooKeeperIdentity, ...] | None = None  # with all rights to everything; None: all have them
    realm: str = ""  # of users

    @property
    def is_secure(self) -> bool:
        """Whether entries are protected at all."""
        return self.system is not None

    def system_acl(self) -> Acl:
        """Return the ACL of the root, /users and /services."""
        if self.system is None:
            return OPEN
        return (READABLE, *(account.entry(ALL) for account in self.system))

    def entry_acl(self, accessors: Iterable[ZooKeeperIdentity] = ()) -> Acl:
        """Return the ACL of an entry that this client makes."""
        if self.system is None:
            return OPEN
        return (*self.system_acl(), ITS_MAKER, *(account.entry(ALL) for account in accessors))

    def home_acl(self, user: str) -> Acl:
        """Return the ACL of a user's home entry: the user may add and remove entries, and no more."""
        if self.system is None:
            return OPEN
        return (
            *self.system_acl(),
            AclEntry("sasl", f"{user}@{self.realm}" if self.realm else user, HOME_RIGHTS),
        )

    def faults(self, path: str, acl: Acl) -> Iterator[str]:
        """Yield what is wrong with the ACL of an entry; nothing where the registry is open."""
        if self.system is None:
            return
        if not any(
            Right.READ in entry.rights for entry in acl if (entry.scheme, entry.id) == ("world", "anyone")
        ):
            yield "not every client may read it"
        for entry in acl:
            if not entry.is_known_identity and entry.rights & ~Right.READ:
                yield f"{entry} lets clients change it that ZooKeeper has not authenticated"
        for account in self.system:
            if not any(
                (entry.scheme, entry.id, entry.rights) == (account.scheme, account.id, ALL) for entry in acl
            ):
                yield f"the system account {account} has not all rights"
        yield from self._strangers(path, acl)

    def _strangers(self, path: str, acl: Acl) -> Iterator[str]:
        """Yield who else has rights: above the homes no one, in a home its user alone, and no other user below it."""
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
        user, _, realm = name.partition("@")
        return user.partition("/")[0].lower() == element and realm in {"", self.realm}
