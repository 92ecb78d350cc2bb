"""Filters that are added and removed, on a channel that reports only their changes, against a full twin.

The twin is that of `test_cache_twin.py`: each path has a version, each directory a version of its rights.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, invariant, rule

from nncache.cache import (
    Cacheable,
    CacheSettings,
    EntryKind,
    Failed,
    Fetch,
    Forward,
    Hit,
    MetadataCache,
    Serve,
    StoredReply,
)
from nncache.hadoop.change import Change
from nncache.hadoop.globs import GlobSet
from nncache.invalidation.publisher.relevance import concerns
from tests.model.footprints import Versions
from tests.model.test_cache_twin import CALLERS, PATHS, RIGHTS, Asked, Twin, changes, holder

GLOBS = ("/", "/*", "/a/b/f", "/a/b/*", "/{a,e}/*", "/e")

MOST_FILTERS = 2

CALLER = CALLERS[0]


class FiltersTwin(Twin):
    """A change that was not reported while its filter was absent never leaves an outdated answer."""

    asked = Bundle("asked")

    @initialize()
    def begin(self) -> None:
        """Start with an open stream and no filter."""
        self.now, self.added = 100.0, 0
        self.filters: dict[str, str] = {}
        self.versions = Versions(PATHS, RIGHTS)
        self.proven: dict[str, int] = {}
        self.hits: dict[str, tuple[Hit, int, int]] = {}  # latest hit of each path, with its versions
        self.cache = MetadataCache(CacheSettings(max_staleness_s=1e9))
        self.cache.open_stream(1)
        self.cache.cover(self.now, 0)

    @rule(glob=st.sampled_from(GLOBS))
    def add(self, glob: str) -> None:
        """Add a filter with a new id; only MOST_FILTERS at a time, so that not every path matches."""
        if len(self.filters) == MOST_FILTERS:
            return
        self.added += 1
        self.filters[str(self.added)] = glob
        self.cache.set_filters(self.filters)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """Remove a filter; it may be added again under another id before the cache knows of either."""
        if not self.filters:
            return
        gone = data.draw(st.sampled_from(sorted(self.filters)))
        glob = self.filters.pop(gone)
        if data.draw(st.booleans()):
            self.added += 1
            self.filters[str(self.added)] = glob
            for path in PATHS:  # unreported changes may have happened in between
                self.versions.statuses[path] += 1
        self.cache.set_filters(self.filters)

    @rule(change=changes)
    def change(self, change: Change) -> None:
        """Make a change; the cache gets it only if it concerns its filters."""
        self.versions.move(change)
        if concerns(change, GlobSet(self.filters)):
            self.cache.apply(change, self.now, 1)

    @rule(target=asked, path=st.sampled_from(PATHS))
    def ask(self, path: str) -> Asked | None:
        """Send a call to the NameNode if the path may be cached."""
        match self.cache.lookup(path, CALLER, self.now, refresh=True, may_wait=False):
            case Fetch(ticket):
                return self.question(ticket)
            case _:
                return None

    @rule(question=consumes(asked), kind=st.sampled_from(EntryKind))
    def answer(self, question: Asked | None, kind: EntryKind) -> None:
        """Deliver the reply to a call now, with the versions from when it was sent."""
        if question is None:
            return
        version = str(question.status).encode()
        reply = StoredReply(404 if kind is EntryKind.MISSING else 200, ((b"Version", version),), b"")
        outcome = Cacheable(reply=reply, kind=kind, replied_at=self.now, term=1)
        if self.concluded(question, outcome):
            self.proven[holder(question.ticket.path)] = question.rights

    @rule(path=st.sampled_from(PATHS), kind=st.sampled_from(EntryKind))
    def fill(self, path: str, kind: EntryKind) -> None:
        """Read a path and get the reply immediately."""
        self.answer(self.ask(path), kind)

    @invariant()
    def what_is_served_is_present(self) -> None:
        """Only current answers are served, by a right that still exists, on paths that a filter matches."""
        for path in PATHS if hasattr(self, "cache") else ():
            decision = self.cache.lookup(path, CALLER, self.now, may_wait=False)
            assert isinstance(decision, Forward) != GlobSet(self.filters).matches(path)
            if isinstance(decision, Fetch):
                self.cache.conclude(decision.ticket, Failed())
            if isinstance(decision, Serve):
                status, right = self.versions.statuses[path], self.versions.rights[holder(path)]
                assert int(decision.hit.entry.reply.headers[0][1]) == status, "GapFlush"
                assert self.proven[holder(path)] == right, "ProvenGrant"
                self.hits[path] = decision.hit, status, right

    @invariant()
    def what_was_served_is_served_again_while_present(self) -> None:
        """The fast path serves only current answers, although it checks no filter."""
        for path, (hit, status, rights) in self.hits.items() if hasattr(self, "cache") else ():
            if self.cache.is_good(hit, self.now):
                assert self.is_present(path, status, rights)


TestFiltersTwin = FiltersTwin.TestCase
TestFiltersTwin.settings = settings(max_examples=150, stateful_step_count=40)
