"""RecordReader: all records of one chain, in order, each once; whatever is not proven to come next is a gap."""

import logging

import pytest

from nncache.invalidation.channel.records import Stale
from nncache.invalidation.channel.untrusted_znodes import MAX_REMEMBERED, BadZnodes
from nncache.invalidation.errors import MissingEventsError
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.channel.stage import staged
from tests.invalidation.virtual_time import clock


async def test_many_records_come_in_order_and_once() -> None:
    """However many were written between a notification and the read."""
    async with staged() as stage:
        stage.press.max_records = 1000
        async with stage.stream:
            for burst in (1, 2, 3, 4, 5, 31, 32, 33, 34, 100):
                txids = [stage.unlink(f"/joe/{burst}/{number}", "/joe/x") for number in range(burst)]
                assert [(await stage.next_changes())[1] for _ in txids] == txids


async def test_records_trimmed_before_they_were_read_end_the_life() -> None:
    """GapFlush: a record that is gone is missed, and said to be."""
    async with staged() as stage:
        async with stage.stream:
            await stage.next_covered(0)
            for _ in range(stage.press.max_records + 1):
                stage.unlink("/joe/a")
            with pytest.raises(MissingEventsError, match="transactions 11 to 11 are missing"):
                await stage.next_changes()
        async with stage.stream:
            txid = stage.unlink("/joe/b")
            assert await stage.next_changes() == (("/joe/b",), txid)


async def test_as_many_records_as_are_kept_are_no_gap() -> None:
    """GapFlush: nothing is flushed that need not be."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        txids = [stage.unlink("/joe/a") for _ in range(stage.press.max_records)]
        assert [(await stage.next_changes())[1] for _ in txids] == txids


async def test_a_stream_begun_anew_ends_the_life() -> None:
    """GapFlush: another chain is another stream, though its transactions fit."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        stage.unlink("/joe/a")
        await stage.next_changes()
        stage.press.begin_anew()
        stage.unlink("/joe/b")
        with pytest.raises(MissingEventsError, match="restarted"):
            await stage.next_changes()


@pytest.mark.parametrize("data", [b"", b"9", b"x", b"010"])
async def test_a_value_that_goes_back_or_is_none_ends_the_life(data: bytes) -> None:
    """GapFlush: position ahead of what is published."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        stage.press.put(ZNODES.cache, data)
        with pytest.raises(MissingEventsError, match=r"went back|not a transaction id"):
            await stage.next_changes()


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"version":1,"chain":"cache-1","previous":3,"txid":11}', b"\xff"]
)
async def test_a_corrupt_record_ends_the_life(data: bytes) -> None:
    """GapFlush: nobody knows what it said; the stream goes on behind it."""
    async with staged() as stage:
        async with stage.stream:
            await stage.next_covered(0)
            stage.server.disconnect(stage.session)
            txid = stage.unlink("/joe/a")
            stage.press.put(f"{ZNODES.cache}/{txid}", data)
            stage.server.connect()
            with pytest.raises(MissingEventsError, match=f"{ZNODES.cache}/{txid}"):
                await stage.next_changes()
        async with stage.stream:
            asked_at = clock()
            stage.stream.request_probe()
            assert (await stage.next_covered(asked_at)).txid == txid
            txid = stage.unlink("/joe/b")
            assert await stage.next_changes() == (("/joe/b",), txid)
        assert stage.stream.stats().records.corrupt_znodes == 1


async def test_foreign_children_are_ignored() -> None:
    """They are counted, once each."""
    async with staged() as stage:
        async with stage.stream:
            await stage.next_covered(0)
            stage.press.put(f"{ZNODES.cache}/readme", b"hello")
            for _ in range(2):
                stage.server.disconnect(stage.session)
                txids = [stage.unlink("/joe/a") for _ in range(6)]
                stage.server.connect()
                assert [(await stage.next_changes())[1] for _ in txids] == txids
        assert stage.stream.stats().records.foreign_znodes == 1


async def test_what_was_read_of_a_record_already_is_not_yielded_again() -> None:
    """A stream that was followed from inside a record yields the rest of it."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        stage.namenode.unlink("/joe/a")
        stage.namenode.unlink("/joe/b")
        stage.press.cache.txid = 8
        stage.press.publish()
        assert await stage.next_changes() == (("/joe/a", "/joe/b"), 12)


async def test_a_chain_that_is_missing_its_newest_record_ends_the_life() -> None:
    """GapFlush: the value says that there was one."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        operations = stage.press.cache_record(Stale(()), 11)[1:]
        stage.press.commit(*operations)
        with pytest.raises(MissingEventsError, match="record of transaction 11 is gone") as caught:
            await stage.next_changes()
        assert (caught.value.first_txid, caught.value.last_txid) == (11, 11)


def test_each_is_told_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    """A reader comes by every second; the log shall not fill with it."""
    bad_znodes = BadZnodes()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            bad_znodes.corrupt("/a", "/a: no number")
            bad_znodes.foreign("/b")
    assert (bad_znodes.corrupt_znodes, bad_znodes.foreign_znodes) == (1, 1)
    assert caplog.messages == [
        "corrupt znode, ignored: /a: no number",
        "foreign znode, ignored: /b",
    ]


def test_there_is_an_end_to_what_is_remembered() -> None:
    """Whoever fills the tree with rubbish fills no memory."""
    bad_znodes = BadZnodes()
    for number in range(MAX_REMEMBERED + 10):
        bad_znodes.foreign(f"/{number}")
    assert bad_znodes.foreign_znodes == MAX_REMEMBERED
