"""Filters that come and go, over a channel that tells of nothing else, against a twin that sees everything.

The twin is that of `test_cache_twin.py`: each path has a version, each directory a version of its rights.
"""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from nncache.cache import (
    CacheSettings,
    Conclusion,
    EntryKind,
    Failed,
    Fetch,
    Forward,
    Hit,
    Known,
    MetadataCache,
    Reply,
    Serve,
    Ticket,
)
from nncache.hadoop.change import Change
from nncache.hadoop.globs import GlobSet
from nncache.invalidation.publisher.relevance import concerns
from tests.model.test_cache_twin import CALLERS, PATHS, RIGHTS, changes, footprint, holder

GLOBS = ("/", "/*", "/a/b/f", "/a/b/*", "/{a,e}/*", "/e")

MOST_FILTERS = 2

CALLER = CALLERS[0]


@dataclass(frozen=True)
class Asked:
    """A question on its way, with what the NameNode saw when it answered."""

    ticket: Ticket
    status: int
    rights: int


class FiltersTwin(RuleBasedStateMachine):
    """Whatever was missed while its filter was not in force is not served afterwards."""

    asked = Bundle("asked")

    @initialize()
    def begin(self) -> None:
        """Start with an open stream and no filter."""
        self.now, self.added = 100.0, 0
        self.filters: dict[str, str] = {}
        self.statuses = dict.fromkeys(PATHS, 0)
        self.rights = dict.fromkeys(RIGHTS, 0)
        self.proven: dict[str, int] = {}
        self.hits: dict[str, tuple[Hit, int, int]] = {}  # the latest of each path, with what it showed
        self.cache = MetadataCache(CacheSettings(max_staleness_s=1e9))
        self.cache.open_stream(1)
        self.cache.cover(self.now, 0)

    @rule(glob=st.sampled_from(GLOBS))
    def add(self, glob: str) -> None:
        """One comes, with an id of its own; few, so that not everything matches."""
        if len(self.filters) == MOST_FILTERS:
            return
        self.added += 1
        self.filters[str(self.added)] = glob
        self.cache.set_filters(self.filters)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """One goes; it may come again under another id before the cache hears of either."""
        if not self.filters:
            return
        gone = data.draw(st.sampled_from(sorted(self.filters)))
        glob = self.filters.pop(gone)
        if data.draw(st.booleans()):
            self.added += 1
            self.filters[str(self.added)] = glob
            for path in PATHS:  # in between anything may have happened of which nobody told
                self.statuses[path] += 1
        self.cache.set_filters(self.filters)

    @rule(change=changes)
    def change(self, change: Change) -> None:
        """A change is made; the cache is told if it concerns its filters."""
        moved = footprint(change)
        for path in moved.statuses & set(PATHS):
            self.statuses[path] += 1
        for directory in moved.rights:
            self.rights[directory] += 1
        if concerns(change, GlobSet(self.filters)):
            self.cache.apply(change, self.now, 1)

    @rule(target=asked, path=st.sampled_from(PATHS))
    def ask(self, path: str) -> Asked | None:
        """Ask the NameNode, if the path may be kept."""
        match self.cache.lookup(path, CALLER, self.now, refresh=True, may_wait=False):
            case Fetch(ticket):
                return Asked(ticket, self.statuses[path], self.rights[holder(path)])
            case _:
                return None

    @rule(question=consumes(asked), kind=st.sampled_from(EntryKind))
    def answer(self, question: Asked | None, kind: EntryKind) -> None:
        """The NameNode's reply to a question, of the time at which it was asked, arrives now."""
        if question is None:
            return
        version = str(question.status).encode()
        reply = Reply(404 if kind is EntryKind.MISSING else 200, ((b"Version", version),), b"")
        outcome = Known(reply=reply, kind=kind, replied_at=self.now, term=1)
        path = question.ticket.path
        conclusion = self.cache.conclude(question.ticket, outcome)
        if conclusion.is_shareable:
            assert question.status == self.statuses[path], "NoLateFill"
        if conclusion is not Conclusion.SPOILED:
            assert question.rights == self.rights[holder(path)], "NoLateFill for grants"
            self.proven[holder(path)] = question.rights

    @rule(path=st.sampled_from(PATHS), kind=st.sampled_from(EntryKind))
    def fill(self, path: str, kind: EntryKind) -> None:
        """Ask, and be answered at once."""
        self.answer(self.ask(path), kind)

    @invariant()
    def what_is_served_is_present(self) -> None:
        """From memory comes the present answer or none, by a right that is still there, of a filter in force."""
        for path in PATHS if hasattr(self, "cache") else ():
            decision = self.cache.lookup(path, CALLER, self.now, may_wait=False)
            assert isinstance(decision, Forward) != GlobSet(self.filters).matches(path)
            if isinstance(decision, Fetch):
                self.cache.conclude(decision.ticket, Failed())
            if isinstance(decision, Serve):
                assert int(decision.hit.entry.reply.headers[0][1]) == self.statuses[path], "GapFlush"
                assert self.proven[holder(path)] == self.rights[holder(path)], "ProvenGrant"
                self.hits[path] = decision.hit, self.statuses[path], self.rights[holder(path)]

    @invariant()
    def what_was_served_is_served_again_while_present(self) -> None:
        """The fast path asks no filter."""
        for path, (hit, status, rights) in self.hits.items() if hasattr(self, "cache") else ():
            if self.cache.is_good(hit, self.now):
                assert (status, rights) == (self.statuses[path], self.rights[holder(path)])

    @invariant()
    def parts_agree(self) -> None:
        """The invariants of all parts hold after each step."""
        if hasattr(self, "cache"):
            self.cache.check()


TestFiltersTwin = FiltersTwin.TestCase
TestFiltersTwin.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
