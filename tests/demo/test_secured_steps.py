"""When a step of the secured story comes true."""

from dataclasses import replace

import pytest

from nncache.demo.secured_steps import Answer, denied, from_memory, logged_in, refused

HIT = Answer(status=200, is_hit=True, body=b'{"FileStatus":{}}')
MISS = replace(HIT, is_hit=False)
COOKIE = 'hadoop.auth="u=alice&p=alice@R&t=kerberos&e=1&s=x"; Path=/; HttpOnly'
NO = Answer(status=403, body=b"Permission denied: user=bob, access=EXECUTE")


def test_a_ticket_is_worth_a_cookie_of_its_user_and_a_proof() -> None:
    """From the NameNode, not from memory."""
    good = replace(MISS, set_cookie=COOKIE)
    assert logged_in("alice", good, "").came_true
    for bad in (MISS, replace(good, status=401), replace(good, is_hit=True)):
        assert not logged_in("alice", bad, "").came_true
    assert not logged_in("bob", good, "").came_true
    untrue = logged_in("alice", good, "it does not prove its name")
    assert not untrue.came_true
    assert untrue.seen.endswith("it does not prove its name")


def test_from_memory_once_the_namenode_has_accepted_it() -> None:
    """All with the same bytes; a few questions may be the NameNode's."""
    step = from_memory("t", [MISS, HIT, HIT], 1)
    assert (step.came_true, step.seen) == (True, "3 x 200; 2 hits")
    for bad in (
        [MISS, MISS, HIT],
        [MISS, HIT, replace(HIT, body=b"")],
        [MISS, HIT, replace(HIT, status=403)],
        [],
    ):
        assert not from_memory("t", bad, 1).came_true


def test_denied_by_the_namenode_alone() -> None:
    """In its own words."""
    step = denied("t", [NO, NO])
    assert (step.came_true, step.seen) == (True, "2 x 403, Permission denied; 0 hits")
    for bad in (
        [NO, HIT],
        [replace(NO, is_hit=True)],
        [replace(NO, body=b"")],
        [replace(NO, status=200)],
        [],
    ):
        assert not denied("t", bad).came_true


@pytest.mark.parametrize("status", [401, 403])
def test_a_credential_that_is_none_gets_nothing(status: int) -> None:
    """Neither from memory nor otherwise."""
    good = Answer(status=status)
    assert refused("t", [good, good], status).came_true
    for bad in ([good, HIT], [replace(good, is_hit=True)], [replace(good, body=HIT.body)], []):
        assert not refused("t", bad, status).came_true
