"""ProvenGrant: no caller gets from the cache what the NameNode would refuse them."""

from dataclasses import replace

import pytest

from nncache.cache import (
    CacheSettings,
    Caller,
    Conclusion,
    Denied,
    EntryKind,
    Failed,
    Fetch,
    MetadataCache,
    MissReason,
    Unauthenticated,
    Wait,
)
from nncache.cache.rights import MAX_ENDED, Rights
from nncache.cache.store import CacheStore
from nncache.hadoop.change import AccessChanged, Touched
from tests.cache.cases import ALICE, BOB, CAROL, fetch, fill, hit_of, is_hit, make_cache, settle, status


def test_proven_grant_a_stranger_asks_for_himself(cache: MetadataCache) -> None:
    """ProvenGrant: no caller gets a hit before the NameNode has answered them."""
    fill(cache, "/a/f", ALICE, 1.0)
    settle(cache, 2.0)
    decision = cache.lookup("/a/f", BOB, 2.0)
    assert isinstance(decision, Fetch)
    assert decision.reason is MissReason.NO_GRANT
    assert cache.conclude(decision.ticket, Denied()) is Conclusion.NOT_KEPT
    assert not is_hit(cache, "/a/f", BOB, 2.0)


def test_proven_grant_one_right_serves_all_names_of_a_directory(cache: MetadataCache) -> None:
    """The right to see a status belongs to (caller, directory), once both were true at one moment."""
    fill(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/a/g", BOB, 1.0)
    settle(cache, 1.0)
    assert is_hit(cache, "/a/f", BOB, 1.0)
    assert is_hit(cache, "/a/g", ALICE, 1.0)


def test_proven_grant_an_old_right_never_meets_newer_content(cache: MetadataCache) -> None:
    """ProvenGrant: chmod 700, then a secret file is created, while the event of the chmod is still on its way."""
    fill(cache, "/a/f", BOB, 1.0)
    settle(cache, 1.5)
    fill(cache, "/a/secret", ALICE, 2.0, status(2.0))
    assert is_hit(cache, "/a/secret", ALICE, 2.0), "the NameNode has answered alice"
    assert cache.lookup("/a/secret", BOB, 2.0) == Wait(None)
    pending = cache.lookup("/a/secret", BOB, 2.0, may_wait=False)
    assert isinstance(pending, Fetch)
    assert pending.reason is MissReason.GRANT_PENDING
    cache.conclude(pending.ticket, Failed())
    cache.apply(AccessChanged("/a"), 2.1, 101)
    settle(cache, 2.2)
    assert not is_hit(cache, "/a/secret", BOB, 2.2)


def test_proven_grant_a_new_right_never_meets_older_content(cache: MetadataCache) -> None:
    """ProvenGrant: the entry may date from a time when this caller had no right."""
    fill(cache, "/a/f", ALICE, 1.0, status(1.0))
    settle(cache, 1.5)
    fill(cache, "/a/g", BOB, 2.0)
    assert not is_hit(cache, "/a/f", BOB, 2.0)
    settle(cache, 2.0)
    assert is_hit(cache, "/a/f", BOB, 2.0)


def test_witnesses_are_let_go_once_covered(cache: MetadataCache) -> None:
    """Only callers whom the NameNode answered since the last probe are witnesses."""
    fill(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/a/f", BOB, 1.1)
    settle(cache, 2.0)
    fill(cache, "/a/f", CAROL, 2.1)
    hit = hit_of(cache.lookup("/a/f", CAROL, 2.1))
    reported = [caller for caller in (ALICE, BOB, CAROL) if hit.entry.has_witness(caller)]
    assert reported == [CAROL]
    assert is_hit(cache, "/a/f", ALICE, 2.1)


def test_a_grant_ends_with_its_time() -> None:
    """Group membership changes without an event, so `grant_ttl_s` bounds the life of a grant."""
    cache = make_cache(grant_ttl_s=10.0)
    fill(cache, "/a/f", ALICE, 0.0)
    settle(cache, 9.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 9.9))
    assert not cache.is_good(hit, 10.0)
    settle(cache, 10.0)
    again = cache.lookup("/a/f", ALICE, 10.0)
    assert isinstance(again, Fetch)
    assert again.reason is MissReason.NO_GRANT


def test_a_grant_proven_again_lives_longer() -> None:
    """Every reply for any name in the directory proves the right again."""
    cache = make_cache(grant_ttl_s=10.0)
    fill(cache, "/a/f", ALICE, 0.0)
    fill(cache, "/a/g", ALICE, 8.0)
    settle(cache, 15.0)
    assert is_hit(cache, "/a/f", ALICE, 15.0)


def test_a_refused_caller_loses_the_right(cache: MetadataCache) -> None:
    """ProvenGrant: a 403 ends the right before any event of the change arrives."""
    fill(cache, "/a/f", BOB, 1.0)
    settle(cache, 1.0)
    hit = hit_of(cache.lookup("/a/f", BOB, 1.0))
    cache.conclude(fetch(cache, "/a/g", BOB, 1.0), Denied())
    assert not cache.is_good(hit, 1.0)
    assert not is_hit(cache, "/a/f", BOB, 1.0)


def test_a_refusal_older_than_a_change_says_nothing(cache: MetadataCache) -> None:
    """A refusal under a spoiled ticket may date from before the chmod that gave the caller the right."""
    ticket = fetch(cache, "/a/f", BOB, 1.0)
    cache.apply(Touched("/a/f"), 1.0, 101)
    fill(cache, "/a/g", BOB, 1.1)
    cache.conclude(ticket, Denied())
    settle(cache, 1.2)
    assert is_hit(cache, "/a/g", BOB, 1.2)


def test_per_path_a_directorys_status_needs_a_right_of_its_own() -> None:
    """`grants = per_path`: a policy on the directory itself counts (attribute providers such as Ranger)."""
    cache = make_cache(grants="per_path")
    fill(cache, "/a/d", ALICE, 1.0, status(1.0, kind=EntryKind.DIRECTORY))
    fill(cache, "/a/f", BOB, 1.0)
    settle(cache, 2.0)
    assert is_hit(cache, "/a/d", ALICE, 2.0)
    assert is_hit(cache, "/a/f", ALICE, 2.0), "files go by the right to traverse"
    assert not is_hit(cache, "/a/d", BOB, 2.0)
    fill(cache, "/a/d", BOB, 2.0, status(2.0, kind=EntryKind.DIRECTORY))
    settle(cache, 2.5)
    assert is_hit(cache, "/a/d", BOB, 2.5)
    cache.conclude(fetch(cache, "/a/d", BOB, 2.5, refresh=True), Denied())
    assert not is_hit(cache, "/a/d", BOB, 2.5)
    cache.apply(AccessChanged("/a/d"), 3.0, 101)
    assert not is_hit(cache, "/a/d", ALICE, 3.0)


def test_per_path_a_status_whose_rights_went_is_asked_for() -> None:
    """`grants = per_path`: without a node for the directory, no caller has a right to its status."""
    cache = make_cache(grants="per_path", grant_ttl_s=5.0)
    fill(cache, "/a/d", ALICE, 1.0, status(1.0, kind=EntryKind.DIRECTORY))
    settle(cache, 6.5)
    assert not is_hit(cache, "/a/d", ALICE, 6.5)


def test_a_directory_that_nobody_asked_about_has_no_rights() -> None:
    """`explain` asks about paths of which nothing is known."""
    store = CacheStore(max_bytes=1, max_items=1)
    assert Rights(CacheSettings(), store).held(None, None) == {}


def test_proven_grant_a_view_before_durability_is_unsettled(cache: MetadataCache) -> None:
    """ProvenGrant: every acknowledged change is applied, but a reply may show one that is not durable (decision 9)."""
    fill(cache, "/a/f", BOB, 1.0)
    settle(cache, 1.5)
    fill(cache, "/a/secret", ALICE, 2.0, status(2.0))
    cache.cover(3.0, 100, 1.9)
    assert cache.lookup("/a/secret", BOB, 3.0) == Wait(None)
    assert is_hit(cache, "/a/secret", ALICE, 3.0), "the NameNode has answered alice"
    cache.cover(3.1, 100, 2.0)
    assert is_hit(cache, "/a/secret", BOB, 3.1)


def test_a_right_ends_with_what_authenticated_its_caller() -> None:
    """`proven_for_s` ends a right before `grant_ttl_s`, never after it."""
    cache = make_cache(grant_ttl_s=10.0, max_staleness_s=100.0)
    cache.conclude(fetch(cache, "/a/f", ALICE, 1.0), replace(status(1.0), proven_for_s=3.0))
    cache.conclude(fetch(cache, "/b/f", ALICE, 1.0), replace(status(1.0), proven_for_s=30.0))
    assert is_hit(cache, "/a/f", ALICE, 3.9)
    assert not is_hit(cache, "/a/f", ALICE, 4.0)
    assert is_hit(cache, "/b/f", ALICE, 10.9)
    assert not is_hit(cache, "/b/f", ALICE, 11.0)


@pytest.mark.parametrize("is_refused_by_namenode", [False, True])
def test_ended_rights_give_nothing_from_memory(is_refused_by_namenode: bool) -> None:
    """A cancelled token or a refused cookie ends the rights in all directories, on the fast path as well."""
    cache = make_cache(max_staleness_s=100.0)
    for path in ("/a/f", "/b/f"):
        fill(cache, path, ALICE, 1.0)
        fill(cache, path, BOB, 1.0)
    settle(cache, 2.0)
    hit = hit_of(cache.lookup("/b/f", ALICE, 2.0))
    if is_refused_by_namenode:
        cache.conclude(fetch(cache, "/a/g", ALICE, 2.0), Unauthenticated(2.0))
    else:
        cache.rights.end(ALICE, 2.0)
    assert not cache.is_good(hit, 2.0)
    assert not is_hit(cache, "/a/f", ALICE, 2.0)
    assert is_hit(cache, "/a/f", BOB, 2.0), "another caller's rights are another matter"
    cache.check()


def test_a_question_asked_before_the_end_gives_no_right() -> None:
    """NoLateFill for credentials: the reply may have been given before the token was cancelled."""
    cache = make_cache(max_staleness_s=100.0)
    ticket, other = fetch(cache, "/a/f", ALICE, 1.0), fetch(cache, "/a/f", BOB, 1.0)
    cache.rights.end(ALICE, 2.0)
    again = cache.lookup("/a/f", ALICE, 2.0)
    assert isinstance(again, Fetch), "nor an answer to who asks after it"
    cache.conclude(again.ticket, Failed())
    cache.conclude(ticket, status(3.0))
    cache.conclude(other, status(3.0))
    assert not is_hit(cache, "/a/f", ALICE, 3.0)
    assert is_hit(cache, "/a/f", BOB, 3.0)


def test_what_is_accepted_again_is_believed_again() -> None:
    """Two NameNodes without a common secret each accept only their own cookies."""
    cache = make_cache(max_staleness_s=100.0)
    fill(cache, "/a/f", ALICE, 1.0)
    cache.rights.end(ALICE, 2.0)
    fill(cache, "/a/f", ALICE, 3.0)
    settle(cache, 3.5)
    assert is_hit(cache, "/a/f", ALICE, 3.5)
    cache.check()


def test_a_refused_caller_without_rights_leaves_nothing_behind() -> None:
    """Forged credentials, however many, take no room and no place among the ended callers."""
    cache = make_cache(max_staleness_s=100.0)
    ticket = fetch(cache, "/a/f", BOB, 1.0)
    for number in range(MAX_ENDED + 2):
        forged = Caller(f"cookie={number}")
        cache.conclude(fetch(cache, "/a/f", forged, 1.0), Unauthenticated(1.0))
        cache.rights.end(Caller(f"token={number}"), 1.0, is_certain=False)
    cache.conclude(ticket, status(1.5))
    assert is_hit(cache, "/a/f", BOB, 1.5)


def test_forgotten_ends_cost_the_earlier_questions() -> None:
    """P2 also holds for a caller dropped from the table: no earlier question proves a right, for any caller."""
    cache = make_cache(max_staleness_s=100.0)
    ticket = fetch(cache, "/a/f", ALICE, 1.0)
    cache.rights.end(ALICE, 1.0)
    for number in range(MAX_ENDED):
        cache.rights.end(Caller(f"token={number}"), 1.0)
    cache.conclude(ticket, status(1.5))
    assert not is_hit(cache, "/a/f", ALICE, 1.5)
    fill(cache, "/a/f", ALICE, 2.0)
    settle(cache, 2.5)
    assert is_hit(cache, "/a/f", ALICE, 2.5)


def test_the_roots_status_proves_itself_alone() -> None:
    """ProvenGrant: every caller may see the status of a root of mode 700, but nothing below it."""
    for grants in ("per_directory", "per_path"):
        cache = make_cache(glob=("/", "/*"), grants=grants)
        fill(cache, "/", ALICE, 0.0, status(0.0, kind=EntryKind.DIRECTORY))
        fill(cache, "/f", BOB, 0.0)
        settle(cache, 0.0)
        assert is_hit(cache, "/", ALICE, 0.0)
        assert not is_hit(cache, "/f", ALICE, 0.0)
        assert not is_hit(cache, "/", BOB, 0.0)
        decision = fetch(cache, "/", ALICE, 0.0, refresh=True)
        cache.conclude(decision, Denied())
        assert not is_hit(cache, "/", ALICE, 0.0)
