"""Decide the ACL of each znode that a publisher writes.

Sans-I/O. ZooKeeper inherits no ACL: each znode has its own, and DELETE and CREATE are permissions on the parent.

    the publisher itself, and zookeeper_acl    every znode, with the rights that it names
    a filter's owner and its subscribers       READ of .filters/NAME, NAME and NAME/TXID, of that filter alone
    all others                                 nothing
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nncache.coordination.acl import (
    ALL,
    CREATOR_ALL_ACL,
    OPEN_ACL,
    Acl,
    ZnodeAclEntry,
    ZnodePerms,
    merged,
    parse_acl_entry,
    size_bytes,
)
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.settings import ZooKeeperSettings
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.publisher.settings import USER, PublisherSettings
from nncache.net.setting_error import SettingError

MAX_ACL_BYTES: Final = 200 * 1024
"""Size limit of one filter's ACL: ACL and record must fit into one packet of 1 MiB (jute.maxbuffer)."""

_NAMEABLE: Final = re.compile(r"[A-Za-z0-9._$-]+")
"""User names that stand for themselves in an identity of any scheme."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The operator's rules of access.

    Attributes:
        others: the rights of identities other than the publisher's own, on every znode.
        subscriber: the ZooKeeper identity of an HDFS user, `scheme:id` with `{user}` in it; "": users have none.
    """

    others: Acl = ()
    subscriber: str = ""


def rules_of(
    publisher: PublisherSettings, zookeeper: ZooKeeperSettings, login: ZooKeeperLogin | None
) -> AccessRules | None:
    """Return the rules; None if the publisher has no identity at ZooKeeper: every znode is open then.

    Raises:
        SettingError: there are rules, but no identity.
    """
    if not zookeeper.has_identity:
        for key, value in (
            ("zookeeper_acl", ", ".join(publisher.zookeeper_acl)),
            ("zookeeper_subscriber_id", publisher.zookeeper_subscriber_id),
        ):
            if value:
                raise SettingError(
                    key,
                    value,
                    "needs zookeeper_sasl or zookeeper_certificate: without an identity of its own the publisher "
                    "would lock itself out",
                )
        return None
    others = tuple(map(parse_acl_entry, publisher.zookeeper_acl))
    subscriber = publisher.zookeeper_subscriber_id or ("" if login is None else login.subscriber)
    return AccessRules(others, subscriber)


class ZnodeAccess:
    """The ACLs of one nameservice's znodes.

    Invariants:
        A1  A znode that belongs to no known filter gives no rights to subscribers.
        A2  Without rules every ACL is OPEN.
    """

    def __init__(self, znodes: ZnodePaths, rules: AccessRules | None) -> None:
        self._znodes = znodes
        self._rules = rules
        self.common: Acl = OPEN_ACL if rules is None else merged((*CREATOR_ALL_ACL, *rules.others))
        """The ACL of znodes that belong to no filter."""
        self._filters: dict[str, Acl] = {}  # by name
        self.is_known = rules is None
        """Whether `learn` has set our own identities; until then they are `auth`, which no ACL read contains."""

    @property
    def is_open(self) -> bool:
        """Whether every client may do everything."""
        return self._rules is None

    def learn(self, made: Acl) -> None:
        """Learn our own identities from the ACL with which ZooKeeper created a znode of `common`."""
        if self._rules is not None:
            others = {(entry.scheme, entry.id) for entry in self._rules.others}
            own = (entry for entry in made if (entry.scheme, entry.id) not in others or entry.rights == ALL)
            self.common = merged((*own, *self._rules.others))
            self._filters = {}
            self.is_known = True

    def admit(self, filters: Iterable[PublishedFilter]) -> Mapping[str, tuple[str, ...]]:
        """Add the owners and subscribers of these filters; return the users without an entry, by filter."""
        left_out: dict[str, tuple[str, ...]] = {}
        if self._rules is None:
            return left_out
        for each in filters:
            entries = list(self.common)
            room = MAX_ACL_BYTES - size_bytes(entries)
            left: list[str] = []
            for user, entry in self._readers(each):
                room -= 0 if entry is None else size_bytes((entry,))
                if entry is None or room < 0:
                    left.append(user)
                else:
                    entries.append(entry)
            if left:
                left_out[each.name] = tuple(left)
            self._filters[each.name] = merged(entries)
        return left_out

    def acl_of(self, path: str) -> Acl:
        """Return the ACL that a znode must have."""
        return self._filters.get(self._filter_name(path), self.common)

    def size_of(self, path: str) -> int:
        """Return the size of the ACL that a new znode gets, in bytes."""
        return size_bytes(self.acl_of(path))

    def _readers(self, published: PublishedFilter) -> list[tuple[str, ZnodeAclEntry | None]]:
        """Return the owner and the subscribers with their entries, the owner first; empty if users have no identity.

        A name has no entry if it would form another identity, or one that ZooKeeper refuses together with the whole
        transaction (InvalidACL): a principal has one `@`, and commas separate the parts of a subject.
        """
        assert self._rules is not None, "asked with rules alone"
        scheme, _, form = self._rules.subscriber.partition(":")
        users = dict.fromkeys((published.owner, *published.allowed_subscribers)) if form else ()
        return [
            (
                user,
                ZnodeAclEntry(scheme, form.replace(USER, user), ZnodePerms.READ)
                if _NAMEABLE.fullmatch(user)
                else None,
            )
            for user in users
        ]

    def _filter_name(self, path: str) -> str:
        """Return the name of the filter to which a znode belongs; "" for none."""
        first, _, rest = path.removeprefix(f"{self._znodes.namespace}/").partition("/")
        if path.startswith(f"{self._znodes.filters}/"):
            return rest
        return first if path.startswith(f"{self._znodes.namespace}/") else ""
