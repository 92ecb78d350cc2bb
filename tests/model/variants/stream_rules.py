"""Rules of the way from the NameNodes to the cache."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_POLLER = "invalidation/edits/poller.py"
_CONSUMER = "invalidation/consumer.py"
_CURSOR = "invalidation/edits/cursor.py"
_EVENTS = "hadoop/changes.py"
_INCARNATION = "invalidation/edits/incarnation.py"
_VIEW = "hadoop/election_view.py"

STREAM_RULES: Final = (
    # -- what each event makes stale ---------------------------------------------------------------------
    Variant(
        name="unlink-event-overlooked",
        guarantee=Guarantee.BOUNDED,
        rule="An UNLINK makes the path stale, all below it, and its parent's own status.",
        module=_EVENTS,
        old="case Unlink(path=path):\n            return (Vanished(canonical(path)),)",
        new="case Unlink(path=path):\n            return (Touched(canonical(path)),)",
    ),
    Variant(
        name="close-event-overlooked",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A CLOSE makes the path stale: the status asked before it is that of an open file.",
        module=_EVENTS,
        old="return (Closed(canonical(path)),)",
        new="return ()",
    ),
    Variant(
        name="times-event-overlooked",
        guarantee=Guarantee.BOUNDED,
        rule="New times or another replication are another status.",
        module=_EVENTS,
        old="case MetadataKind.TIMES | MetadataKind.REPLICATION:\n            return (Touched(path),)",
        new="case MetadataKind.TIMES | MetadataKind.REPLICATION:\n            return ()",
    ),
    Variant(
        name="perms-event-touches-only-the-path",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="PERMS, OWNER and ACLS of a directory cost every right at and below it.",
        module=_EVENTS,
        old="            return (AccessChanged(path),)\n        case MetadataKind.TIMES",
        new="            return (Touched(path),)\n        case MetadataKind.TIMES",
    ),
    # -- the consumer ------------------------------------------------------------------------------------
    Variant(
        name="stream-not-closed",
        guarantee=Guarantee.GAP_FLUSH,
        rule="The end of a stream's life, by whatever, closes the cache's stream.",
        module=_CONSUMER,
        old="            self._cache.close_stream(reason)\n",
        new="            pass\n",
    ),
    Variant(
        name="coverage-as-of-its-arrival",
        guarantee=Guarantee.BOUNDED,
        rule="Coverage counts from when it was asked for, not from when it is told.",
        module=_CONSUMER,
        old="self._cache.cover(as_of, txid, seen_as_of)",
        new="self._cache.cover(self._clock(), txid, seen_as_of)",
        channel="zookeeper",
    ),
    Variant(
        name="coverage-before-the-changes",
        guarantee=Guarantee.GAP_FLUSH,
        rule="Coverage is told when everything up to it was.",
        module="invalidation/direct.py",
        old="self._items.append(Covered(*covered, self._seen_as_of))",
        new="self._items.appendleft(Covered(*covered, self._seen_as_of))",
    ),
    # -- the pages of edits ------------------------------------------------------------------------------
    Variant(
        name="coverage-as-of-the-reply",
        guarantee=Guarantee.BOUNDED,
        rule="A poll covers the time at which it was sent.",
        module=_POLLER,
        old="progress = self._cursor.receive(page, sent_at)",
        new="progress = self._cursor.receive(page, replied_at)",
    ),
    Variant(
        name="coverage-although-behind",
        guarantee=Guarantee.BOUNDED,
        rule="A poll covers its time once everything durable then has been read.",
        module=_CURSOR,
        old="if self.through_txid >= sync_txid:",
        new="if self.through_txid >= 0:",
    ),
    Variant(
        name="old-target-covers-the-present",
        guarantee=Guarantee.BOUNDED,
        rule="Having read what an earlier poll was behind by covers that poll's time, not this one's.",
        module=_CURSOR,
        old="covered, self._target = self._target[0], None",
        new="covered, self._target = asked_at, None",
    ),
    Variant(
        name="purged-edits-skipped",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A page that begins later than asked says that transactions were purged.",
        module=_CURSOR,
        old="if first > asked:",
        new="if first < 0:",
    ),
    Variant(
        name="page-of-another-connection",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A page is believed only if it came over the connection that was confirmed.",
        module=_INCARNATION,
        old="return sent_on == received_on and self.is_confirmed(sent_on)",
        new="return True",
    ),
    Variant(
        name="another-term-unnoticed",
        guarantee=Guarantee.GAP_FLUSH,
        rule="Another active NameNode, or the same one restarted, ends the stream's run.",
        module=_INCARNATION,
        old="return active_term is not None and active_term != self.term",
        new="return False",
    ),
    Variant(
        name="seen-before-it-was-read",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="What could be seen is covered once the transactions written by then have been read.",
        module="invalidation/edits/poller.py",
        old="if self._written is not None and progress.through_txid >= self._written[1]:",
        new="if self._written is not None:",
    ),
    Variant(
        name="wrong-rpc-cluster",
        guarantee=Guarantee.BOUNDED,
        rule="A NameNode is asked over RPC only if it serves the namespace that its HTTP address names.",
        module="hadoop/namespace.py",
        old="self.over_rpc == self.over_http:",
        new="self.over_rpc is not None:",
        channel="direct",
    ),
    # -- who is active -----------------------------------------------------------------------------------
    Variant(
        name="restart-is-the-same-life",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A NameNode that was restarted may have lost what it showed.",
        module=_VIEW,
        old="        and active.started_ms == answer.started_ms\n",
        new="        and active.started_ms <= answer.started_ms\n",
    ),
    Variant(
        name="demoted-is-the-same-life",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A NameNode that was demoted and is active again begins another term.",
        module=_VIEW,
        old="        and active.transition_ms == answer.transition_ms\n",
        new="        and active.transition_ms <= answer.transition_ms\n",
    ),
    Variant(
        name="confirmed-as-of-the-latest-answer",
        guarantee=Guarantee.BOUNDED,
        rule="That one alone is active is known as of the oldest of the answers that show it.",
        module=_VIEW,
        old="as_of = min(seen.asked_at for _, seen in reachable)",
        new="as_of = max(seen.asked_at for _, seen in reachable)",
    ),
)
