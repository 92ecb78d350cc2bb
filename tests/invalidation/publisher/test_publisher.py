"""The publisher as a whole, on fakes: whatever happens, no subscriber misses an event without a notice."""

import asyncio
import gc
import logging
from typing import NoReturn

import pytest

from nncache.hadoop.change import Vanished
from nncache.hadoop.election_view import HaState
from nncache.hadoop.events import Close, Create, Rename, Unlink
from nncache.hadoop.filestatus import FileType
from nncache.invalidation.channel.records import StaleChanges
from nncache.invalidation.errors import MissingEventsError
from nncache.invalidation.publisher.output_stream import FilterChange, load_output_class
from nncache.invalidation.publisher.pending import PendingBatch
from nncache.invalidation.publisher.publisher import USELESS_S
from nncache.invalidation.publisher.run import Run
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.zookeeper_output import ZooKeeperInotifyEventOutputStream
from tests.invalidation.fakes import ACCESS_CONTROL, FakeNameNode, remote_error
from tests.invalidation.publisher.fake_cluster import ZNODES, FakeCluster, fake_cluster
from tests.invalidation.virtual_time import clock, until


async def test_a_change_is_published_within_milliseconds(on: FakeCluster) -> None:
    """After a quiet time it takes the poll interval and one multi."""
    async with on.publishing() as process:
        for _ in range(20):
            await asyncio.sleep(1.234)
            writes, changed_at = on.zookeeper.writes, clock()
            on.namenode.unlink("/f")
            await on.published()
            assert clock() - changed_at < 0.02
            assert on.zookeeper.writes == writes + 1
        txid = on.covered()
        assert process.publisher.situation() == ""
        last = on.cache_records()[-1]
        assert (last.link.txid, last.content) == (txid, StaleChanges(((txid, Vanished("/f")),)))
        assert last.generation == on.generation()
        assert len(on.reported("f")) == 20


async def test_an_idle_publisher_writes_nothing(on: FakeCluster) -> None:
    """It hardly reads from ZooKeeper either."""
    async with on.publishing() as process:
        await asyncio.sleep(1)
        writes, calls = on.zookeeper.writes, process.session.stats().calls
        await asyncio.sleep(600)
        assert on.zookeeper.writes == writes
        assert process.session.stats().calls - calls < 600


@pytest.mark.parametrize(
    "globs", [("/out/_SUCCESS",), ("/out",), ("/out/*",), ("/out/_SUCCESS", "/out", "/out/*")]
)
async def test_a_job_of_ten_thousand_files_costs_few_writes(on: FakeCluster, globs: tuple[str, ...]) -> None:
    """ZooKeeper gets at most 100 transactions, because they are paced; every event is published nevertheless."""
    async with on.publisher():
        for number, glob in enumerate(globs):
            await on.with_filter(f"f{number}", glob)
        await asyncio.sleep(1)
        writes = on.zookeeper.writes
        for number in range(10_000):
            path = f"/out/_temporary/part-{number:05}"
            on.namenode.write(Create(kind=FileType.FILE, path=path))
            on.namenode.write(Close(path))
            on.namenode.write(Rename(path, f"/out/part-{number:05}"))
            await asyncio.sleep(0.001)
        on.namenode.write(Create(kind=FileType.FILE, path="/out/_SUCCESS"))
        done_at = clock()
        await on.published()
        assert clock() - done_at < 0.3
        assert on.zookeeper.writes - writes <= 100
        for number, glob in enumerate(globs):
            parts = on.reported(f"f{number}")
            assert len(parts) == {"/out/_SUCCESS": 1, "/out": 0, "/out/*": 10_001}[glob]


async def test_a_successor_goes_on_where_a_killed_one_stopped(on: FakeCluster) -> None:
    """No event is lost or repeated, whenever SIGKILL arrived."""
    async with on.publisher():
        await on.with_filter()
    chain = on.cache_records()[0].link.chain
    txids: list[int] = []
    for number in range(30):
        async with on.publisher() as process:
            await until(lambda: process.publisher.situation() == "")
            txids += [on.namenode.unlink("/f") for _ in range(3)]
            await asyncio.sleep(number * 0.001)
            on.zookeeper.disconnect(process.session)
            await asyncio.sleep(0.01)
    async with on.publisher():
        await on.published()
    assert on.reported("f") == txids
    assert {record.link.chain for record in on.cache_records()} == {chain}


async def test_a_crash_between_two_multis_of_a_publication(on: FakeCluster) -> None:
    """Filters that already have their records get no second ones, and `.cache` has not covered the transaction."""
    async with on.publisher() as process:
        for name in ("f", "g", "h"):
            await on.with_filter(name, "/d/*")
        before, writes = on.covered(), on.zookeeper.writes
        txid = on.namenode.write(*(Unlink(f"/d/{'x' * 200}{number}") for number in range(1800)))
        await until(lambda: on.zookeeper.writes > writes)
        on.zookeeper.disconnect(process.session)
    assert on.covered() == before
    assert 0 < sum(on.reported(name) == [txid] for name in ("f", "g", "h")) < 3
    async with on.publisher():
        await on.published()
    assert [on.reported(name) for name in ("f", "g", "h")] == [[txid]] * 3


async def test_a_second_publisher_takes_over(on: FakeCluster) -> None:
    """It waits, names the leader, and later continues the same chains."""
    async with on.publisher("a") as first, on.publisher("b") as second:
        await on.with_filter()
        await asyncio.sleep(10)
        running, waiting = (first, second) if not first.publisher.situation() else (second, first)
        assert waiting.publisher.situation().startswith("another publisher leads: process 1 on ")
        assert (waiting.publisher.is_standby, running.publisher.is_standby) == (True, False)
        assert waiting.publisher.stats().output.standby_waits == 1
        assert not waiting.publisher.stats().is_publishing
        on.zookeeper.disconnect(running.session)
        cut_at = clock()
        txid = on.namenode.unlink("/f")
        await on.published(txid)
        assert clock() - cut_at < on.zookeeper.session_timeout_s + 1
        await until(lambda: waiting.publisher.situation() == "")
        on.zookeeper.connect()
        await until(lambda: "another publisher" in running.publisher.situation())
        assert on.reported("f") == [txid]


async def test_a_standby_reports_no_filters_of_the_time_it_led(on: FakeCluster) -> None:
    """The leader alone reads them: what was broken then would be reported until the standby ends."""
    async with on.publisher("a") as first, on.publisher("b") as second:
        await on.with_filter()
        running, waiting = (first, second) if not first.publisher.situation() else (second, first)
        on.filters.damage("f")
        await until(lambda: running.publisher.stats().filters_broken == 1)
        on.zookeeper.disconnect(running.session)
        await until(lambda: waiting.publisher.stats().filters_broken == 1)
        on.zookeeper.connect()
        await until(lambda: running.publisher.is_standby)
        on.filters.put("f", "/f")
        await until(lambda: waiting.publisher.stats().filters_broken == 0)
        stats = running.publisher.stats()
        assert (stats.filters, stats.filters_broken, stats.filters_refused) == (0, 0, 0)
        assert running.publisher.broken_filters == {}


async def test_zookeeper_may_be_away_for_minutes(on: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    """Afterwards all events are published in order; until then readiness page and log name the cause."""
    async with on.publishing() as process:
        on.zookeeper.disconnect()
        txids = []
        for _ in range(300):
            txids.append(on.namenode.unlink("/f"))
            await asyncio.sleep(1)
        assert "no connection" in process.publisher.situation()
        assert any("nothing is published for now, retrying" in line for line in caplog.messages)
        on.zookeeper.connect()
        connected_at = clock()
        await on.published()
        assert clock() - connected_at < 2
        assert on.reported("f") == txids
        assert process.publisher.stats().new_chains == 1


@pytest.mark.parametrize("away", ["fails over", "restarts", "is cut off"])
async def test_another_active_namenode_is_no_gap(away: str) -> None:
    """The chains continue: the new NameNode's log has everything durable."""
    on = fake_cluster(FakeNameNode("nn2", active=False))
    old, new = on.namenodes
    new.log = old.log
    async with on.publishing() as process:
        txids = [on.namenode.unlink("/f")]
        await asyncio.sleep(0.005)
        txids.append(on.namenode.unlink("/f"))
        if away == "fails over":
            old.state, new.state, new.transition_ms = HaState.STANDBY, HaState.ACTIVE, 1
            on.filters.namenode = new
            new.write()
        elif away == "restarts":
            old.restart()
        else:
            old.is_reachable = False
            old.cut()
            asyncio.get_running_loop().call_later(15.0, lambda: setattr(old, "is_reachable", True))
        on.pool.probe()
        txids.append(on.namenode.unlink("/f"))
        await on.published()
        assert on.reported("f") == txids
        stats = process.publisher.stats()
        assert (stats.new_chains, stats.drops, stats.runs_failed) == (1, 0, 0)


async def test_who_may_not_read_the_edits_says_so_and_lets_others_try(
    on: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Only an administrator can help; the publisher of another host may be permitted."""
    caplog.set_level(logging.ERROR)
    on.namenode.refusal = remote_error(ACCESS_CONTROL, "Superuser privilege is required")
    async with on.publisher() as process:
        await asyncio.sleep(60)
        assert "NotPermittedError" in process.publisher.situation()
        assert not on.zookeeper.tree.exists(ZNODES.publisher)
        assert process.publisher.stats().runs_failed < 10
        on.namenode.refusal = None
        await on.published()
    assert len(caplog.records) == 1
    assert "needs an administrator" in caplog.text


async def test_who_cannot_publish_lets_others_try(on: FakeCluster) -> None:
    """A host that alone cannot reach the NameNode resigns after a while, but not for a short outage."""
    async with on.publishing() as process:
        on.namenode.answers_jmx = on.namenode.is_reachable = False
        on.namenode.cut()
        on.pool.probe()
        on.pool.probe()
        await asyncio.sleep(35)
        assert on.zookeeper.tree.exists(ZNODES.publisher)
        assert process.publisher.situation() != ""
        await asyncio.sleep(USELESS_S + 10)
        assert not on.zookeeper.tree.exists(ZNODES.publisher)


async def test_silence_is_reported(on: FakeCluster) -> None:
    """The readiness page says what has not happened for too long."""
    async with on.publisher() as process:
        assert process.publisher.situation() == "publishing has not begun yet"
        await on.published()
        on.namenode.takes_s = 20.0
        await asyncio.sleep(10)
        assert process.publisher.situation().startswith("the edits have not been read for ")
        on.namenode.takes_s = 0.0005
        await until(lambda: process.publisher.situation() == "", within_s=40)
        on.zookeeper.latency_s = 5.9
        on.namenode.unlink("/f")
        await until(lambda: process.publisher.situation().startswith("what was read could not be published"))


@pytest.mark.parametrize("kind", ["a write fails", "reading ends", "a fault of ours"])
async def test_of_a_run_that_has_ended_nothing_is_kept(
    on: FakeCluster, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its filters take megabytes, and daemons do not collect the reference cycles of errors and frames."""
    caplog.set_level(logging.CRITICAL)  # captured records would keep the error alive

    def runs() -> int:
        return sum(isinstance(each, Run | PendingBatch) for each in gc.get_objects())

    async def end(*_: object) -> NoReturn:
        monkeypatch.undo()
        raise MissingEventsError("ended") if kind == "reading ends" else ZeroDivisionError

    async with on.publisher() as process:
        await on.with_filter()
        gc.collect()
        before = runs()
        gc.disable()
        try:
            for number in range(3):
                if kind == "a write fails":
                    on.zookeeper.lose_next_commit(after=False)
                elif kind == "reading ends":
                    monkeypatch.setattr(process.source, "read", end)
                else:
                    monkeypatch.setattr(process.output, "publish", end)
                on.namenode.unlink("/f")
                await until(lambda number=number: process.publisher.stats().runs == number + 2)  # type: ignore[misc]  # a lambda with a default
                await on.published()
            assert runs() == before
        finally:
            gc.enable()


async def test_a_fault_of_ours_is_logged_and_survived(
    on: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a publisher every proxy's gate closes."""

    def fail() -> None:
        raise ZeroDivisionError

    caplog.set_level(logging.ERROR)
    async with on.publishing() as process:
        on.namenode.during_call = fail
        await until(lambda: process.publisher.stats().runs_failed == 1)
        await until(lambda: process.publisher.situation() == "")
    assert "internal error" in caplog.text


def test_the_built_in_output_has_a_short_name() -> None:
    """The default of the setting is a short name."""
    assert load_output_class(PublisherSettings().output_stream) is ZooKeeperInotifyEventOutputStream


@pytest.mark.parametrize("part", ["removed", "added", "updated", "modified"])
def test_a_change_of_nothing_is_empty(part: str) -> None:
    """A single part makes a change non-empty."""
    assert FilterChange().is_empty
    assert not FilterChange(**{part: ("f",)}).is_empty  # type: ignore[arg-type]  # what is in it does not matter
