"""The product's cache under observation: the calls to it, and when it stored each entry and grant."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from nncache.cache import (
    Cacheable,
    CacheSettings,
    Caller,
    Conclusion,
    Decision,
    Entry,
    Fetch,
    Grant,
    MetadataCache,
    OpenFile,
    Outcome,
    Ticket,
)
from nncache.cache.deferred_writes import ANYBODY, TwoStepWriter
from nncache.cache.entries import Directory
from nncache.hadoop.change import Footprint
from nncache.hadoop.paths import ROOT, name, parent


class WatchedCache(MetadataCache):
    """A cache that records its own history, and fails on demand.

    Attributes:
        position: the last transaction that it received since the stream opened.
        kept_at: the position at which each entry and grant was stored.
        faults: number of the next calls of a method that raise, by its name.
        on_flush: called when it must have forgotten everything.
        on_cover: called with the arguments of `cover` before they take effect.
        on_open: called when the stream opens.
        on_fetch: called when a lookup decides to fetch.
        on_conclude: called with the conclusion of a reply.
        on_shared: called with a reply that is stored, or shared with others as if it were.
        on_contradicted: called when an entry survives a reply that must replace it and not be cached.
        on_cost: called when a call through the proxy has removed an entry or a grant.
        on_overtaken: called when the reply to an earlier call has replaced the reply to a later one.
    """

    def __init__(self, settings: CacheSettings) -> None:
        super().__init__(settings)
        self.position = -1
        self.at_first_sight = (
            False  # an applied change may never be in the log, so only coverage advances the position
        )
        self.kept_at: dict[Entry | Grant, int] = {}
        self.reported: set[int] = set()  # transactions since the stream opened
        self.outstanding: set[Ticket] = set()
        self.faults: Counter[str] = Counter()
        self.failed = 0  # number of injected failures so far
        self.on_flush: Callable[[], None] = _nothing
        self.on_open: Callable[[], None] = _nothing
        self.on_cover: Callable[[float, int], None] = _nothing
        self.on_fetch: Callable[[], None] = _nothing
        self.on_conclude: Callable[[Conclusion], None] = _nothing
        self.on_shared: Callable[[Ticket, Cacheable], None] = _nothing
        self.on_overtaken: Callable[[Ticket], None] = _nothing
        self.on_contradicted: Callable[[Ticket], None] = _nothing
        self.on_cost: Callable[[Footprint], None] = _nothing

    def lookup(
        self, path: str, caller: Caller, now: float, *, refresh: bool = False, may_wait: bool = True
    ) -> Decision:
        """Look up, and report a decision to fetch."""
        self._fail("lookup")
        decision = super().lookup(path, caller, now, refresh=refresh, may_wait=may_wait)
        if isinstance(decision, Fetch):
            self.outstanding.add(decision.ticket)
            self.on_fetch()
        return decision

    def conclude(self, ticket: Ticket, outcome: Outcome) -> Conclusion:
        """Conclude, and report what happened to the entry."""
        self.outstanding.discard(ticket)
        self._fail("conclude")
        before = self._entry_of(ticket.path)
        conclusion = super().conclude(ticket, outcome)
        self._note_kept(ticket)
        after = self._entry_of(ticket.path)
        if before is not None and after is not None and before.number > after.number:
            self.on_overtaken(ticket)
        if conclusion.is_shareable and isinstance(outcome, Cacheable):
            self.on_shared(ticket, outcome)
        if isinstance(outcome, OpenFile) and conclusion is Conclusion.NOT_KEPT and after is not None:
            self.on_contradicted(ticket)
        self.on_conclude(conclusion)
        return conclusion

    def _entry_of(self, path: str) -> Entry | None:
        directory = self.store.tree.find(parent(path) or ROOT)
        return None if directory is None else directory.entries.get(name(path))

    def _note_kept(self, ticket: Ticket) -> None:
        """Record the position at which the entry and grants of a reply were stored, anywhere in the tree."""
        directory = self.store.tree.find(parent(ticket.path) or ROOT)
        if directory is None:
            return
        own = directory.children.get(ticket.name)
        grants = (
            directory.grants.get(ticket.caller),
            own.status_grants.get(ticket.caller) if own is not None else None,
        )
        for kept in (directory.entries.get(ticket.name), *grants):
            if kept is not None:
                self.kept_at.setdefault(kept, self.position)

    def apply(self, change: Footprint, now: float, txid: int | None = None) -> None:
        """Apply, and record the transaction or the cost."""
        self._fail("apply")
        before = self.store.forget_epoch
        super().apply(change, now, txid)
        if txid is None and self.store.forget_epoch != before:
            self.on_cost(change)
        if txid is not None:
            self.reported.add(txid)
            if not self.at_first_sight:
                self.position = max(self.position, txid)

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Report and record coverage."""
        self.on_cover(as_of, txid)
        super().cover(as_of, txid, seen_as_of)
        self.position = max(self.position, txid)

    def open_window(
        self,
        path: str,
        last_txid: int | None,
        now: float,
        topmost_missing: str | None = None,
        writer: TwoStepWriter = ANYBODY,
    ) -> None:
        """Open a window."""
        self._fail("open_window")
        super().open_window(path, last_txid, now, topmost_missing, writer)

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Set the filters."""
        self._fail("set_filters")
        super().set_filters(globs)

    def open_stream(self, term: int) -> None:
        """Open the stream; everything must be forgotten."""
        super().open_stream(term)
        self._flushed()
        self.position = -1
        self.on_open()

    def close_stream(self, reason: str) -> None:
        """Close the stream; everything must be forgotten."""
        super().close_stream(reason)
        self._flushed()

    def kept(self) -> Iterator[tuple[str, Directory]]:
        """Yield each directory that may have entries or grants, with its path."""
        stack = [("", self.store.tree.root)]
        while stack:
            path, directory = stack.pop()
            yield path, directory
            stack.extend((f"{path}/{name}", child) for name, child in directory.children.items())

    def unspoiled(self) -> list[Ticket]:
        """Return the tickets of calls in flight whose replies may still be stored."""
        return [
            ticket
            for ticket in self.outstanding
            if not ticket.spoiled and self.store.tree.is_attached(ticket.directory)
        ]

    def _flushed(self) -> None:
        self.kept_at.clear()
        self.reported.clear()
        self.on_flush()

    def _fail(self, method: str) -> None:
        if self.faults[method] > 0:
            self.faults[method] -= 1
            self.failed += 1
            raise RuntimeError(f"{method} fails here")


def _nothing(*_: object) -> None:
    """Do nothing."""
