"""What the store holds, its bounds, and how they are measured."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Conclusion
from nncache.cache.entries import EntryKind, Hit
from nncache.cache.replies import StoredReply
from nncache.cache.store import FORGOTTEN_BYTES, RECENT_CHANGES, CacheStore, Forgotten
from tests.cache.cases import ALICE, CAROL, fetch, fill, is_hit, make_cache, missing, status


def keep(
    store: CacheStore, path: str, caller: Caller = ALICE, *, grant: bool = True, replied_at: float = 0.0
) -> None:
    """Store a 404 for a path and, with `grant`, its caller's right."""
    ticket = store.take_ticket(path, caller, replied_at, joinable=True)
    assert store.return_ticket(ticket)
    if ticket.name not in ticket.directory.entries:
        reply = StoredReply(404, (), f'{{"RemoteException":"no {path}"}}'.encode())
        store.keep_entry(ticket, reply, kind=EntryKind.MISSING, replied_at=replied_at, since_txid=0)
    if grant:
        ends_at = replied_at + 300.0
        store.keep_grant(ticket.directory, caller, of_status=False, proven_at=replied_at, expires_at=ends_at)


def test_a_path_is_untouched_without_entry_and_question() -> None:
    """Entries and questions of siblings, ancestors and descendants do not count."""
    store = make_cache().store
    assert store.is_untouched("/a/f")
    for beside in ("/a/g", "/a/f/below", "/b/f"):
        keep(store, beside)
    assert store.is_untouched("/a/f")
    ticket = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    assert not store.is_untouched("/a/f")
    store.return_ticket(ticket)
    assert store.is_untouched("/a/f")
    keep(store, "/a/f")
    assert not store.is_untouched("/a/f")
    assert store.is_untouched("/f")


WIDE = "\N{CYRILLIC SMALL LETTER A}"
HEAD = "GET /webhdfs/v1{}?op=GETFILESTATUS&user.name=joe HTTP/1.1\r\nHost: nn.example.org:14000\r\n\r\n"


def hold(store: CacheStore, path: str, caller: Caller, head: str = HEAD) -> Hit:
    """Hold a hit for repeated requests of a cached path."""
    directory = store.tree.find(path.rpartition("/")[0])
    assert directory is not None
    entry, grant = directory.entries[path.rpartition("/")[2]], directory.grants[caller]
    hit = Hit(entry, grant, forget_epoch=store.forget_epoch, expires_at=9.0, key=head.format(path).encode())
    store.hold(hit)
    return hit


def with_heads(store: CacheStore, n: int) -> None:
    """Store one more path, with a hit for its repeated request."""
    keep(store, f"/a/part-{n:06}", replied_at=n / 7)
    hold(store, f"/a/part-{n:06}", ALICE)


def many_heads_of_one(store: CacheStore, n: int) -> None:
    """Many clients poll one path, each with a head of its own."""
    keep(store, "/a/f", replied_at=n / 7)
    hold(store, "/a/f", ALICE, HEAD.replace("nn.", f"n{n}."))


def many_witnesses(store: CacheStore, n: int) -> None:
    """Finding 10: callers with long names ask for the same paths before anything is covered."""
    path = f"/a/part-{n % 50:06}"
    caller = Caller(f"user={n:06}" + "x" * 240)
    keep(store, path, caller, replied_at=n / 7)
    directory = store.tree.find("/a")
    assert directory is not None
    store.witness(directory.entries[path[3:]], caller, 1.0, 0.0)


def odd_fields(store: CacheStore, n: int) -> None:
    """An intermediary between NameNode and proxy marks each reply."""
    ticket = store.take_ticket(f"/a/{n:06}", ALICE, 0.0, joinable=True)
    assert store.return_ticket(ticket)
    reply = StoredReply(404, ((b"X-Request-Id", b"%d" % n), (b"X-Other", b"%d" % n)), b"")
    store.keep_entry(ticket, reply, kind=EntryKind.MISSING, replied_at=float(n), since_txid=0)


SHAPES: dict[str, Callable[[CacheStore, int], object]] = {
    "tables of one job": lambda store, n: keep(store, f"/a/part-{n:06}", grant=n == 0, replied_at=n / 7),
    "a directory each": lambda store, n: keep(
        store, f"/a/dir-{n:06}/_SUCCESS", Caller(f"u{n % 10}"), replied_at=n / 7
    ),
    "with heads": with_heads,
    "many heads of one": many_heads_of_one,
    "many callers": lambda store, n: keep(store, "/a/f", Caller(f"user=u{n:06}"), replied_at=n / 7),
    "no Latin-1": lambda store, n: keep(
        store, f"/{WIDE}/{n:06}" + WIDE * 200, grant=n == 0, replied_at=n / 7
    ),
    "many witnesses": many_witnesses,
    "long names": lambda store, n: keep(  # finding 10
        store, f"/a/part-{n:06}", Caller(f"user={n:06}" + "x" * 240), replied_at=n / 7
    ),
    "open questions": lambda store, n: store.take_ticket(
        f"/a/{n:06}" + "x" * 1_000, ALICE, 0.0, joinable=True
    ),
    "odd fields": odd_fields,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_counted_is_within_a_factor_of_what_is_taken(store: CacheStore, shape: str) -> None:
    """The bound holds in bytes: the count is within a factor of 1.3 of what CPython allocates, for every shape."""
    gc.collect()
    tracemalloc.start()
    for n in range(5_000):
        SHAPES[shape](store, n)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 1 / 1.3 <= store.bytes / taken <= 1.3, f"{store.bytes / taken:.2f}: {taken} bytes are taken"
    if shape != "open questions":
        store.check()


def test_eviction_takes_what_was_cut_off_before_what_is_good() -> None:
    """S3: detached items are freed first; no hit is evicted while any are left."""
    store = CacheStore(max_bytes=10**9, max_items=20)
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
    store = CacheStore(max_bytes=10**9, max_items=10)
    for n in range(30):
        keep(store, "/a/f", Caller(f"user=u{n}"))
        store.evict()
    assert store.grants <= 10
    assert store.counters.evictions > 0
    store.check()


def test_a_ticket_is_good_once_and_only_while_unspoiled() -> None:
    """A spoiled ticket is returned like any other and leaves nothing behind."""
    store = CacheStore(max_bytes=10**9, max_items=10)
    first = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    second = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    assert store.return_ticket(first)
    store.forget_status("/a/f")
    assert not store.return_ticket(second)
    assert (store.tickets, store.tree.directories, store.one_of(0.5)) == (0, 0, None)


def test_the_stamp_moves_only_with_what_was_good() -> None:
    """S2: the fast path walks the tree again exactly when a valid item was forgotten."""
    store = CacheStore(max_bytes=10**9, max_items=10)
    store.forget_status("/a/f")
    store.forget_subtree("/a")
    assert store.forget_epoch == 0
    keep(store, "/a/f")
    assert store.forget_epoch == 0
    store.forget_status("/a/f")
    assert store.forget_epoch == 1
    store.forget_subtree("/a")
    assert store.forget_epoch == 2


def test_a_line_of_statuses_goes_in_one_walk() -> None:
    """Every status from a path up to a directory is forgotten, as if each were named; siblings stay."""
    store = CacheStore(max_bytes=10**9, max_items=100)
    for path in ("/a", "/a/b", "/a/b/c", "/a/b/c/f", "/a/b/c/g", "/a/x"):
        keep(store, path, grant=False)
    store.forget_line("/a/b/c/f", "/a/b")
    found = [store.tree.find(above) for above in ("/", "/a", "/a/b", "/a/b/c")]
    assert [list(directory.entries) for directory in found if directory is not None] == [
        ["a"],
        ["x"],
        [],
        ["g"],
    ]
    store.forget_line("/a/b", "/a/b")
    store.forget_line("/a/b/c/d/e", "/a/b")
    keep(store, "/", grant=False)
    store.forget_line("/a/b", "/a")
    assert not store.is_untouched("/")
    store.forget_line("/a/b", "/")
    assert store.is_untouched("/")
    store.check()


def test_what_was_kept_is_alive_until_it_is_forgotten_or_cut_off() -> None:
    """`is_alive` is false after both: forgotten by itself, or detached with its directory."""
    store = CacheStore(max_bytes=10**9, max_items=10)
    keep(store, "/a/f")
    keep(store, "/a/g")
    directory = store.tree.find("/a")
    assert directory is not None
    first, second = directory.entries["f"], directory.entries["g"]
    grant = directory.grants[ALICE]
    assert {store.one_of(number / 100) for number in range(100)} == {first, second, grant}
    store.keep_grant(directory, ALICE, of_status=False, proven_at=5.0, expires_at=305.0)
    assert (grant.proven_at, grant.expires_at) == (0.0, 305.0), "the first proof still stands"
    assert (store.is_good(grant), store.end_rights(CAROL, 1.0)) == (True, False)
    assert (store.end_rights(ALICE, 1.0), store.is_good(grant), store.forget_epoch) == (True, False, 1)
    keep(store, "/a/f", replied_at=2.0)
    grant = directory.grants[ALICE]
    assert store.is_good(grant), "what is proven later is good again"
    store.forget_entry(first)
    assert (store.is_alive(first), store.is_alive(second)) == (False, True)
    store.forget_grant(grant)
    store.forget_all()
    assert (store.is_alive(second), store.is_alive(grant)) == (False, False)
    assert store.counters.flushes == 1


def test_a_bound_that_questions_alone_exceed_ends_the_search() -> None:
    """S3 concerns entries, grants and hits: a directory with open tickets cannot be evicted."""
    store = CacheStore(max_bytes=1, max_items=10)
    ticket = store.take_ticket("/a/f", ALICE, 0.0, joinable=True)
    store.evict()
    assert store.bytes > 1
    assert store.return_ticket(ticket)


def test_what_a_change_cost_is_remembered() -> None:
    """`nncache explain` reads these changes, for a bounded number of paths."""
    store = CacheStore(max_bytes=1, max_items=1)
    for n in range(5_000):
        store.note_forgotten(Forgotten(f"/{n}", "Touched", n, 1.0))
    assert 1_000 < len(store.last_forgotten) < 5_000
    store.note_forgotten(Forgotten("/" + "x" * FORGOTTEN_BYTES, "Touched", 1, 1.0))
    assert "/4999" in store.last_forgotten, "one path of any length pushes nothing out"
    for n in range(300):
        store.note_forgotten(Forgotten(f"/{n}/" + "x" * 8_000, "Touched", n, 1.0))
    assert sum(map(len, store.last_forgotten)) < FORGOTTEN_BYTES
    store.note_forgotten(Forgotten("/1", "Touched", 300, 1.0))
    assert len(store.recent_changes) == RECENT_CHANGES
    assert [each.txid for each in store.recent_changes][-2:] == [299, 300], (
        "in their order, for the status page"
    )


# -- hits that are held for repeated requests -----


def test_a_held_hit_goes_with_its_entry_or_by_itself() -> None:
    """S4: an answer that can no longer be served holds no memory."""
    store = CacheStore(max_bytes=10**9, max_items=10)
    keep(store, "/a/f")
    first, second = hold(store, "/a/f", ALICE), hold(store, "/a/f", ALICE, HEAD + "x")
    assert hold(store, "/a/f", ALICE).key == first.key
    assert (len(store.held), first.alive) == (2, False), "the newer takes the older one's place"
    forget_epoch = store.forget_epoch
    store.forget_hit(second)
    assert (len(store.held), store.forget_epoch) == (1, forget_epoch), "the entry is as good as before"
    store.check()
    store.forget_status("/a/f")
    assert (store.held, store.held_bytes) == ({}, 0)
    store.check()


def test_what_is_no_longer_kept_is_not_held() -> None:
    """The entry or the grant may be gone by the time the answer is held."""
    store = CacheStore(max_bytes=10**9, max_items=10)
    keep(store, "/a/f")
    hit = hold(store, "/a/f", ALICE)
    store.forget_grant(hit.grant)
    store.forget_hit(hit)
    store.hold(hit)
    store.forget_entry(hit.entry)
    store.hold(hit)
    assert store.held == {}


def test_the_many_hits_of_one_entry_go_in_slices() -> None:
    """Many clients polling one changed path cause no pause, and the hits count until they are freed."""
    store = CacheStore(max_bytes=10**9, max_items=10)
    keep(store, "/a/f")
    for n in range(100):
        hold(store, "/a/f", ALICE, HEAD + str(n))
    before = store.bytes
    store.forget_status("/a/f")
    assert store.bytes > before / 2
    store.check()
    slices = 0
    while store.reclaim(10):
        slices += 1
        store.check()
    assert slices >= 9
    assert store.held == {}


def test_a_hit_goes_when_room_is_needed() -> None:
    """One bound covers all: a client that sends ever new heads for one path cannot fill the memory."""
    store = CacheStore(max_bytes=100_000, max_items=10)
    keep(store, "/a/f")
    for n in range(1_000):
        hold(store, "/a/f", ALICE, HEAD + str(n))
        assert store.bytes <= 100_000
    assert store.hits_evicted > 500
    store.check()


def test_a_slice_is_bounded_for_many_small_directories(store: CacheStore) -> None:
    """Deep trees with one entry each do not lengthen a slice."""
    for n in range(10):
        keep(store, f"/{n}" + "/x" * 100 + "/f", grant=False)
    store.forget_all()
    slices = 0
    while store.reclaim(10):
        slices += 1
    assert slices >= 10 * 100 / 10
    assert store.tree.directories == 0


# -- the bounds, as the whole cache keeps them -----


def test_reading_paths_that_do_not_exist_costs_others_nothing() -> None:
    """Shares: carol reads ten times as many missing paths as fit, twice each; paths that others poll stay hits."""
    cache = make_cache(max_cache_bytes=1_000_000)
    polled = [(f"/w/{n}", Caller(f"user={n % 20}")) for n in range(400)]
    for path, caller in polled:
        fill(cache, path, caller, 1.0)
    cache.cover(2.0, 100)
    for lap in range(10):
        assert sum(is_hit(cache, path, caller, 2.0) for path, caller in polled) >= 0.97 * len(polled), lap
        for n in range(1_000):
            path = f"/scan/{lap}-{n}"
            fill(cache, path, CAROL, 1.5)
            is_hit(cache, path, CAROL, 2.0)
    assert cache.stats(2.0).bytes <= 1_000_000
    cache.check()


def test_entries_are_bounded_in_number() -> None:
    """A path that no caller requests again is evicted first; entries and grants count alike."""
    cache = make_cache(max_cache_entries=10)
    for n in range(50):
        fill(cache, f"/a/{n}", ALICE, 1.0)
        assert is_hit(cache, "/a/0", ALICE, 1.0), "asked for often"
    stats = cache.stats(1.0)
    assert stats.entries + stats.grants <= 10
    assert stats.evictions >= 40
    cache.check()


def test_entries_are_bounded_in_bytes() -> None:
    """Large bodies are charged by their size."""
    cache = make_cache(max_cache_bytes=100_000)
    for n in range(50):
        fill(cache, f"/a/{n}", ALICE, 1.0, status(1.0, "x" * 10_000))
        assert cache.stats(1.0).bytes <= 100_000
    assert cache.stats(1.0).entries > 0


def test_a_bound_below_one_entry_keeps_nothing() -> None:
    """FailToNameNode: with a cache that holds nothing, every read is still answered by the NameNode."""
    cache = make_cache(max_cache_bytes=1)
    first = fetch(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/a/g", ALICE, 1.0)
    assert not is_hit(cache, "/a/g", ALICE, 1.0)
    assert cache.conclude(first, missing(1.0)) is Conclusion.STORED
    stats = cache.stats(1.0)
    assert (stats.entries, stats.grants, stats.directories) == (0, 0, 0)
