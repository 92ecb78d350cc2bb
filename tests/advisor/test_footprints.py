"""Each audit log command invalidates in the replay what it invalidates in the proxy's own cache."""

import pytest

from nncache.advisor.footprints import EVENTS, Mark, RowKind, marks_of
from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Cacheable, Fetch, Serve
from nncache.cache.entries import EntryKind as Of
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.replies import StoredReply
from nncache.cache.settings import CacheSettings
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.paths import parent
from tests.advisor.twin import Happened, at_paths

USER = Caller("ann")
PLACES = {"src": "/a/s", "dst": "/b/d"}
KEPT = ("/a", "/a/s", "/a/s/x/y", "/a/other", "/b", "/b/d", "/b/d/x", "/b/other")


def kept_after(command: str) -> set[str]:
    """Return the paths that a cache still serves after a command."""
    cache = MetadataCache(CacheSettings(glob=("/*", "/*/*", "/*/*/*", "/*/*/*/*")))
    cache.open_stream(1)
    cache.cover(1.0, 1)
    for path in KEPT:
        decision = cache.lookup(path, USER, 0.5)
        assert isinstance(decision, Fetch)
        reply = StoredReply(200, (), path.encode())
        cache.conclude(decision.ticket, Cacheable(reply=reply, kind=Of.DIRECTORY, replied_at=0.5, term=1))
    one = Happened(1000, 0, command, PLACES["src"], PLACES["dst"], "ann", is_web=False, is_allowed=True)
    for event in EVENTS[command]:
        for change in changes_of_event(at_paths(event, one)):
            cache.apply(change, 1.0, 2)
    return {path for path in KEPT if isinstance(cache.lookup(path, USER, 1.0, may_wait=False), Serve)}


@pytest.mark.parametrize("command", [*EVENTS, "listStatus"])
def test_marks_forget_what_the_cache_forgets(command: str) -> None:
    """The rule holds for entries and, below a path, for rights."""
    left = set(KEPT)
    for mark in marks_of(command):
        path = PLACES[mark.argument]
        if mark.is_parent:
            path = parent(path) or "/"
        if mark.is_below:
            left = {each for each in left if not f"{parent(each)}/".startswith(f"{path}/")}
        else:
            left.discard(path)
    assert left == (kept_after(command) if command in EVENTS else set(KEPT))


def test_what_is_made_says_of_what_kind_it_is() -> None:
    """A new file is open at first; a directory may have existed before."""
    own = {command: [mark.kind for mark in marks_of(command) if not mark.is_below] for command in EVENTS}
    assert own["create"][0] is own["append"][0] is RowKind.CREATED
    assert own["mkdirs"][0] is RowKind.MADE
    assert own["delete"][0] is RowKind.VANISHED
    assert own["rename"] == [RowKind.VANISHED, RowKind.TOUCHED, RowKind.ARRIVED, RowKind.TOUCHED]
    assert Mark(RowKind.BELOW_ACCESS, "src", is_below=True) in marks_of("setAcl")
    assert marks_of("setXAttr") == ()
