"""A short history of faults; `make journal-faults` plays long ones."""

import asyncio
from collections.abc import Iterator

import pytest

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.edits.cursor import EditsCursor, PageResult
from nncache.testbed.daemon import ProxyDaemon
from tests.journal_faults.__main__ import stand
from tests.journal_faults.changes import Changed
from tests.journal_faults.figures import Figures
from tests.journal_faults.history import play
from tests.journal_faults.pair import FaultyPair
from tests.journal_faults.plan import Fault, Kind, draw
from tests.real.proxied_cluster import MAX_STALENESS_S

pytestmark = pytest.mark.timeout(300)

FAULTS = (
    Fault(at_s=1.0, kind=Kind.JOURNALNODE_KILLED, lasts_s=0.5, which=1),
    Fault(at_s=2.0, kind=Kind.EDITS_ROLLED, lasts_s=0.0),
    Fault(at_s=3.0, kind=Kind.CHANGE_DISCARDED, lasts_s=1.0, which=0),
    Fault(at_s=5.0, kind=Kind.JOURNALNODE_WIPED, lasts_s=0.5, which=2),
    Fault(at_s=6.0, kind=Kind.READER_LEFT_BEHIND, lasts_s=4.0, which=2),
)


@pytest.fixture(scope="module")
def standing() -> Iterator[tuple[FaultyPair, ProxyDaemon]]:
    """The pair, and a proxy that reads its journal."""
    with stand("journalnodes") as pair_and_proxy:
        yield pair_and_proxy


def test_what_is_read_is_what_is_in_the_finalized_log(standing: tuple[FaultyPair, ProxyDaemon]) -> None:
    """This holds whatever happens to JournalNodes and NameNodes, and no answer from memory is older than allowed."""
    pair, proxy = standing
    played = play(pair, proxy, FAULTS, seconds=10.0, name="short", edits_source="journalnodes")
    assert Figures([played]).shortfalls() == ()
    assert played.made > len(FAULTS), "else HDFS hardly changed while parts broke"
    assert played.runs > 1, "a failover ends a run"


def test_inotify_beyond_the_end_of_a_segment_says_each_transaction_once(
    standing: tuple[FaultyPair, ProxyDaemon],
) -> None:
    """With in-progress tailing a page of a NameNode repeats transactions before that end."""
    pair, _ = standing
    pair.make_whole()
    active = pair.active()
    assert active is not None

    async def read() -> tuple[list[int], list[int]]:
        rpc, sent, read = NameNodeRpc(active.rpc, pair.superuser), list[int](), list[int]()
        async with WebHdfs(f"http://{active.http}", pair.superuser) as hdfs:
            await hdfs.mkdirs("/pages")
            cursor = EditsCursor(await rpc.get_current_edit_log_txid())
            for number in range(4):
                await hdfs.mkdirs(f"/pages/{number}")
                if number == 1:
                    await rpc.roll_edits()
        end_txid = await rpc.get_current_edit_log_txid()
        while cursor.through_txid < end_txid:
            page = await rpc.get_edits(cursor.next_txid)
            sent += (batch.txid for batch in page.batches)
            outcome = cursor.receive(page, 0.0)
            assert isinstance(outcome, PageResult), outcome
            read += (batch.txid for batch in outcome.batches)
        await rpc.close()
        return sent, read

    sent, read_once = asyncio.run(read())
    assert len(sent) > len(set(sent)), "else the cursor need not cut pages"
    assert read_once == sorted(set(sent))
    assert len(read_once) == 4


def test_a_history_is_drawn_again_from_its_seed() -> None:
    """All kinds of faults occur, and each fault ends before its history."""
    drawn = [draw(seed, 20.0) for seed in range(60)]
    assert drawn == [draw(seed, 20.0) for seed in range(60)]
    assert {fault.kind for faults in drawn for fault in faults} == set(Kind)
    assert all(fault.at_s + fault.lasts_s <= 20.0 for faults in drawn for fault in faults)


def test_what_was_acknowledged_long_ago_must_be_seen() -> None:
    """An answer may be as old as Bounded allows when the question is asked."""
    changed = Changed("/d", [(100.0, 0), (101.0, 1)])
    asked_at = (100.0, 100.5 + MAX_STALENESS_S, 101.5 + MAX_STALENESS_S)
    assert [changed.oldest_allowed(each) for each in asked_at] == [-1, 0, 1]
