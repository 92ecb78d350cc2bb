"""What is kept, its bounds, and what they are measured in."""

import gc
import tracemalloc

import pytest

from cache.decisions import Conclusion
from cache.entries import Caller
from cache.store import FORGOTTEN_REMEMBERED, Forgotten, Store
from tests.cache.cases import ALICE, fetch, fill, is_hit, make_cache, missing, status


def keep(store: Store, path: str, caller: Caller = ALICE, *, grant: bool = True) -> None:
    """Keep a 404 for a path and, unless told otherwise, its caller's right."""
    ticket = store.take_ticket(path, caller, 0.0, joinable=True)
    assert store.return_ticket(ticket)
    body = bytes(f'{{"RemoteException":"no {path}"}}', "ascii")
    known = missing(0.0)
    if ticket.name not in ticket.directory.entries:
        reply = type(known.reply)(404, (), body)
        store.keep_entry(ticket, reply, kind=known.kind, replied_at=0.0, since_txid=0)
    if grant:
        store.keep_grant(ticket.directory, ticket.directory.grants, caller, proven_at=0.0, expires_at=300.0)


@pytest.mark.parametrize(
    ("shape", "paths"),
    [
        ("one directory", [f"/a/file-{n:06}" for n in range(5_000)]),
        ("a directory for each", [f"/a/dir-{n:06}/_SUCCESS" for n in range(5_000)]),
    ],
)
def test_what_is_reckoned_is_about_what_is_taken(shape: str, paths: list[str]) -> None:
    """The bound in bytes is one: CPython takes no more than is reckoned, and not less than a half of it."""
    store = Store(max_bytes=10**9, max_items=10**9)
    gc.collect()
    tracemalloc.start()
    for n, path in enumerate(paths):
        keep(store, path, Caller(f"user=u{n:06}"))
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.5 * store.bytes <= taken <= store.bytes, f"{shape}: {taken / store.bytes:.2f} of {store.bytes}"


def test_eviction_takes_what_was_cut_off_before_what_is_good() -> None:
    """S3: garbage goes first; hits are kept as long as there is any."""
    store = Store(max_bytes=10**9, max_items=20)
    for n in range(9):
        keep(store, f"/old/{n}", grant=False)
    for n in range(9):
        keep(store, f"/new/{n}", grant=False)
    store.forget_subtree("/old")
    for n in range(9):
        keep(store, f"/newer/{n}", grant=False)
    store.evict()
    assert store.counters.evictions == 0
    assert store.entries <= 20
    store.check()


def test_eviction_takes_grants_as_well() -> None:
    """10,000 callers of one directory are bounded like 10,000 entries."""
    store = Store(max_bytes=10**9, max_items=10)
    for n in range(30):
        keep(store, "/a/f", Caller(f"user=u{n}"))
        store.evict()
    assert store.grants <= 10
    assert store.counters.evictions > 0
    store.check()


def test_a_ticket_is_good_once_and_only_while_unspoiled() -> None:
    """A spoiled ticket is given back like any other and leaves nothing behind."""
    store = Store(max_bytes=10**9, max_items=10)
    first = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    second = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    assert store.return_ticket(first)
    store.forget_status("/a/f")
    assert not store.return_ticket(second)
    assert store.tickets == 0
    assert store.tree.directories == 0


def test_the_stamp_moves_with_everything_that_was_good_and_with_nothing_else() -> None:
    """S2: the fast path looks again exactly when something was forgotten."""
    store = Store(max_bytes=10**9, max_items=10)
    store.forget_status("/a/f")
    store.forget_subtree("/a")
    assert store.stamp == 0
    keep(store, "/a/f")
    assert store.stamp == 0
    store.forget_status("/a/f")
    assert store.stamp == 1
    store.forget_subtree("/a")
    assert store.stamp == 2


def test_what_was_kept_is_alive_until_it_is_forgotten_or_cut_off() -> None:
    """Both ends are seen by one question."""
    store = Store(max_bytes=10**9, max_items=10)
    keep(store, "/a/f")
    keep(store, "/a/g")
    directory = store.tree.find("/a")
    assert directory is not None
    first, second = directory.entries["f"], directory.entries["g"]
    grant = directory.grants[ALICE]
    store.keep_grant(directory, directory.grants, ALICE, proven_at=5.0, expires_at=305.0)
    assert (grant.proven_at, grant.expires_at) == (0.0, 305.0), "the first proof still stands"
    store.forget_entry(first)
    assert (store.is_alive(first), store.is_alive(second)) == (False, True)
    store.forget_grant(grant)
    store.forget_all()
    assert (store.is_alive(second), store.is_alive(grant)) == (False, False)
    assert store.counters.flushes == 1


def test_a_bound_that_questions_alone_exceed_ends_the_search() -> None:
    """S3 speaks of what is kept: directories that are asked about cannot go."""
    store = Store(max_bytes=1, max_items=10)
    ticket = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    store.evict()
    assert store.bytes > 1
    assert store.return_ticket(ticket)


def test_what_a_change_cost_is_remembered() -> None:
    """For `nncache explain`, for a bounded number of paths."""
    store = Store(max_bytes=1, max_items=1)
    for n in range(FORGOTTEN_REMEMBERED + 5):
        store.note_forgotten(f"/{n}", Forgotten("Touched", n, 1.0))
    assert len(store.last_forgotten) == FORGOTTEN_REMEMBERED


# -- the bounds, as the whole cache keeps them -----


def test_entries_are_bounded_in_number() -> None:
    """What nobody asks for goes first; entries and grants count alike."""
    cache = make_cache(max_cache_entries=10)
    for n in range(50):
        fill(cache, f"/a/{n}", ALICE, 1.0)
        assert is_hit(cache, "/a/0", ALICE, 1.0), "asked for often"
    stats = cache.stats(1.0)
    assert stats.entries + stats.grants <= 10
    assert stats.evictions >= 40
    cache.check()


def test_entries_are_bounded_in_bytes() -> None:
    """Large bodies count for what they take."""
    cache = make_cache(max_cache_bytes=100_000)
    for n in range(50):
        fill(cache, f"/a/{n}", ALICE, 1.0, status(1.0, "x" * 10_000))
        assert cache.stats(1.0).bytes <= 100_000
    assert cache.stats(1.0).entries > 0


def test_a_bound_smaller_than_one_entry_keeps_nothing_and_breaks_nothing() -> None:
    """FailToNameNode: a useless cache still answers through the NameNode."""
    cache = make_cache(max_cache_bytes=1)
    first = fetch(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/a/g", ALICE, 1.0)
    assert not is_hit(cache, "/a/g", ALICE, 1.0)
    assert cache.conclude(first, missing(1.0)) is Conclusion.STORED
    assert cache.stats(1.0).bytes == 0
