"""A cache with entries, and its state after changes: to compare the effects of two forms of the same changes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from hypothesis import strategies as st

from nncache.cache import (
    Cacheable,
    CacheSettings,
    Caller,
    Conclusion,
    EntryKind,
    Fetch,
    MetadataCache,
    StoredReply,
)
from nncache.cache.entries import Directory
from nncache.hadoop.change import Change
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT, ancestors, parent
from tests.hadoop.any_events import changes_at, few_paths, in_order

NAMES = ("a", "b", "c")
PATHS = tuple(ROOT + ROOT.join(parts) for depth in range(1, 4) for parts in product(NAMES, repeat=depth))
"""All paths that `few_paths` draws."""

CALLERS = (Caller("user=alice"), Caller("user=bob"))
TERM = 1
NOW = 10.0

globs = st.lists(
    st.lists(st.sampled_from(["a", "b", "*", "{a,c}", "[^b]"]), min_size=1, max_size=4).map(
        lambda parts: "/" + "/".join(parts)
    ),
    min_size=1,
    max_size=3,
)


def near(filters: GlobSet) -> st.SearchStrategy[str]:
    """Draw paths that match, their neighbours, ancestors and children, and others."""
    matching = [path for path in PATHS if filters.matches(path)] or [ROOT + NAMES[0]]
    beside = [f"{parent(path) or ROOT}/{name}".replace("//", "/") for path in matching for name in NAMES]
    above = [above for path in matching for above in ancestors(path)]
    below = [f"{path}/{NAMES[0]}" for path in matching]
    return st.one_of(st.sampled_from(matching), *map(st.sampled_from, (beside, above, below)), few_paths)


@dataclass(frozen=True)
class Window:
    """A two-step write in progress."""

    path: str
    after_txid: int
    topmost_missing: str | None

    def is_about_ancestors(self, filters: GlobSet) -> bool:
        """Return whether it concerns the filters only by ancestors that it may create."""
        return not filters.may_concern(self.path)


@st.composite
def windows(draw: st.DrawFn, filters: GlobSet) -> Window:
    """Draw a two-step write through the proxy."""
    path = draw(near(filters).filter(lambda path: path != ROOT))
    topmost = draw(st.sampled_from([None, *ancestors(path)[:-1]]))
    return Window(path, draw(st.integers(0, 20)), topmost)


@dataclass(frozen=True)
class Before:
    """The history of a cache before the changes."""

    globs: Sequence[str]
    is_per_path: bool
    kind: EntryKind  # of every path, as filled for the first caller
    fills: Sequence[tuple[str, Caller, EntryKind]]
    questions: Sequence[tuple[str, Caller]]
    windows: Sequence[Window]

    @cached_property
    def filters(self) -> GlobSet:
        """The filters of the cache."""
        return GlobSet({glob: glob for glob in self.globs})


@st.composite
def cases(draw: st.DrawFn, max_changes: int) -> tuple[Before, list[tuple[int, Change]]]:
    """Draw a cache's history, and the changes that follow."""
    chosen = draw(globs)
    filters = GlobSet({glob: glob for glob in chosen})
    before = Before(
        chosen,
        draw(st.booleans()),
        draw(st.sampled_from(EntryKind)),
        draw(
            st.lists(
                st.tuples(near(filters), st.sampled_from(CALLERS), st.sampled_from(EntryKind)), max_size=5
            )
        ),
        draw(st.lists(st.tuples(near(filters), st.sampled_from(CALLERS)), max_size=5)),
        draw(st.lists(windows(filters), max_size=2)),
    )
    return before, draw(in_order(changes_at(near(filters)), min_size=1, max_size=max_changes))


@dataclass(frozen=True)
class After:
    """The state of a cache after the changes."""

    entries: frozenset[str]
    grants: frozenset[tuple[str, Caller, bool]]
    covered: frozenset[str]  # matching paths in a two-step write
    kept: tuple[Conclusion, ...]  # the conclusions of questions in flight during the changes
    decisions: tuple[str, ...]  # the decision for each path and caller afterwards


def after(before: Before, reported: Iterable[tuple[int, Change]]) -> After:
    """Apply changes to a cache, and return its state."""
    cache = MetadataCache(
        CacheSettings(glob=tuple(before.globs), grants="per_path" if before.is_per_path else "per_directory")
    )
    cache.open_stream(TERM)
    cache.cover(NOW, 0)
    for path, caller, kind in (*((path, CALLERS[0], before.kind) for path in PATHS), *before.fills):
        decision = cache.lookup(path, caller, NOW, may_wait=False)
        if isinstance(decision, Fetch):
            cache.conclude(decision.ticket, _reply(path, kind))
    asked = [cache.lookup(path, caller, NOW, refresh=True) for path, caller in before.questions]
    for window in before.windows:
        cache.open_window(window.path, window.after_txid, NOW, window.topmost_missing)
    for txid, change in reported:
        cache.apply(change, NOW, txid)
    cache.check()
    entries, grants = _kept(cache)
    covered = frozenset(
        path for path in PATHS if before.filters.matches(path) and cache.explain(path, NOW).in_two_step_write
    )
    kept = tuple(
        cache.conclude(decision.ticket, _reply(decision.ticket.path, EntryKind.FILE))
        for decision in asked
        if isinstance(decision, Fetch)
    )
    decisions = tuple(str(type(cache.lookup(path, caller, NOW))) for path in PATHS for caller in CALLERS)
    return After(entries, grants, covered, kept, decisions)


def _reply(path: str, kind: EntryKind) -> Cacheable:
    reply = StoredReply(404 if kind is EntryKind.MISSING else 200, (), path.encode())
    return Cacheable(reply=reply, kind=kind, replied_at=NOW, term=TERM)


def _kept(cache: MetadataCache) -> tuple[frozenset[str], frozenset[tuple[str, Caller, bool]]]:
    entries: set[str] = set()
    grants: set[tuple[str, Caller, bool]] = set()
    for path, directory in _directories("", cache.store.tree.root):
        entries |= {f"{path}/{name}" for name in directory.entries}
        grants |= {(path, caller, False) for caller in directory.grants}
        grants |= {(path, caller, True) for caller in directory.status_grants}
    return frozenset(entries), frozenset(grants)


def _directories(path: str, directory: Directory) -> Iterator[tuple[str, Directory]]:
    yield path, directory
    for name, child in directory.children.items():
        yield from _directories(f"{path}/{name}", child)
