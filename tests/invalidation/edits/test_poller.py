"""PolledEdits: it survives lost connections, and ends where edits may be lost."""

import asyncio
import logging

import pytest

from nncache.hadoop.election_view import HaState
from nncache.hadoop.errors import MalformedReplyError, RpcAuthenticationError, RpcUnavailableError
from nncache.invalidation.edits.poller import ROLL_WAIT_S, UNREADABLE_S
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    UnreadableEditsError,
)
from nncache.invalidation.settings import PollingSettings
from tests.invalidation.fakes import (
    ACCESS_CONTROL,
    BUSY,
    IO,
    STANDBY,
    fake_cluster,
    reading,
    remote_error,
    txids,
)
from tests.invalidation.virtual_time import clock, until


async def test_a_life_begins_at_the_present_end() -> None:
    """Earlier edits are not read; the first poll is trusted and covers."""
    on = fake_cluster()
    assert on.source.term == 0
    opened_at = clock()
    await on.source.start(None)
    assert on.source.term == 1
    assert on.namenode.asked == [11]
    first = await on.source.read()
    assert (first.batches, first.through_txid) == ((), 10)
    assert first.fresh_as_of is not None
    assert opened_at < first.fresh_as_of < clock()
    on.source.stop()
    assert on.source.term == 0
    with pytest.raises(ChannelUnavailableError, match="not started"):
        await on.source.read()


async def test_a_life_may_begin_at_a_checkpoint() -> None:
    """A publisher resumes at its last position."""
    on = fake_cluster()
    await on.source.start(4)
    assert txids(await on.read_until(lambda read: read.through_txid == 10)) == [5, 6, 7, 8, 9, 10]


async def test_a_checkpoint_that_the_log_has_lost_is_a_gap() -> None:
    """Both a purge and a rolled-back log are reported before anything is covered (GapFlush)."""
    on = fake_cluster()
    on.namenode.log.first_kept = 6
    with pytest.raises(MissingEventsError, match="purged: asked for 5, got 6") as caught:
        await on.source.start(4)
    assert (caught.value.kind, caught.value.first_txid, caught.value.last_txid) == (GapKind.PURGED, 5, 5)
    with pytest.raises(MissingEventsError, match="went back") as caught:
        await fake_cluster().source.start(11)
    assert caught.value.kind is GapKind.WENT_BACK


async def test_the_end_may_be_ahead_of_what_is_durable() -> None:
    """A transaction that is not durable when the run begins does not mean that the log went back."""
    on = fake_cluster()
    on.namenode.unsynced = 2
    await on.source.start(None)
    assert not (await on.source.read()).is_durable
    on.namenode.unsynced = 0
    assert (await on.source.read()).is_durable
    on.namenode.unlink("/a")
    assert txids(await on.read_until(lambda read: read.through_txid == 11)) == [11]


async def test_changes_are_read_once_and_in_order_page_after_page() -> None:
    """Pages are read without a pause, and only the last one covers."""
    on = await reading()
    on.namenode.max_events = 2
    for number in range(7):
        on.namenode.unlink(f"/{number}")
    began_at = clock()
    reads = await on.read_until(lambda read: read.through_txid == 17)
    assert txids(reads) == [11, 12, 13, 14, 15, 16, 17]
    assert [read.fresh_as_of is not None for read in reads] == [False, False, False, True]
    assert clock() - began_at < 0.01 + 5 * on.namenode.takes_s
    assert on.source.stats().polls_found == 4


async def test_idle_polls_keep_the_interval() -> None:
    """A quiet second takes a hundred polls."""
    on = fake_cluster()
    await on.source.start(None)
    end = clock() + 1.0
    await on.read_until(lambda _: clock() >= end)
    assert len(on.namenode.asked) == pytest.approx(100, abs=5)


async def test_waking_hurries_the_next_poll() -> None:
    """A request for coverage cuts an idle wait of 5 s short."""
    on = await reading(poll_interval_s=5.0)
    began_at = clock()
    asyncio.get_running_loop().call_later(0.2, on.source.wake)
    read = await on.source.read()
    assert read.fresh_as_of is not None
    assert 0.2 <= clock() - began_at < 0.3
    assert not on.pool.suspicions[1:], "alone, nobody else needs to be asked"


async def test_polling_keeps_to_its_budget() -> None:
    """Under steady change polls of 0.1 s come every two seconds, once the burst is used up."""
    on = await reading(roll_interval_s=0.0)
    on.namenode.takes_s = 0.1
    end = clock() + 60
    while clock() < end:
        on.namenode.unlink("/a")
        await on.source.read()
    stats = on.source.stats()
    assert stats.polls_found == pytest.approx(
        (PollingSettings().poll_budget_burst_s + 60 * 0.05) / 0.1, abs=3
    )
    assert stats.poll_charged_s == pytest.approx(stats.polls_found * 0.1, rel=0.05)
    assert stats.poll_budget_s < 0.1


async def test_a_cut_connection_loses_nothing() -> None:
    """FailToNameNode: no flush, no coverage during the outage, and reading resumes soon after it."""
    on = await reading()
    on.namenode.is_reachable = False
    on.namenode.cut()
    cut_at = clock()
    on.namenode.unlink("/while/away")
    loop = asyncio.get_running_loop()
    loop.call_later(30.0, lambda: setattr(on.namenode, "is_reachable", True))
    read = await on.source.read()
    assert txids([read]) == [11]
    assert read.fresh_as_of is not None
    assert read.fresh_as_of >= cut_at + 30.0
    assert clock() - cut_at < 31.1
    stats = on.source.stats()
    assert stats.reconnects == 1
    assert 30 <= stats.polls_failed <= 60


async def test_a_reset_connection_costs_no_waiting() -> None:
    """The first retry after a failure is immediate."""
    on = await reading()
    on.namenode.cut()
    on.namenode.unlink("/a")
    began_at = clock()
    assert txids([await on.source.read()]) == [11]
    assert clock() - began_at < 0.05


@pytest.mark.parametrize(
    "refusal",
    [
        remote_error(ACCESS_CONTROL, "Access denied for user joe. Superuser privilege is required"),
        RpcAuthenticationError("nn:8020", "Kerberos"),
    ],
)
async def test_who_may_not_read_edits_is_refused(refusal: Exception) -> None:
    """Reading is refused at the start, and also when the right is withdrawn later."""
    on = await reading()
    on.namenode.refusal = refusal
    with pytest.raises(NotPermittedError):
        await on.source.read()
    with pytest.raises(NotPermittedError):
        await on.source.start(None)


async def test_a_start_without_an_active_namenode_fails() -> None:
    """The consumer retries."""
    on = fake_cluster()
    on.namenode.state = HaState.STANDBY
    with pytest.raises(ChannelUnavailableError, match="no active NameNode: nn:9870 is standby"):
        await on.source.start(None)


@pytest.mark.parametrize("fault", ["unreachable", "standby", "becoming active", "unconfirmed"])
async def test_a_start_that_cannot_be_finished_fails(fault: str) -> None:
    """The term stays 0 until the first poll is trusted."""
    on = fake_cluster()
    if fault == "unreachable":
        on.namenode.is_reachable = False
    elif fault == "standby":
        on.namenode.refusal = remote_error(STANDBY)
    elif fault == "becoming active":
        on.namenode.becoming_active = True
    else:
        on.pool.is_blind = True
    with pytest.raises(ChannelUnavailableError):
        await on.source.start(None)
    assert on.source.term == 0


@pytest.mark.parametrize("fault", [remote_error(IO, "Gap in transactions"), MalformedReplyError("event 99")])
async def test_edits_that_stay_unreadable_are_given_up(fault: Exception) -> None:
    """They may be lost for good: a new run at the present end is better than no run."""
    on = await reading()
    on.namenode.refusal = fault
    began_at = clock()
    with pytest.raises(MissingEventsError, match="unreadable from 11 on") as caught:
        await on.source.read()
    assert caught.value.kind is GapKind.UNREADABLE
    assert UNREADABLE_S <= clock() - began_at < UNREADABLE_S + 2


@pytest.mark.parametrize("fault", [remote_error(IO, "Gap in transactions"), MalformedReplyError("event 99")])
async def test_a_start_at_edits_that_cannot_be_read_says_so(fault: Exception) -> None:
    """A publisher that starts at its position must distinguish unreadable edits from an unavailable NameNode."""
    on = fake_cluster()
    on.namenode.refusal = fault
    with pytest.raises(UnreadableEditsError):
        await on.source.start(4)
    for passing in (remote_error(STANDBY), RpcUnavailableError("cut off", is_sent=True)):
        on.namenode.refusal = passing
        with pytest.raises(ChannelUnavailableError) as caught:
            await on.source.start(4)
        assert not isinstance(caught.value, UnreadableEditsError)


async def test_a_namenode_that_is_only_becoming_active_is_not_believed() -> None:
    """Its syncTxid may be from an earlier time as active: the log has not gone back."""
    on = fake_cluster()
    on.namenode.unsynced, on.namenode.becoming_active = 5, True
    with pytest.raises(ChannelUnavailableError, match="becoming active"):
        await on.source.start(10)
    on.namenode.unsynced, on.namenode.becoming_active = 0, False
    await on.source.start(10)


async def test_edits_unreadable_for_a_while_lose_nothing() -> None:
    """Reading waits for temporary refusals, and for errors that end in time."""
    on = await reading()
    loop = asyncio.get_running_loop()
    for refusal, how_long_s in ((remote_error(IO), 8.0), (remote_error(STANDBY), 60.0)):
        on.namenode.refusal = refusal
        on.namenode.unlink("/a")
        loop.call_later(how_long_s, lambda: setattr(on.namenode, "refusal", None))
        read = await on.source.read()
        assert txids([read]) == [on.namenode.log.end]


async def test_a_busy_namenode_is_confirmed_before_it_is_polled_again() -> None:
    """It closes the connection with its refusal, and a page over an unconfirmed connection would not be trusted."""
    on = await reading()
    polls = len(on.namenode.asked)
    on.namenode.refusal = remote_error(BUSY, "Server too busy - disconnecting")

    def answer_again() -> None:
        on.namenode.refusal = None
        on.namenode.cut()

    asyncio.get_running_loop().call_later(2 * UNREADABLE_S, answer_again)
    on.namenode.unlink("/a")
    assert txids([await on.source.read()]) == [11]
    assert len(on.namenode.asked) == polls + 1


async def test_a_cancelled_read_loses_nothing() -> None:
    """P2: the page is requested again."""
    on = await reading()
    on.namenode.unlink("/a")
    on.namenode.takes_s = 2.0
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(on.source.read(), 1.0)
    assert txids([await on.source.read()]) == [11]


async def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """The log has one line during the outage, and one at its end."""
    caplog.set_level(logging.INFO)
    on = await reading()
    on.namenode.is_reachable = False
    on.namenode.cut()
    asyncio.get_running_loop().call_later(20.0, lambda: setattr(on.namenode, "is_reachable", True))
    await on.source.read()
    await until(lambda: on.namenode.is_reachable)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_a_slow_segment_is_rolled_and_then_by_its_length() -> None:
    """A slow poll triggers the first roll, the number of transactions the later ones."""
    on = fake_cluster(roll_after_txids=100, roll_interval_s=10.0)
    await on.source.start(None)
    on.namenode.takes_s = 0.02
    await on.read_a_change()
    assert on.namenode.rolls == 1
    on.namenode.takes_s = 0.001
    for _ in range(100):
        on.namenode.unlink("/a")
    await asyncio.sleep(10)
    await on.read_until(lambda read: bool(read.batches))
    await on.source.read()
    assert on.namenode.rolls == 2
    assert on.source.stats().rolls == 2


async def test_a_slow_roll_does_not_delay_polls() -> None:
    """Bounded costs no hits while RPC is slow: two round trips, and a third for the roll, would close the gate."""
    on = fake_cluster(poll_budget_share=1.0, roll_interval_s=10.0)
    await on.source.start(None)
    on.namenode.takes_s = 1.1
    on.namenode.unlink("/a")
    await on.read_until(lambda read: bool(read.batches))
    replied_at = clock()
    await on.source.read()
    assert clock() - replied_at < 1.1 + ROLL_WAIT_S + 0.1
    assert (on.source.stats().rolls_failed, on.source.stats().rolls) == (1, 0)
    on.namenode.takes_s = 0.02
    await asyncio.sleep(10)
    await on.read_a_change()
    assert on.source.stats().rolls == 1


async def test_a_forbidden_roll_is_logged_once_and_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    """Reading continues, and the log says what follows."""
    caplog.set_level(logging.WARNING)
    on = fake_cluster()
    on.namenode.roll_refusal = remote_error(ACCESS_CONTROL)
    on.namenode.takes_s = 0.02
    await on.source.start(None)
    for _ in range(20):
        await asyncio.sleep(10)
        on.namenode.unlink("/a")
        await on.read_until(lambda read: bool(read.batches))
    assert (on.source.stats().rolls_failed, on.source.stats().rolls) == (1, 0)
    assert [record.message for record in caplog.records if "rollEdits is refused" in record.message]
    assert len(caplog.records) == 1


async def test_a_failed_roll_is_tried_again_later() -> None:
    """A roll may fail for a while, for example in safe mode."""
    on = fake_cluster()
    on.namenode.roll_refusal = remote_error("org.apache.hadoop.hdfs.server.namenode.SafeModeException")
    on.namenode.takes_s = 0.02
    await on.source.start(None)
    await on.read_a_change()
    assert on.source.stats().rolls_failed == 1
    on.namenode.roll_refusal = None
    await asyncio.sleep(10)
    await on.source.read()
    assert on.source.stats().rolls == 1
