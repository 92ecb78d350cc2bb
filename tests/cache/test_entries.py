"""Entries and directories, without the cache around them."""

import pytest

from nncache.cache import MetadataCache
from nncache.cache.clock_eviction import Account, Caller
from nncache.cache.entries import MAX_WITNESSES, NOTHING, Directory, Entry, EntryKind, Grant, Hit, Ticket
from nncache.cache.replies import StoredReply
from nncache.cache.store import held_hits
from nncache.hadoop.change import Opened
from tests.cache.cases import ALICE, BOB, CAROL, fetch, fill
from tests.cache.cases import status as kept_status


def entry(kind: EntryKind = EntryKind.FILE, status: int = 200, body: bytes = b"1") -> Entry:
    """Return an entry in a directory of its own, replied at 1.0."""
    ticket = Ticket(Directory(None, ""), "/f", "f", ALICE, asked_at=1.0, number=1, joinable=True)
    return Entry(
        ticket, StoredReply(status, (), body), Account(ALICE), kind=kind, replied_at=1.0, since_txid=0
    )


def test_a_status_is_the_same_when_its_bytes_are() -> None:
    """Verbatim: the status code and the body's bytes are compared, not its fields."""
    assert entry().says_the_same(StoredReply(200, ((b"X", b"other headers"),), b"1"))
    assert not entry().says_the_same(StoredReply(200, (), b"2"))
    assert not entry().says_the_same(StoredReply(404, (), b"1"))


def test_two_404s_are_the_same_whatever_spelling_they_echo() -> None:
    """A 404 echoes the path as its caller spelled it."""
    assert entry(EntryKind.MISSING, 404, b"/w/f").says_the_same(StoredReply(404, (), b"//w//f/"))


def test_witnesses_gather_until_all_are_covered() -> None:
    """A caller stays a witness until their own right is covered, and no longer."""
    kept = entry()
    assert kept.has_witness(ALICE)
    kept.witness(BOB, 2.0, seen_as_of=1.5)
    assert (kept.has_witness(BOB), kept.has_witness(ALICE)) == (True, False)
    kept.witness(BOB, 2.1, seen_as_of=1.5)
    kept.witness(ALICE, 2.5, seen_as_of=1.9)
    assert (kept.has_witness(BOB), kept.has_witness(ALICE)) == (True, True)
    assert kept.confirmed_at == 2.5
    assert kept.replied_at == 1.0


def test_witnesses_are_bounded_while_nothing_is_covered() -> None:
    """Memory: each witness is charged for its size; a dropped one waits for coverage like every other caller."""
    kept = entry()
    alone = kept.cost
    for number in range(MAX_WITNESSES + 1):
        kept.witness(Caller(f"user={number}"), 2.0 + number, seen_as_of=0.0)
        assert kept.has_witness(Caller(f"user={number}"))
        held = sum(kept.has_witness(Caller(f"user={earlier}")) for earlier in range(number + 1))
        assert 0 < held <= MAX_WITNESSES
        assert kept.cost - alone >= 64 * held
    assert kept.confirmed_at == 2.0 + MAX_WITNESSES
    kept.witness(ALICE, 200.0, seen_as_of=200.0)
    assert kept.has_witness(ALICE)
    assert kept.cost == alone


def test_a_directory_is_bare_when_nothing_holds_it() -> None:
    """A directory stays while it has children, entries, grants or open tickets."""
    directory = Directory(None, "")
    assert directory.is_bare()
    directory.add_ticket(Ticket(directory, "/f", "f", ALICE, asked_at=1.0, number=1, joinable=True))
    assert not directory.is_bare()


def test_the_table_that_all_empty_directories_have_takes_nothing() -> None:
    """A write to the shared table would show one directory's entries in all others."""
    with pytest.raises(TypeError, match="the shared empty table cannot take 'f'"):
        NOTHING["f"] = entry()
    with pytest.raises(TypeError, match="the shared empty table cannot take 'f'"):
        NOTHING.setdefault("f", [])
    assert not NOTHING


def test_each_table_of_a_directory_is_made_once() -> None:
    """A second call returns the same table or child."""
    directory = Directory(None, "")
    for of_status in (False, True):
        table = directory.table(of_status=of_status)
        assert table is directory.table(of_status=of_status) is not NOTHING
    assert directory.add_child("a") is directory.children["a"]
    assert directory.add_child("b") is directory.children["b"]
    assert set(directory.children) == {"a", "b"}


def test_the_hits_of_an_entry_form_a_chain() -> None:
    """The entry can drop all its hits, and each hit can be unlinked before that."""
    kept = entry()
    grant = Grant(kept.directory, Account(ALICE), of_status=False, proven_at=1.0, expires_at=301.0)
    hits = [Hit(kept, grant, forget_epoch=3, expires_at=301.0, key=b"%d" % number) for number in range(4)]
    for hit in hits:
        hit.link()
    assert held_hits(kept) == hits[::-1]
    for number in (1, 3, 0, 2):  # one amid others, the first, the last, the only one
        hits[number].unlink()
        assert hits[number] not in held_hits(kept)
    assert kept.hits is None
    assert hits[0].cost < Hit(kept, grant, forget_epoch=3, expires_at=301.0, key=b"long").cost


def test_isfileclosed_is_not_asked_again_for_an_equal_file(cache: MetadataCache) -> None:
    """OpenFileUncached: opening the file would be a change. `no-cache` and any other status ask again."""
    fill(cache, "/a/f", ALICE, 1.0, kept_status(1.0))
    fill(cache, "/a/d", ALICE, 1.0, kept_status(1.0, kind=EntryKind.DIRECTORY))
    kept, other = kept_status(1.0).reply, kept_status(1.0, "2").reply
    assert fetch(cache, "/a/f", BOB, 2.0).finds_unchanged(kept)
    assert not fetch(cache, "/a/f", BOB, 2.0).finds_unchanged(other)
    assert not fetch(cache, "/a/f", BOB, 2.0, refresh=True).finds_unchanged(kept)
    assert fetch(cache, "/a/f", ALICE, 4.0).finds_unchanged(kept)  # the gate is closed
    assert not fetch(cache, "/a/d", BOB, 2.0).finds_unchanged(kept)
    assert not fetch(cache, "/a/g", BOB, 2.0).finds_unchanged(kept)
    fill(cache, "/a/g", BOB, 2.0)
    assert not fetch(cache, "/a/f", BOB, 2.0).finds_unchanged(kept)  # his right is proven, but not covered
    late = fetch(cache, "/a/f", CAROL, 2.0)
    cache.apply(Opened("/a/f"), 2.5, 101)
    assert not late.finds_unchanged(kept)
