"""The cache against a naive twin: random reads, changes, delays and probes.

The twin has no trees or tickets. It gives each path a version, and each directory a version of its rights
(`footprints.py`).
"""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from nncache.cache import (
    Cacheable,
    CacheSettings,
    Caller,
    Conclusion,
    Denied,
    EntryKind,
    Failed,
    Fetch,
    Hit,
    MetadataCache,
    OpenFile,
    Outcome,
    Serve,
    StoredReply,
    Ticket,
    Unchanged,
)
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from tests.model.footprints import Versions, is_at_or_below, parent_of

BELOW_ROOT = ("/a", "/a/b", "/a/b/f", "/a/b/g", "/e")
PATHS = ("/", *BELOW_ROOT)
ITSELF = ""
"""The right to see the root's own status, which proves nothing about the root's children."""
RIGHTS = (ITSELF, *PATHS)
CALLERS = tuple(Caller(f"user={name}") for name in ("alice", "bob"))

paths = st.sampled_from(PATHS)
places = st.sampled_from(BELOW_ROOT)
callers = st.sampled_from(CALLERS)
changes: st.SearchStrategy[Change] = st.one_of(
    places.map(Appeared),
    places.map(Vanished),
    st.builds(Moved, places, places),
    paths.map(Touched),
    places.map(Opened),
    places.map(Closed),
    paths.map(AccessChanged),
    paths.map(SubtreeUnknown),
    st.just(EverythingUnknown("test")),
)


def holder(path: str) -> str:
    """The right that shows a path's status: to traverse its parent directory."""
    return ITSELF if path == "/" else parent_of(path)


@dataclass(frozen=True)
class Asked:
    """A call in flight, with the versions that the NameNode saw when it answered."""

    ticket: Ticket
    status: int
    rights: int


class Twin(RuleBasedStateMachine):
    """A cache, and the versions of all paths and rights; each proven right is recorded with its version."""

    cache: MetadataCache
    versions: Versions

    def question(self, ticket: Ticket) -> Asked:
        """Ask the NameNode."""
        path = ticket.path
        return Asked(ticket, self.versions.statuses[path], self.versions.rights[holder(path)])

    def concluded(self, question: Asked, outcome: Outcome) -> bool:
        """Conclude a call with its reply; return whether the reply proves a right."""
        conclusion = self.cache.conclude(question.ticket, outcome)
        path = question.ticket.path
        if conclusion.is_shareable:
            assert question.status == self.versions.statuses[path], "NoLateFill"
        if not isinstance(outcome, Cacheable | Unchanged | OpenFile) or conclusion is Conclusion.SPOILED:
            return False
        assert question.rights == self.versions.rights[holder(path)], "NoLateFill for grants"
        return True

    def is_present(self, path: str, status: int, rights: int) -> bool:
        """Whether the path and the right to its directory still have these versions."""
        return (status, rights) == (self.versions.statuses[path], self.versions.rights[holder(path)])

    @invariant()
    def parts_agree(self) -> None:
        """Check the invariants of all parts after each step."""
        if hasattr(self, "cache"):
            self.cache.check()


class CacheTwin(Twin):
    """Every answer from memory equals the twin's."""

    asked = Bundle("asked")

    @initialize(per_path=st.booleans(), small=st.booleans())
    def begin(self, *, per_path: bool, small: bool) -> None:
        """Start with an open stream."""
        self.now, self.txid, self.term = 100.0, 0, 1
        self.versions = Versions(PATHS, RIGHTS)
        self.windows: dict[str, float] = {}
        self.proven: dict[tuple[Caller, str], int] = {}
        self.hits: list[tuple[Hit, str, int, int]] = []
        self.cache = MetadataCache(
            CacheSettings(
                glob=("/", "/*", "/*/*", "/*/*/*", "/*/*/*/*"),
                grants="per_path" if per_path else "per_directory",
                max_cache_entries=4 if small else 1_000,
                max_entry_age_s=60.0,
                grant_ttl_s=30.0,
                two_step_window_s=20.0,
            )
        )
        self.cache.open_stream(self.term)
        self.cache.cover(self.now, self.txid)

    @rule(seconds=st.floats(0.01, 4.0))
    def wait(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds

    @rule()
    def probe(self) -> None:
        """Cover all changes so far."""
        self.cache.cover(self.now, self.txid)

    @rule(target=asked, path=paths, caller=callers, refresh=st.booleans(), may_wait=st.booleans())
    def look_up(self, path: str, caller: Caller, *, refresh: bool, may_wait: bool) -> Asked | None:
        """Read a path; an answer from memory must be current, and this caller must have the right to it."""
        decision = self.cache.lookup(path, caller, self.now, refresh=refresh, may_wait=may_wait)
        match decision:
            case Serve(hit):
                reply = hit.entry.reply
                reported = reply.headers[0][1] if hit.entry.is_missing else reply.body
                status, right = self.versions.statuses[path], self.versions.rights[holder(path)]
                assert int(reported) == status, "NoLateFill"
                assert self.proven.get((caller, holder(path))) == right, "ProvenGrant"
                assert self.now - self.cache.gate.fresh_as_of <= 3.0, "Bounded"
                assert not self.is_under_write(path), "OwnWrites"
                assert self.cache.is_good(hit, self.now)
                self.hits.append((hit, path, status, right))
                return None
            case Fetch(ticket):
                assert not self.is_under_write(path), "OwnWrites"
                return self.question(ticket)
            case _:
                return None

    @rule(
        question=consumes(asked),
        kind=st.sampled_from(["missing", "file", "directory", "unchanged", "open", "403", "error"]),
    )
    def answer(self, question: Asked | None, kind: str) -> None:
        """Deliver the reply to a call now, with the versions from when it was sent."""
        if question is None:
            return
        ticket = question.ticket
        version = str(question.status).encode()
        match kind:
            case "missing":
                outcome: Outcome = self.known(404, version, EntryKind.MISSING)
            case "file" | "directory":
                outcome = self.known(200, version, EntryKind(kind))
            case "unchanged":  # as it was when isFileClosed was called
                reply = self.known(200, version, EntryKind.FILE).reply
                outcome = Unchanged(reply=reply, replied_at=self.now, term=self.term)
            case "open":
                outcome = OpenFile(replied_at=self.now, term=self.term)
            case "403":
                outcome = Denied()
            case _:
                outcome = Failed()
        if self.concluded(question, outcome):
            self.proven[ticket.caller, holder(ticket.path)] = question.rights

    @rule(path=paths, caller=callers, kind=st.sampled_from(["missing", "file", "directory"]))
    def fill(self, path: str, caller: Caller, kind: str) -> None:
        """Read a path and get the reply immediately; then cover all changes."""
        self.answer(self.look_up(path, caller, refresh=False, may_wait=False), kind)
        self.probe()

    def known(self, status: int, version: bytes, kind: EntryKind) -> Cacheable:
        """Return a reply that carries the version of its path."""
        reply = StoredReply(status, ((b"Version", version),), version)
        return Cacheable(reply=reply, kind=kind, replied_at=self.now, term=self.term)

    @rule(change=changes, is_event=st.booleans())
    def change(self, change: Change, *, is_event: bool) -> None:
        """Make a change and apply it."""
        self.txid += 1
        self.versions.move(change)
        self.cache.apply(change, self.now, self.txid if is_event else None)

    @rule(path=places)
    def begin_two_step_write(self, path: str) -> None:
        """Redirect a CREATE; until its window ends its path is not served."""
        self.cache.open_window(path, None, self.now)
        self.windows[path] = self.now + 20.0
        self.versions.move(Appeared(path))

    def is_under_write(self, path: str) -> bool:
        """Whether a window covers the path."""
        return any(
            self.now < ends and (is_at_or_below(path, top) or path == parent_of(top))
            for top, ends in self.windows.items()
        )

    @rule()
    def lose_the_stream(self) -> None:
        """Close the stream for a gap and open it on another active NameNode."""
        self.cache.close_stream("gap")
        self.term += 1
        self.versions.move(EverythingUnknown("gap"))
        self.cache.open_stream(self.term)

    @rule()
    def serve_again(self) -> None:
        """A remembered hit is served only while it is the current answer."""
        for hit, path, status, rights in self.hits:
            if self.cache.is_good(hit, self.now):
                assert self.is_present(path, status, rights)
                assert self.now - self.cache.gate.fresh_as_of <= 3.0, "Bounded"
                assert not self.is_under_write(path), "OwnWrites"

    @rule(slice_=st.integers(1, 5))
    def reclaim(self, slice_: int) -> None:
        """Free some nodes of detached subtrees."""
        self.cache.reclaim(slice_)


TestCacheTwin = CacheTwin.TestCase
TestCacheTwin.settings = settings(max_examples=200, stateful_step_count=50)
