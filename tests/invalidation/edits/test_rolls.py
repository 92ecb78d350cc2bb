"""A long segment is closed by rollEdits, which costs the reading nothing, whatever becomes of it."""

import asyncio
import logging

import pytest

from nncache.invalidation.edits.poller import ROLL_WAIT_S
from tests.invalidation.fake_cluster import fake_cluster
from tests.invalidation.fakes import ACCESS_CONTROL, remote_error
from tests.invalidation.virtual_time import clock


async def test_a_slow_segment_is_rolled_and_then_by_its_length() -> None:
    """The first roll comes with a slow poll, the next ones with the number of transactions."""
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
    """Bounded costs no hits while RPC is slow: two round trips and a third for the roll would close the gate."""
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


async def test_a_forbidden_roll_is_said_once_and_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    """Reading goes on, the log says what follows."""
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
    """Safe mode ends; a cut connection is a cut connection."""
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
