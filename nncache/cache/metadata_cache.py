"""Decide which calls are answered without asking the NameNode.

The deciding core has no socket, clock, task or log. Shells pass the time as `now` (seconds of one monotonic clock),
carry out the decisions of `lookup`, and report through `conclude`. The consumer of the NameNode's edits calls
`open_stream`, `apply`, `cover` and `close_stream`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import (
    Cacheable,
    Conclusion,
    Decision,
    Denied,
    Failed,
    Fetch,
    Forward,
    Join,
    MissReason,
    OpenFile,
    Outcome,
    Serve,
    Unauthenticated,
    Unchanged,
    Wait,
)
from nncache.cache.deferred_writes import ANYBODY, TwoStepWrite, TwoStepWriter
from nncache.cache.entries import Directory, Entry, Grant, Hit, Ticket
from nncache.cache.explanation import GRANTS_SHOWN, Explanation, finite, last_forgotten, view_of
from nncache.cache.forgetting import forget
from nncache.cache.gate import FreshnessGate
from nncache.cache.rights import Rights, may_see
from nncache.cache.settings import CacheSettings
from nncache.cache.stats import CacheStats
from nncache.cache.store import CacheStore
from nncache.cache.windows import TwoStepWindows
from nncache.hadoop.change import Appeared, EverythingUnknown, Footprint
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT, Ancestors, ancestors, depth, name, parent

ROOT_AGE_S: Final = 60.0
"""Lifetime of the root's cached status: a snapshot of the root sets its modification time without an event."""


class MetadataCache:
    """Outcomes of GETFILESTATUS and proven rights, and the rules for their use.

    Invariants:
        C1  A reply is kept only if its ticket was taken while the stream was open, and no change that makes
            its path stale was applied since (NoLateFill).
        C2  An entry is served only while the gate is open (Bounded).
        C3  An entry is served only to a caller with a grant, and only if both were true at one moment:
            the NameNode gave exactly this reply to that caller, or all changes visible up to a
            time after the entry's reply and the grant's proof have been applied (ProvenGrant).
        C4  No entry or ticket exists for a path that a two-step write may change (OwnWrites).
    """

    def __init__(self, settings: CacheSettings) -> None:
        self._settings = settings
        self.glob_of: Mapping[str, str] = {
            glob: glob for glob in settings.glob
        }  # of the filters in force, by id
        self._globs = GlobSet(self.glob_of)  # matches a path against all of them
        self.term: int | None = None  # of the active NameNode whose edits are read; None: stream closed
        self._closed_because = "not opened yet"  # for `explain`, while there is no term
        self.windows = TwoStepWindows(
            window_s=settings.two_step_window_s, max_windows=settings.max_two_step_windows
        )
        self.gate = FreshnessGate(settings.max_staleness_s)
        self.store = CacheStore(max_bytes=settings.max_cache_bytes, max_items=settings.max_cache_entries)
        self.rights = Rights(settings, self.store)

    # -- reads ---------------------------------------------------------------------------------------

    def lookup(
        self, path: str, caller: Caller, now: float, *, refresh: bool = False, may_wait: bool = True
    ) -> Decision:
        """Decide how to answer GETFILESTATUS of a canonical path.

        `refresh` always asks the NameNode (`Cache-Control: no-cache`). `may_wait` allows `Join` and `Wait`. Each
        `Fetch` must be followed by exactly one `conclude`.
        """
        decision = self._decide(path, caller, now, refresh=refresh, may_wait=may_wait)
        counters = self.store.counters
        match decision:
            case Fetch(reason=reason) | Forward(reason=reason):
                counters.decisions[reason] += 1
            case Serve():
                pass
            case Join():
                counters.joins += 1
            case Wait():
                counters.waits += 1
            case _:
                assert_never(decision)
        return decision

    def _decide(self, path: str, caller: Caller, now: float, *, refresh: bool, may_wait: bool) -> Decision:
        if (reason := self.why_no_trace(path, now)) is not None:
            return Forward(reason)
        if refresh:
            return self._fetch(path, caller, now, MissReason.REQUEST)
        directory = self.store.tree.find(parent(path) or ROOT)
        if directory is None:
            return self._fetch(path, caller, now, MissReason.MISS)
        entry = self._entry(directory, name(path), now)
        grant = self.rights.grant(directory, entry, caller, now)
        is_open = self.gate.is_open(now)
        if is_open and entry is not None and grant is not None:
            if may_see(entry, grant, seen_as_of=self.gate.seen_as_of):
                return Serve(self._hit(entry, grant))
            return Wait(None) if may_wait else self._fetch(path, caller, now, MissReason.GRANT_PENDING)
        if may_wait:
            may_wait_for_others = is_open and grant is not None
            found = self._under_way(directory, path, caller, now, may_wait_for_others=may_wait_for_others)
            if found is not None:
                return found
        if not is_open:
            return self._fetch(path, caller, now, MissReason.GATE_CLOSED)
        return self._fetch(path, caller, now, MissReason.MISS if entry is None else MissReason.NO_GRANT)

    def why_no_trace(self, path: str, now: float) -> MissReason | None:
        """Return why `lookup` would forward a call without keeping its reply; None if it would not."""
        if not self._globs.matches(path):
            return MissReason.NO_FILTER
        if self.term is None:
            return MissReason.STREAM_CLOSED
        if self.windows.is_full(now):
            return MissReason.WINDOW_TABLE_FULL
        if self.windows.is_blocked(path, now):
            return MissReason.TWO_STEP_WRITE
        return None

    def _entry(self, directory: Directory, entry_name: str, now: float) -> Entry | None:
        entry = directory.entries.get(entry_name)
        if entry is not None and now >= self._ends_at(entry):
            self.store.forget_entry(entry)
            return None
        return entry

    def _hit(self, entry: Entry, grant: Grant) -> Hit:
        entry.referenced = grant.referenced = True
        expires_at = min(self._ends_at(entry), grant.expires_at)
        return Hit(entry, grant, forget_epoch=self.store.forget_epoch, expires_at=expires_at)

    def _ends_at(self, entry: Entry) -> float:
        """Return the time at which an entry expires without any event."""
        age_s = self._settings.max_entry_age_s
        return entry.confirmed_at + (age_s if entry.name else min(age_s, ROOT_AGE_S))

    def is_good(self, hit: Hit, now: float) -> bool:
        """Whether a hit may be served again. The fast path asks this for each request.

        C3, once true for an entry and a grant, holds as long as both are kept.
        """
        if now >= hit.expires_at or now - self.gate.fresh_as_of > self.gate.max_staleness_s:
            return False
        entry, grant = hit.entry, hit.grant
        if hit.forget_epoch != self.store.forget_epoch:
            if not (self.store.is_alive(entry) and self.store.is_good(grant)):
                return False
            hit.forget_epoch = self.store.forget_epoch
        entry.referenced = grant.referenced = True
        return True

    def _under_way(
        self, directory: Directory, path: str, caller: Caller, now: float, *, may_wait_for_others: bool
    ) -> Join | Wait | None:
        """Return a question about the path whose reply this caller may share or wait for; None if there is none."""
        wait: Wait | None = None
        for ticket in directory.tickets.get(name(path), ()):
            if not ticket.joinable or now - ticket.asked_at > self._settings.max_staleness_s:
                continue
            if ticket.caller == caller and not self.rights.have_ended(ticket):
                return Join(ticket)
            if may_wait_for_others:
                wait = Wait(ticket)
        return wait

    # -- fetches -------------------------------------------------------------------------------------

    def _fetch(self, path: str, caller: Caller, now: float, reason: MissReason) -> Fetch:
        joinable = reason is not MissReason.REQUEST
        is_thorough = reason is MissReason.REQUEST or reason is MissReason.GRANT_PENDING
        ticket = self.store.take_ticket(path, caller, now, joinable=joinable, is_thorough=is_thorough)
        return Fetch(ticket, reason)

    def conclude(self, ticket: Ticket, outcome: Outcome) -> Conclusion:
        """End a fetch: keep its reply, and the right that it proves, unless the ticket was spoiled."""
        is_spoiled = not self.store.return_ticket(ticket)
        conclusion = self._conclude(ticket, outcome, is_spoiled=is_spoiled)
        self.store.tree.prune(ticket.directory)
        self.store.counters.conclusions[conclusion] += 1
        self.store.evict()
        return conclusion

    def _conclude(self, ticket: Ticket, outcome: Outcome, *, is_spoiled: bool) -> Conclusion:
        match outcome:
            case Cacheable() | Unchanged() | OpenFile():
                if is_spoiled or outcome.term != self.term:
                    return Conclusion.SPOILED
                kind = outcome.kind if isinstance(outcome, Cacheable) else None
                self.rights.prove(ticket, outcome.replied_at, kind, proven_for_s=outcome.proven_for_s)
                return self._keep(ticket, outcome)
            case Denied() | Unauthenticated():
                self.rights.refuse(ticket, outcome, is_spoiled=is_spoiled)
            case Failed():
                pass
            case _:
                assert_never(outcome)
        return Conclusion.NOT_KEPT

    def _keep(self, ticket: Ticket, outcome: Cacheable | Unchanged | OpenFile) -> Conclusion:
        entry = ticket.directory.entries.get(ticket.name)
        if entry is not None and not isinstance(outcome, OpenFile) and entry.says_the_same(outcome.reply):
            entry.number = max(entry.number, ticket.number)
            if isinstance(outcome, Unchanged):
                return Conclusion.UNCHANGED
            self.store.witness(entry, ticket.caller, outcome.replied_at, self.gate.seen_as_of)
            return Conclusion.CONFIRMED
        if entry is not None:
            self.store.forget_entry(entry)
            if entry.number > ticket.number:
                return Conclusion.NOT_KEPT
        if not isinstance(outcome, Cacheable):
            return Conclusion.NOT_KEPT
        self.store.keep_entry(
            ticket,
            outcome.reply,
            kind=outcome.kind,
            replied_at=outcome.replied_at,
            since_txid=self.gate.covered_txid,
        )
        return Conclusion.STORED

    # -- the stream of changes -----------------------------------------------------------------------

    def open_stream(self, term: int) -> None:
        """Begin to keep replies: from now on every change is applied.

        `term` names the active NameNode whose edits are read; replies of another term are not kept.
        """
        self._flush()
        self.term = term

    def close_stream(self, reason: str) -> None:
        """Forget everything, and keep no reply until the stream is opened again (guarantee GapFlush)."""
        self._flush()
        self.term = None
        self._closed_because = reason

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Replace the globs whose matches are kept; the keys are the ids of their filters.

        While a filter is not in force, changes of paths that it alone matches may be missed. So the removal of a filter
        forgets everything, and spoils all questions on their way. An id stands for one glob and one period in
        force: the same glob under another id counts as a new filter.

        Raises GlobError if one of them is invalid; then nothing is changed.
        """
        self._globs.change_to(globs)
        if not self.glob_of.items() <= globs.items():
            self.store.forget_all()
        self.glob_of = dict(globs)
        self.windows.follow(self._globs)
        self.windows.may_be_granted(ROOT)  # of what a new filter matches, no change was read before it came

    def _flush(self) -> None:
        self.store.forget_all()
        self.windows.may_be_granted(ROOT)  # what has changed meanwhile is not known
        self.gate.reset()

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Record that all changes acknowledged before `as_of`, up to `txid`, have been applied.

        The NameNode shows a change before its log has made it durable and the call is acknowledged. All changes that
        a reply given before `seen_as_of` may show have been applied; None: the same time as `as_of`.
        """
        if self.term is not None:
            self.gate.cover(as_of, txid, as_of if seen_as_of is None else seen_as_of)

    def apply(self, change: Footprint, now: float, txid: int | None = None) -> None:
        """Forget the entries and rights that a change makes stale; `txid` is None for a write through the proxy.

        Source of the footprints: `hadoop/changes.py` and `hadoop/effects.py`.
        """
        forget(change, self.store, self.windows, now=now, txid=txid)

    # -- two-step writes -----------------------------------------------------------------------------

    def open_window(
        self,
        path: str,
        last_txid: int | None,
        now: float,
        topmost_missing: str | None = None,
        writer: TwoStepWriter = ANYBODY,
    ) -> None:
        """Forward reads of a path until its redirected CREATE or APPEND has ended.

        `last_txid` is a transaction that precedes the write; without one only time ends the window.
        `topmost_missing` is the topmost ancestor that the write may create. If the writer has no right to the write,
        the window opens only after a change that may have given it.
        """
        write = TwoStepWrite(path, last_txid, self.windows.ends_at(now), topmost_missing, writer)
        self._cover(self.windows.begin(write, now=now, filters=self._globs), now)
        if not writer.is_known:
            self.windows.recheck(write)

    def answer_recheck(self, write: TwoStepWrite, known: TwoStepWrite, now: float) -> None:
        """Record a NameNode's second report on a write."""
        self._cover(self.windows.answer(write, known, now=now, filters=self._globs), now)

    def _cover(self, covered: tuple[str, ...] | None, now: float) -> None:
        if covered is None:
            self.apply(EverythingUnknown("no room for another two-step write"), now)
        for root in covered or ():
            self.apply(Appeared(root), now)

    def forward_all(self, now: float) -> None:
        """Forward reads of every path for the length of a window: a two-step write could not be recorded."""
        self.windows.block_all(now)

    def concerns(self, path: str) -> bool:
        """Whether a write to the path can make a cacheable status stale."""
        return self._globs.lowest_concern(path) not in {None, ROOT}

    def holds(self, path: str) -> bool:
        """Whether an entry, a grant or a question exists at or below a canonical path."""
        return self.store.tree.holds(path)

    def unproven_ancestors(self, path: str, now: float) -> Ancestors:
        """Return the ancestors whose creation concerns a filter and whose existence no cached status proves.

        Nearest first, without the root. MKDIRS, CREATE and CREATESYMLINK create missing ancestors, so a shell asks
        the NameNode about these in turn until one exists. Costs O(length of the path).
        """
        above = ancestors(path)
        lowest = depth(self._globs.lowest_concern(path) or ROOT)
        proven = self.store.tree.proven_depth(path) if self.gate.is_open(now) else 0
        return above[max(0, len(above) - 1 - lowest) : max(0, len(above) - 1 - proven)]

    # -- for the operator ----------------------------------------------------------------------------

    def explain(self, path: str, now: float) -> Explanation:
        """Return what is known of a canonical path, and why it is or is not answered from memory."""
        directory = self.store.tree.find(parent(path) or ROOT)
        entry = directory.entries.get(name(path)) if directory is not None else None
        grants = self.rights.held(directory, entry)
        is_open = self.gate.is_open(now)
        reason = self.why_no_trace(path, now)
        if reason is None and not is_open:
            reason = MissReason.GATE_CLOSED
        if reason is None and (entry is None or not grants):
            reason = MissReason.MISS if entry is None else MissReason.NO_GRANT
        return Explanation(
            path=path,
            now=now,
            answer="hit" if reason is None else reason,
            matches_filter=self._globs.matches(path),
            stream_open=self.term is not None,
            stream_closed_because=self._closed_because if self.term is None else None,
            term=self.term,
            gate_open=is_open,
            gate_age_s=finite(now - self.gate.fresh_as_of),
            seen_as_of=finite(self.gate.seen_as_of),
            covered_txid=self.gate.covered_txid,
            in_two_step_write=self.windows.is_blocked(path, now),
            questions_under_way=len(directory.tickets.get(name(path), ())) if directory is not None else 0,
            entry=view_of(entry, now, seen_as_of=self.gate.seen_as_of) if entry is not None else None,
            grants=len(grants),
            granted=tuple(list(grants)[:GRANTS_SHOWN]),
            last_forgotten=last_forgotten(self.store.last_forgotten, path, now),
        )

    def stats(self, now: float) -> CacheStats:
        """Return the current figures."""
        store, counters = self.store, self.store.counters
        return replace(
            counters,
            entries=store.entries,
            grants=store.grants,
            directories=store.tree.directories,
            bytes=store.bytes,
            tickets=store.tickets,
            windows=self.windows.open,
            is_open=self.term is not None and self.gate.is_open(now),
            gate_age_s=now - self.gate.fresh_as_of,
            max_staleness_s=self.gate.max_staleness_s,
            covered_txid=self.gate.covered_txid,
            decisions=counters.decisions.copy(),
            conclusions=counters.conclusions.copy(),
        )

    def reclaim(self, max_items: int) -> bool:
        """Free up to `max_items` detached items; true while more are left."""
        return self.store.reclaim(max_items)

    def check(self) -> None:
        """Assert the invariants of all parts; for tests."""
        self.store.check()
        self.windows.check()
