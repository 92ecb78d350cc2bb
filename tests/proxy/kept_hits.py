"""Hits for tests, made without a lookup."""

from collections.abc import Callable

from nncache.cache.clock_eviction import Caller
from nncache.cache.entries import EntryKind, Hit
from nncache.cache.replies import StoredReply
from nncache.cache.store import CacheStore
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.limits import LimitSettings

JOE = Caller("user=joe")


def good(_hit: Hit, _now: float) -> bool:
    """Act as a cache in which every hit is valid."""
    return True


def kept_hit(
    store: CacheStore, path: str, reply: StoredReply, *, caller: Caller = JOE, replied_at: float = 0.0
) -> Hit:
    """Store a reply, unless the path has one, and the caller's right; return the hit."""
    ticket = store.take_ticket(path, caller, replied_at, joinable=True)
    store.return_ticket(ticket)
    directory = ticket.directory
    kind = EntryKind.MISSING if reply.status == 404 else EntryKind.FILE
    entry = directory.entries.get(ticket.name)
    if entry is None:
        entry = store.keep_entry(ticket, reply, kind=kind, replied_at=replied_at, since_txid=1)
    store.keep_grant(directory, caller, of_status=False, proven_at=replied_at, expires_at=replied_at + 300)
    return Hit(entry, directory.grants[caller], forget_epoch=store.forget_epoch, expires_at=replied_at + 300)


def fast_path_alone(clock: Callable[[], float]) -> FastPath:
    """Return a fast path with its own store, for servers without a cache."""
    return FastPath(good, CacheStore(max_bytes=2**20, max_items=1_000), clock, LimitSettings())
