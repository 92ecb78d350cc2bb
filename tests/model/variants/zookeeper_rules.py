"""Rules of the way through ZooKeeper: publisher, records, probes."""

from dataclasses import replace
from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_ACCESS = "invalidation/publisher/access.py"
_CHAIN = "invalidation/channel/chain.py"
_DIGEST = "invalidation/publisher/digest.py"
_FRESHNESS = "invalidation/follower/freshness.py"
_LIFE = "invalidation/follower/follower.py"
_NARROWING = "invalidation/publisher/relevance.py"

_RULES: Final = (
    # -- probes ------------------------------------------------------------------------------------------
    Variant(
        name="probe-not-waited-for",
        guarantee=Guarantee.BOUNDED,
        rule="A probe covers its moment once everything up to its transaction has been read.",
        module=_FRESHNESS,
        old="reached = sum(1 for probe in self._pending if probe.txid <= self.txid)",
        new="reached = len(self._pending)",
    ),
    Variant(
        name="probe-as-of-the-present",
        guarantee=Guarantee.BOUNDED,
        rule="A probe covers its own moment, not the one at which its transaction was read.",
        module=_FRESHNESS,
        old="            self._satisfied = self._pending[reached - 1]",
        new="            self._satisfied = __import__('dataclasses').replace(self._pending[reached - 1],"
        " as_of=self._reached[-1][0])",
    ),
    # -- records -----------------------------------------------------------------------------------------
    Variant(
        name="gap-in-the-chain",
        guarantee=Guarantee.BOUNDED,
        rule="A record that names another one before it than the last that was read says that some are missing.",
        module=_CHAIN,
        old="if link.previous > self.txid:",
        new="if link.previous < 0:",
    ),
    Variant(
        name="dropped-transactions-overlooked",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A record that says that transactions were dropped is a gap.",
        module=_LIFE,
        old="            case Dropped(first_txid, last_txid, reason):\n",
        new="            case Dropped(first_txid, last_txid, reason) if record.link.txid < 0:\n",
    ),
    Variant(
        name="filters-read-too-late",
        guarantee=Guarantee.BOUNDED,
        rule="The filters with which a record was made are in force before its changes are applied.",
        module=_LIFE,
        old="if self._generation >= generation and not is_first:",
        new="if self._generation >= 0 and not is_first:",
    ),
    # -- what is published -------------------------------------------------------------------------------
    Variant(
        name="record-without-parents-and-subtrees",
        guarantee=Guarantee.BOUNDED,
        rule="Caches hear of whatever comes or goes beside or above what they may keep.",
        module=_NARROWING,
        old="            return globs.may_concern(path)\n        case Moved",
        new="            return globs.matches(path)\n        case Moved",
    ),
    Variant(
        name="record-without-parents",
        guarantee=Guarantee.BOUNDED,
        rule="Caches hear of the children of what they may keep: a parent's status has no event.",
        module="hadoop/globs.py",
        old="return bool(names_above or state.names) or self._walk",
        new="return bool(state.names) or self._walk",
    ),
    Variant(
        name="record-without-access-above",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="Caches hear of each change of access above what they may keep.",
        module=_NARROWING,
        old="return globs.matches(path) or globs.may_match_below(path)",
        new="return globs.matches(path)",
    ),
    Variant(
        name="record-without-rename-destinations",
        guarantee=Guarantee.BOUNDED,
        rule="Caches hear of a rename whose destination concerns them.",
        module=_NARROWING,
        old="return globs.may_concern(source) or globs.may_concern(destination)",
        new="return globs.may_concern(source)",
    ),
    Variant(
        name="digest-drops-a-destination",
        guarantee=Guarantee.BOUNDED,
        rule="What is merged into one record makes at least as much stale as each part did.",
        module=_DIGEST,
        old="self._add(destination, (txid, self._arrivals, Appeared(destination)))",
        new="self._add(source, (txid, self._arrivals, Appeared(source)))",
    ),
    Variant(
        name="digest-keeps-the-smaller-change",
        guarantee=Guarantee.BOUNDED,
        rule="Of two changes of a path the one that makes more stale is told.",
        module=_DIGEST,
        old="return second if first is None else max(first, second, key=_extent)",
        new="return second if first is None else min(first, second, key=_extent)",
    ),
    # -- the publisher -----------------------------------------------------------------------------------
    Variant(
        name="publisher-resumes-at-the-end",
        guarantee=Guarantee.BOUNDED,
        rule="A publisher goes on where the published records end.",
        module="invalidation/publisher/resume.py",
        old="await self._source.start(pending.txid)",
        new="await self._source.start(None)",
    ),
    Variant(
        name="publisher-skips-what-is-purged",
        guarantee=Guarantee.GAP_FLUSH,
        rule="Purged transactions are told as dropped.",
        module="invalidation/publisher/pending.py",
        old="content=Dropped(self.txid + 1, last_txid, reason),",
        new="content=Stale(()),",
    ),
    Variant(
        name="another-glob-under-the-same-id",
        guarantee=Guarantee.BOUNDED,
        rule="A filter with another glob has another id: a cache that missed the one between two equal ones sees it.",
        module="invalidation/publisher/filter_plan.py",
        old="id=has.id if wanted.path_glob == has.path_glob else new_id(),",
        new="id=has.id,",
    ),
    # -- who may read what is published --------------------------------------------------------------------
    Variant(
        name="znodes-made-open",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A publisher with an identity at ZooKeeper makes no znode without its ACL.",
        module="invalidation/publisher/znode_acls.py",
        old="return replace(operation, acl=self._acl_of(operation.path))",
        new="return operation",
    ),
    Variant(
        name="subscribers-of-any-filter",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A filter's owner and subscribers read the znodes of that filter, and of no other.",
        module=_ACCESS,
        old="return self._filters.get(self._filter_name(path), self.common)",
        new="return merged((*self.common, *(each for acl in self._filters.values() for each in acl)))",
    ),
)

ZOOKEEPER_RULES: Final = tuple(replace(each, channel="zookeeper") for each in _RULES)
