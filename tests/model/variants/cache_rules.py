"""Rules of `cache/`: what may be kept, served, and by whom seen."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_CACHE = "cache/metadata_cache.py"
_FORGETTING = "cache/forgetting.py"
_RIGHTS = "cache/rights.py"
_STORE = "cache/store.py"

CACHE_RULES: Final = (
    # -- what a change makes stale -----------------------------------------------------------------------
    Variant(
        name="parent-kept",
        guarantee=Guarantee.BOUNDED,
        rule="A path that comes or goes makes its parent's own status stale, for which there is no event.",
        module=_FORGETTING,
        old="store.forget_status(parent(path) or ROOT)",
        new="store.forget_status(path)",
    ),
    Variant(
        name="rename-destination-kept",
        guarantee=Guarantee.BOUNDED,
        rule="A rename makes the destination stale, with all below it and its parent.",
        module=_FORGETTING,
        old="_forget_place(store, source)\n            _forget_place(store, path)",
        new="_forget_place(store, source)\n            _forget_place(store, source)",
    ),
    Variant(
        name="rename-source-kept",
        guarantee=Guarantee.BOUNDED,
        rule="A rename makes the source stale, with all below it and its parent.",
        module=_FORGETTING,
        old="_forget_place(store, source)\n",
        new="_forget_place(store, path)\n",
    ),
    Variant(
        name="below-new-directory-kept",
        guarantee=Guarantee.BOUNDED,
        rule="Whatever comes or goes makes all below it stale, outcomes of missing paths among them.",
        module=_FORGETTING,
        old='has no event."""\n    store.forget_subtree(path)',
        new='has no event."""\n    store.forget_status(path)',
    ),
    Variant(
        name="chmod-costs-only-the-path",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A change of access to a directory makes every right at and below it stale.",
        module=_FORGETTING,
        old="case AccessChanged(path) | SubtreeUnknown(path):\n            store.forget_subtree(path)",
        new="case AccessChanged(path) | SubtreeUnknown(path):\n            store.forget_status(path)",
    ),
    Variant(
        name="touched-kept",
        guarantee=Guarantee.BOUNDED,
        rule="A file that was touched, opened or closed has another status.",
        module=_STORE,
        old="if entry is not None and not (spares_directory and entry.kind is EntryKind.DIRECTORY):",
        new="if entry is not None and not entry.name:",
    ),
    # -- tickets -----------------------------------------------------------------------------------------
    Variant(
        name="ticket-not-spoiled",
        guarantee=Guarantee.NO_LATE_FILL,
        rule="A change spoils the tickets of the paths whose status it makes stale.",
        module=_STORE,
        old="ticket.spoiled = True",
        new="ticket.spoiled = False",
    ),
    Variant(
        name="detached-ticket-good",
        guarantee=Guarantee.NO_LATE_FILL,
        rule="A ticket below a path that came, went or changed its access is spoiled with its directory.",
        module=_STORE,
        old="return not ticket.spoiled and self.tree.is_attached(ticket.directory)",
        new="return not ticket.spoiled",
    ),
    Variant(
        name="spoiled-reply-kept",
        guarantee=Guarantee.NO_LATE_FILL,
        rule="The reply to a spoiled question is not kept.",
        module=_CACHE,
        old="is_spoiled = not self.store.return_ticket(ticket)",
        new="is_spoiled = self.store.return_ticket(ticket) is None",
    ),
    Variant(
        name="grant-without-ticket",
        guarantee=Guarantee.NO_LATE_FILL,
        rule="The reply to a spoiled question proves no right either.",
        module=_CACHE,
        old="                    return Conclusion.SPOILED\n                kind",
        new="                    return self.rights.prove(self.store.take_ticket(ticket.path, ticket.caller, 0.0,"
        " joinable=False), outcome.replied_at, None, proven_for_s=1e9)"
        " or Conclusion.SPOILED\n                kind",
    ),
    Variant(
        name="earlier-reply-wins",
        guarantee=Guarantee.NO_LATE_FILL,
        rule="A reply never replaces one that was asked for later.",
        module=_CACHE,
        old="if entry.number > ticket.number:",
        new="if entry.number < 0:",
    ),
    # -- flushes -----------------------------------------------------------------------------------------
    Variant(
        name="flush-leaves-grants-and-tickets",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A gap costs all rights and all questions under way, as well as all entries.",
        module=_STORE,
        old="        self.forget_subtree(ROOT)\n",
        new="        [self.forget_entry(each) for each in list(self._ring) if isinstance(each, Entry)]\n",
    ),
    Variant(
        name="flush-leaves-tickets",
        guarantee=Guarantee.GAP_FLUSH,
        rule="A gap spoils every question under way.",
        module=_STORE,
        old="        self.forget_subtree(ROOT)\n",
        new="        [(self.forget_entry if isinstance(each, Entry) else self.forget_grant)(each)"
        " for each in list(self._ring) if self.is_alive(each)]\n",
    ),
    Variant(
        name="gap-costs-nothing",
        guarantee=Guarantee.GAP_FLUSH,
        rule="The end of a stream's life, and the beginning of the next, cost everything that is kept.",
        module=_CACHE,
        old="    def _flush(self) -> None:\n        self.store.forget_all()\n",
        new="    def _flush(self) -> None:\n        pass\n",
    ),
    Variant(
        name="served-after-the-stream-closed",
        guarantee=Guarantee.GAP_FLUSH,
        rule="The end of a stream's life costs everything at once, not when the next one begins.",
        module=_CACHE,
        old='(guarantee GapFlush)."""\n        self._flush()\n',
        new='(guarantee GapFlush)."""\n        pass\n',
    ),
    Variant(
        name="gate-not-reset",
        guarantee=Guarantee.GAP_FLUSH,
        rule="After a gap nothing is served until a proof of the new life.",
        module=_CACHE,
        old="        self.gate.reset()\n",
        new="        pass\n",
    ),
    Variant(
        name="kept-for-a-filter-that-is-gone",
        guarantee=Guarantee.BOUNDED,
        rule="A filter that is gone costs what was kept for it: while it is gone nobody tells of its changes.",
        module=_CACHE,
        old="if not self.glob_of.items() <= globs.items():",
        new="if self.glob_of is globs:",
        channel="zookeeper",
    ),
    Variant(
        name="globs-that-are-gone-still-match",
        guarantee=Guarantee.BOUNDED,
        rule="A set of globs grows only if all of its own go on.",
        module="hadoop/globs.py",
        old="        if not self._globs.items() <= globs.items():\n",
        new="        if not self._globs.keys() - globs.keys() <= self._globs.keys():\n",
        channel="zookeeper",
    ),
    # -- the gate and the fast path ----------------------------------------------------------------------
    Variant(
        name="gate-open-too-long",
        guarantee=Guarantee.BOUNDED,
        rule="An entry is served only while all changes up to max_staleness ago are known to be applied.",
        module="cache/gate.py",
        old="return now - self.fresh_as_of <= self.max_staleness_s",
        new="return now - self.fresh_as_of <= 3 * self.max_staleness_s",
    ),
    Variant(
        name="repeated-hit-past-the-gate",
        guarantee=Guarantee.BOUNDED,
        rule="A hit is repeated only while the gate is open.",
        module=_CACHE,
        old="if now >= hit.expires_at or now - self.gate.fresh_as_of > self.gate.max_staleness_s:",
        new="if now >= hit.expires_at:",
    ),
    Variant(
        name="repeated-hit-without-a-look",
        guarantee=Guarantee.OWN_WRITES,
        rule="A hit is looked at again as soon as anything was forgotten since.",
        module=_CACHE,
        old="if hit.forget_epoch != self.store.forget_epoch:",
        new="if hit.forget_epoch > self.store.forget_epoch:",
    ),
    Variant(
        name="cut-off-is-alive",
        guarantee=Guarantee.OWN_WRITES,
        rule="What lived below a path that came, went or changed its access is no longer good.",
        module=_STORE,
        old="return kept.alive and self.tree.is_attached(kept.directory)",
        new="return kept.alive",
    ),
    Variant(
        name="detaching-leaves-no-forget_epoch",
        guarantee=Guarantee.OWN_WRITES,
        rule="The forget_epoch moves whenever something that may have been served stops being good.",
        module=_STORE,
        old="if self.tree.detach(path):\n            self.forget_epoch += 1",
        new="if self.tree.detach(path):\n            self.forget_epoch += 0",
    ),
    # -- rights ------------------------------------------------------------------------------------------
    Variant(
        name="old-right-meets-new-content",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="One moment must explain both an entry and the right to see it.",
        module=_RIGHTS,
        old="if seen_as_of >= max(entry.replied_at, grant.proven_at):",
        new="if entry.replied_at:",
    ),
    Variant(
        name="new-right-meets-old-content",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A right proven later than what is covered shows only what its holder was told himself.",
        module=_RIGHTS,
        old="if seen_as_of >= max(entry.replied_at, grant.proven_at):",
        new="if seen_as_of >= entry.replied_at:",
    ),
    Variant(
        name="uncovered-content-meets-covered-right",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="An entry later than what is covered is shown only to those who were told it themselves.",
        module=_RIGHTS,
        old="if seen_as_of >= max(entry.replied_at, grant.proven_at):",
        new="if seen_as_of >= grant.proven_at:",
    ),
    Variant(
        name="covered-means-seen",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A reply may show what is not acknowledged yet, hence later than what is covered.",
        module=_CACHE,
        old="self.gate.cover(as_of, txid, as_of if seen_as_of is None else seen_as_of)",
        new="self.gate.cover(as_of, txid, as_of)",
    ),
    Variant(
        name="right-of-anybody",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A right is its caller's own.",
        module=_RIGHTS,
        old="grant = self.held(directory, entry).get(caller)",
        new="grant = next(iter(self.held(directory, entry).values()), None)",
    ),
    Variant(
        name="another-reply-counts-as-the-same",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="Only who was told this very reply is a witness of it.",
        module="cache/entries.py",
        old="return self.is_missing or self.reply.body == reply.body",
        new="return self.is_missing or self.reply.body != b''",
    ),
    Variant(
        name="open-file-leaves-the-entry",
        guarantee=Guarantee.OPEN_FILE_UNCACHED,
        rule="A forwarded reply that must not be kept removes the entry that contradicts it.",
        module=_CACHE,
        old="        if entry is not None:\n            self.store.forget_entry(entry)\n            if entry.number",
        new="        if entry is not None and isinstance(outcome, Known):\n"
        "            self.store.forget_entry(entry)\n            if entry.number",
    ),
    # -- flights -----------------------------------------------------------------------------------------
    Variant(
        name="old-flight-joined",
        guarantee=Guarantee.BOUNDED,
        rule="Nobody joins a question that was asked longer than max_staleness ago.",
        module=_CACHE,
        old="if not ticket.joinable or now - ticket.asked_at > self._settings.max_staleness_s:",
        new="if not ticket.joinable:",
    ),
    Variant(
        name="no-cache-answered-from-memory",
        guarantee=Guarantee.BOUNDED,
        rule="Whoever says no-cache gets the NameNode's own answer.",
        module=_CACHE,
        old="        if refresh:\n",
        new="        if refresh and not may_wait:\n",
    ),
)
