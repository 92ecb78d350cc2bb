"""ConfirmedNameNode, through the source that uses it: only replies of the followed incarnation are trusted."""

import asyncio

import pytest

from nncache.hadoop.election_view import HaState
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError, WrongNamespaceError
from tests.invalidation.fakes import FakeNameNode, fake_cluster, reading, txids
from tests.invalidation.virtual_time import clock


async def test_a_new_connection_is_confirmed_before_its_replies() -> None:
    """The connection is cut during a poll, and the client reconnects: the reply is discarded."""
    on = await reading()
    suspicions = len(on.pool.suspicions)
    on.namenode.during_call = on.namenode.cut
    on.namenode.unlink("/a")
    assert txids([await on.source.read()]) == [11]
    assert on.namenode.asked[-2:] == [11, 11]
    stats = on.source.stats()
    assert (stats.polls_distrusted, stats.reconnects) == (1, 1)
    assert len(on.pool.suspicions) > suspicions


async def test_without_confirmation_nothing_is_read() -> None:
    """While the web pages that show the identity do not answer, a new connection cannot be used."""
    on = await reading()
    on.pool.is_blind = True
    on.namenode.cut()
    on.namenode.unlink("/a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(on.source.read(), 60)
    on.pool.is_blind = False
    assert txids([await on.source.read()]) == [11]


@pytest.mark.parametrize("lost", [0, 3])
async def test_a_restarted_namenode_ends_the_life(lost: int) -> None:
    """Edits that its predecessor served may be missing from the log, whether or not transactions were lost."""
    on = await reading()
    on.namenode.restart(lost=lost)
    with pytest.raises(MissingEventsError, match=r"another one or was restarted.*term 2 after 1"):
        await on.source.read()
    await on.source.start(None)
    assert on.source.term == 2


async def test_with_peers_coverage_needs_their_word() -> None:
    """Bounded: coverage ends at the last probe that found one active NameNode, and stops while two claim to be."""
    peer = FakeNameNode("nn2", active=False)
    on = fake_cluster(peer)
    await on.source.start(None)
    confirmed_as_of = on.pool.confirmed_as_of
    await asyncio.sleep(0.5)
    read = (await on.read_until(lambda _: clock() > 1000.5))[-1]
    assert read.fresh_as_of == confirmed_as_of
    on.source.wake()
    on.source.wake()
    assert on.pool.suspicions.count("coverage is waited for") == 1
    read = await on.source.read()
    assert read.fresh_as_of == on.pool.confirmed_as_of != confirmed_as_of
    peer.state = HaState.ACTIVE
    on.pool.probe()
    assert (await on.source.read()).fresh_as_of is None


async def test_a_connection_that_changes_at_start_is_refused() -> None:
    """The position may be that of another process."""
    on = fake_cluster()
    original = on.pool.suspect

    def suspect_and_arm(*args: object) -> None:
        original(*args)  # type: ignore[arg-type]  # handed on as they are
        on.namenode.during_call = on.namenode.cut

    on.pool.suspect = suspect_and_arm  # type: ignore[method-assign,assignment]  # a fault at exactly this point
    with pytest.raises(ChannelUnavailableError, match="connection changed"):
        await on.source.start(None)


@pytest.mark.parametrize("poll_interval_s", [0.01, 5.0])
async def test_a_request_for_coverage_is_not_forgotten(poll_interval_s: float) -> None:
    """A request right after a probe is met by another probe 50 ms later, not by the pool's next periodic one."""
    on = await reading(FakeNameNode("nn2", active=False), poll_interval_s=poll_interval_s)
    on.source.wake()
    await on.source.read()
    wanted_at = clock()
    on.source.wake()
    await on.read_until(lambda read: (read.fresh_as_of or 0.0) >= wanted_at)
    assert clock() - wanted_at < 0.1
    suspicions = len(on.pool.suspicions)
    for _ in range(20):
        await on.source.read()
    assert len(on.pool.suspicions) == suspicions, "no call waits any more"


async def test_a_request_outside_a_run_asks_nothing() -> None:
    """Outside a run there is no NameNode to probe."""
    on = fake_cluster()
    on.source.wake()
    assert on.pool.suspicions == []


def elsewhere() -> FakeNameNode:
    """Return a healthy NameNode of another cluster, with a longer log."""
    other = FakeNameNode("other")
    other.namespace = Namespace("CID-2", "BP-2")
    for number in range(20):
        other.unlink(f"/theirs/{number}")
    return other


async def test_no_life_begins_with_edits_of_another_namespace() -> None:
    """Bounded: the error names both namespaces, and no page is requested."""
    on = fake_cluster()
    on.namenode.rpc_leads_to = other = elsewhere()
    with pytest.raises(WrongNamespaceError, match=r"BP-2 of cluster CID-2.*BP-1.*--namenode-rpc"):
        await on.source.start(None)
    assert other.asked == on.namenode.asked == []


async def test_reconnecting_to_another_namespace_ends_the_life() -> None:
    """Bounded: reading may begin again once the address is corrected."""
    on = await reading()
    on.namenode.rpc_leads_to = other = elsewhere()
    on.namenode.cut()
    with pytest.raises(WrongNamespaceError):
        await on.source.read()
    assert other.asked == []
    on.namenode.rpc_leads_to = None
    await on.source.start(None)
    await on.source.read()


async def test_another_namespace_seen_by_somebody_else_ends_the_life() -> None:
    """A caller's question over its own connection may show it, or the web page of another NameNode."""
    other = FakeNameNode("peer", active=False)
    on = await reading(other)
    other.namespace = Namespace("CID-2", "BP-2")
    on.pool.probe()
    with pytest.raises(WrongNamespaceError, match="peer:9870 serves namespace BP-2"):
        await on.source.read()
