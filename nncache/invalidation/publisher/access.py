"""Say who may do what with each znode that a publisher writes.

Sans-I/O. ZooKeeper inherits nothing: each znode has an ACL of its own, and DELETE and CREATE are rights to the parent.

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
    OF_ITS_MAKER,
    OPEN,
    Acl,
    AclEntry,
    Right,
    merged,
    parse_acl_entry,
    size_bytes,
)
from nncache.coordination.login import Login
from nncache.coordination.settings import ZooKeeperSettings
from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.channel.znodes import Znodes
from nncache.invalidation.publisher.settings import USER, PublisherSettings
from nncache.net.setting_error import SettingError

MAX_ACL_BYTES: Final = 200 * 1024
"""Of one filter's ACL: together with a record it fits into one packet of 1 MiB (jute.maxbuffer)."""

_NAMEABLE: Final = re.compile(r"[A-Za-z0-9._$-]+")
"""Names of users that stand for themselves in an identity of every scheme."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What an operator says.

    Attributes:
        others: what is allowed to identities beside the publisher's own, on every znode.
        subscriber: how a user of HDFS is known to ZooKeeper, `scheme:id` with `{user}` in it; "": they are not.
    """

    others: Acl = ()
    subscriber: str = ""


def rules_of(
    publisher: PublisherSettings, zookeeper: ZooKeeperSettings, login: Login | None
) -> AccessRules | None:
    """Return the rules; None without an identity at ZooKeeper: every znode is open then.

    Raises:
        SettingError: rules are given, and there is no identity.
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
        A1  A znode of no filter that is known gives a subscriber nothing.
        A2  Without rules every ACL is OPEN.
    """

    def __init__(self, znodes: Znodes, rules: AccessRules | None) -> None:
        self._znodes = znodes
        self._rules = rules
        self.common: Acl = OPEN if rules is None else merged((*OF_ITS_MAKER, *rules.others))
        """Of znodes that belong to no filter."""
        self._filters: dict[str, Acl] = {}  # by name
        self.is_known = rules is None
        """Whether `learn` has named our own identities; until then they are `auth`, which no ACL that is read has."""

    @property
    def is_open(self) -> bool:
        """Whether every client may do everything."""
        return self._rules is None

    def learn(self, made: Acl) -> None:
        """Take it that ZooKeeper has made a znode of `common` with this ACL: it names our own identities."""
        if self._rules is not None:
            others = {(entry.scheme, entry.id) for entry in self._rules.others}
            own = (entry for entry in made if (entry.scheme, entry.id) not in others or entry.rights == ALL)
            self.common = merged((*own, *self._rules.others))
            self._filters = {}
            self.is_known = True

    def admit(self, filters: Iterable[PublishedFilter]) -> Mapping[str, tuple[str, ...]]:
        """Take these filters' owners and subscribers; return who of which filter found no place, by its name."""
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
        """Return what the znode must have."""
        return self._filters.get(self._filter_name(path), self.common)

    def size_of(self, path: str) -> int:
        """Return what the ACL adds to the making of a znode, in bytes."""
        return size_bytes(self.acl_of(path))

    def _readers(self, published: PublishedFilter) -> list[tuple[str, AclEntry | None]]:
        """Return owner and subscribers with their entries, the owner first; none without a form for them.

        A name without an entry would make another identity of the form, or one that ZooKeeper refuses, and with it the
        whole transaction (InvalidACL): a principal has one `@`, and a subject's parts are separated by commas.
        """
        assert self._rules is not None, "asked with rules alone"
        scheme, _, form = self._rules.subscriber.partition(":")
        users = dict.fromkeys((published.owner, *published.allowed_subscribers)) if form else ()
        return [
            (
                user,
                AclEntry(scheme, form.replace(USER, user), Right.READ) if _NAMEABLE.fullmatch(user) else None,
            )
            for user in users
        ]

    def _filter_name(self, path: str) -> str:
        """Return whose znode it is; "" for one that belongs to no filter."""
        first, _, rest = path.removeprefix(f"{self._znodes.namespace}/").partition("/")
        if path.startswith(f"{self._znodes.filters}/"):
            return rest
        return first if path.startswith(f"{self._znodes.namespace}/") else ""
