"""Short helpers around `MetadataCache` for tests."""

from typing import Any

from nncache.cache import (
    Cacheable,
    CacheSettings,
    Caller,
    Conclusion,
    Decision,
    EntryKind,
    Failed,
    Fetch,
    Hit,
    MetadataCache,
    OpenFile,
    Serve,
    StoredReply,
    Ticket,
    Unchanged,
)

ALICE, BOB, CAROL = Caller("user=alice"), Caller("user=bob"), Caller("user=carol")
TERM = 7


def make_cache(**settings: Any) -> MetadataCache:
    """Return a cache whose filters match up to six levels, with its stream open and covered as of 0."""
    globs = ("/*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*", "/*/*/*/*/*/*")
    cache = MetadataCache(CacheSettings(**{"glob": globs} | settings))
    cache.open_stream(TERM)
    cache.cover(0.0, 100)
    return cache


def missing(replied_at: float, *, term: int = TERM) -> Cacheable:
    """Return a true 404."""
    return Cacheable(
        reply=StoredReply(404, (), b"missing"), kind=EntryKind.MISSING, replied_at=replied_at, term=term
    )


def status(
    replied_at: float, text: str = "1", kind: EntryKind = EntryKind.FILE, *, term: int = TERM
) -> Cacheable:
    """Return a 200 whose body is `text`."""
    return Cacheable(reply=StoredReply(200, (), text.encode()), kind=kind, replied_at=replied_at, term=term)


def unchanged(replied_at: float, text: str = "1", *, term: int = TERM) -> Unchanged:
    """Return a closed file's 200, equal to the cached status with this text."""
    return Unchanged(reply=StoredReply(200, (), text.encode()), replied_at=replied_at, term=term)


def open_file(replied_at: float, *, term: int = TERM) -> OpenFile:
    """Return a 200 for a file that is open for writing: it must not be cached."""
    return OpenFile(replied_at=replied_at, term=term)


def ticket_of(decision: Decision) -> Ticket:
    """Return the ticket of a `Fetch`; fail for any other decision."""
    assert isinstance(decision, Fetch), decision
    return decision.ticket


def hit_of(decision: Decision) -> Hit:
    """Return the hit of a `Serve`; fail for any other decision."""
    assert isinstance(decision, Serve), decision
    return decision.hit


def reclaim_all(cache: MetadataCache) -> None:
    """Free everything that was detached, one item at a time."""
    while cache.reclaim(1):
        pass


def fetch(
    cache: MetadataCache, path: str, caller: Caller = ALICE, now: float = 0.0, *, refresh: bool = False
) -> Ticket:
    """Look a path up without waiting for other flights; return the ticket of the `Fetch`."""
    return ticket_of(cache.lookup(path, caller, now, refresh=refresh, may_wait=False))


def fill(
    cache: MetadataCache, path: str, caller: Caller = ALICE, now: float = 0.0, known: Cacheable | None = None
) -> Conclusion:
    """Fetch a path and conclude immediately, by default with a 404."""
    return cache.conclude(fetch(cache, path, caller, now), known or missing(now))


def settle(cache: MetadataCache, now: float) -> None:
    """Cover everything up to `now`."""
    cache.cover(now, 100)


def is_hit(cache: MetadataCache, path: str, caller: Caller = ALICE, now: float = 0.0) -> bool:
    """Whether the path is answered from memory; no ticket is left open."""
    decision = cache.lookup(path, caller, now, may_wait=False)
    if isinstance(decision, Fetch):
        cache.conclude(decision.ticket, Failed())
    return isinstance(decision, Serve)
