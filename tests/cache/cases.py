"""Short calls of the cache for tests."""

from typing import Any

from nncache.cache import (
    CacheSettings,
    Caller,
    Conclusion,
    Decision,
    EntryKind,
    Failed,
    Fetch,
    Hit,
    Known,
    MetadataCache,
    OpenFile,
    Reply,
    Serve,
    Ticket,
    Unchanged,
)

ALICE, BOB, CAROL = Caller("user=alice"), Caller("user=bob"), Caller("user=carol")
TERM = 7


def make_cache(**settings: Any) -> MetadataCache:
    """A cache that keeps everything of up to six levels, with its stream open and covered as of 0."""
    globs = ("/*", "/*/*", "/*/*/*", "/*/*/*/*", "/*/*/*/*/*", "/*/*/*/*/*/*")
    cache = MetadataCache(CacheSettings(**{"glob": globs} | settings))
    cache.open_stream(TERM)
    cache.cover(0.0, 100)
    return cache


def missing(replied_at: float, *, term: int = TERM) -> Known:
    """A true 404."""
    return Known(reply=Reply(404, (), b"missing"), kind=EntryKind.MISSING, replied_at=replied_at, term=term)


def status(
    replied_at: float, text: str = "1", kind: EntryKind = EntryKind.FILE, *, term: int = TERM
) -> Known:
    """A 200 whose body is `text`."""
    return Known(reply=Reply(200, (), text.encode()), kind=kind, replied_at=replied_at, term=term)


def unchanged(replied_at: float, text: str = "1", *, term: int = TERM) -> Unchanged:
    """A closed file's 200 that was kept with this text."""
    return Unchanged(reply=Reply(200, (), text.encode()), replied_at=replied_at, term=term)


def open_file(replied_at: float, *, term: int = TERM) -> OpenFile:
    """A 200 that must not be kept."""
    return OpenFile(replied_at=replied_at, term=term)


def ticket_of(decision: Decision) -> Ticket:
    """The ticket of a `Fetch`; fails for any other decision."""
    assert isinstance(decision, Fetch), decision
    return decision.ticket


def hit_of(decision: Decision) -> Hit:
    """The hit of a `Serve`; fails for any other decision."""
    assert isinstance(decision, Serve), decision
    return decision.hit


def reclaim_all(cache: MetadataCache) -> None:
    """Take all that was cut off apart."""
    while cache.reclaim(1):
        pass


def fetch(
    cache: MetadataCache, path: str, caller: Caller = ALICE, now: float = 0.0, *, refresh: bool = False
) -> Ticket:
    """Look up without waiting for others, and take the ticket that comes of it."""
    return ticket_of(cache.lookup(path, caller, now, refresh=refresh, may_wait=False))


def fill(
    cache: MetadataCache, path: str, caller: Caller = ALICE, now: float = 0.0, known: Known | None = None
) -> Conclusion:
    """Fetch and conclude at once, with a 404 unless said otherwise."""
    return cache.conclude(fetch(cache, path, caller, now), known or missing(now))


def settle(cache: MetadataCache, now: float) -> None:
    """Say that everything up to now has been applied."""
    cache.cover(now, 100)


def is_hit(cache: MetadataCache, path: str, caller: Caller = ALICE, now: float = 0.0) -> bool:
    """Whether the path is answered from memory; leaves no ticket behind."""
    decision = cache.lookup(path, caller, now, may_wait=False)
    if isinstance(decision, Fetch):
        cache.conclude(decision.ticket, Failed())
    return isinstance(decision, Serve)
