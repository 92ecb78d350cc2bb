"""A proxy that reads the JournalNodes of a cluster, which are killed, paused, restarted and misconfigured."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nncache.clock import boottime
from nncache.hadoop.configured_namenodes import parse_quorum_journal
from nncache.hadoop.events import EventBatch
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.journal.access import JournalAccess
from nncache.invalidation.journal.source import JournalEdits
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.cluster import ClusterServer
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import HADOOP, make_directory
from tests.commands.planted import checked
from tests.namenode.edits import last_txid
from tests.patience import HANG_S, SLACK_S, until
from tests.processes import fetched
from tests.real.proxied_cluster import MAX_STALENESS_S, CallTarget, ProxiedCluster, was_forwarded
from tests.real.stand import Channel, proxied
from tests.service import InotifyService

pytestmark = pytest.mark.timeout(240)

TOP = "/journal"
GLOBS = (f"{TOP}/*", f"{TOP}/*/*")


@pytest.fixture(scope="module")
def started() -> Iterator[Cluster]:
    """An HA pair with three JournalNodes, in the state in which the last test left it; see `pair`."""
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        ha=True,
        journalnodes=3,
        with_zookeeper=True,
        overrides={"dfs.ha.tail-edits.in-progress": "true"},
    )
    with Cluster.start(spec) as cluster:
        make_directory(cluster, TOP)
        yield cluster


@pytest.fixture
def pair(started: Cluster) -> Cluster:
    """Return the pair with all servers running, the first NameNode active, and all JournalNodes in its segment."""
    for process in started.processes:
        process.resume()
        if process.pid is None:
            process.start()
    if started.namenodes[0].state() != "active":
        if started.namenodes[1].state() == "active":
            started.transition_to_standby(1)
        started.transition_to_active(0)
    started.await_writable()
    started.roll_edits()
    return started


@pytest.fixture
def on_journal(pair: Cluster) -> Iterator[ProxiedCluster]:
    """A proxy that reads the journal of the pair."""
    with proxied(
        pair, *GLOBS, edits_source="journalnodes", shared_edits_dir=pair.shared_edits_dir
    ) as proxied_cluster:
        yield proxied_cluster


def see_changes(on: ProxiedCluster, name: str) -> None:
    """Check that answers from memory follow a directory's creation, change and deletion."""
    path = f"{TOP}/{name}"
    on.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
    on.await_agreement(path, "alice", since=time.monotonic())
    on.make_hit(path, "alice")
    on.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", path, permission="700")
    on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)
    on.make_hit(path, "alice")
    on.do(CallTarget.NAMENODE, "DELETE", "DELETE", path)
    on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)


def counted(proxy: ProxyDaemon) -> list[str]:
    """Return the addresses of the JournalNodes whose answers count."""
    name = 'nncache_journalnode_counted{journalnode="'
    return [
        key.removeprefix(name).removesuffix('"}')
        for key, value in proxy.metrics().items()
        if key.startswith(name) and value
    ]


def reading(pair: Cluster, source: str, shared_edits_dir: str = "") -> tuple[str, ...]:
    """Return the flags of a proxy that reads the journal of the pair, or `shared_edits_dir`."""
    http, rpc = (",".join(getattr(each, name) for each in pair.namenodes) for name in ("http", "rpc"))
    return (
        *("--namenode-http", http, "--namenode-rpc", rpc, "--channel", "direct", "--glob", GLOBS[0]),
        *("--edits-source", source, "--shared-edits-dir", shared_edits_dir or pair.shared_edits_dir),
    )


def test_what_inotify_does_not_say_is_seen(on_journal: ProxiedCluster) -> None:
    """Storage policies and allowSnapshot are in the log; no NameNode is polled."""
    see_changes(on_journal, "life")
    path = f"{TOP}/quiet"
    on_journal.mkdirs(path, "alice")
    on_journal.make_hit(path, "alice")
    on_journal.do(CallTarget.NAMENODE, "PUT", "SETSTORAGEPOLICY", path, storagepolicy="COLD")
    on_journal.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)
    on_journal.make_hit(path, "alice")
    on_journal.do(CallTarget.NAMENODE, "PUT", "ALLOWSNAPSHOT", path)
    on_journal.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)
    figures = on_journal.proxy.metrics()
    assert figures["nncache_channel_polls_total"] == 0
    assert figures["nncache_journal_polls_total"] > 0


def test_a_publisher_writes_what_is_in_the_log(pair: Cluster) -> None:
    """Changes of storage policies also reach caches on the ZooKeeper channel."""
    polling = {"edits_source": "journalnodes", "shared_edits_dir": pair.shared_edits_dir}
    with proxied(pair, *GLOBS, channel=Channel.ZOOKEEPER, polling=polling) as on:
        see_changes(on, "published")
        path = f"{TOP}/published-policy"
        on.mkdirs(path, "alice")
        on.make_hit(path, "alice")
        on.do(CallTarget.NAMENODE, "PUT", "SETSTORAGEPOLICY", path, storagepolicy="COLD")
        on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)
        assert on.publisher is not None
        figures = on.publisher.metrics()
        assert figures["nncache_channel_polls_total"] == 0
        assert figures["nncache_journal_polls_total"] > 0


def test_one_journalnode_that_dies_is_no_loss(on_journal: ProxiedCluster) -> None:
    """The other two are a majority; the dead one counts again after its restart."""
    first = on_journal.cluster.journalnodes[0]
    first.process.kill()
    until(lambda: first.rpc not in counted(on_journal.proxy))
    see_changes(on_journal, "two-live")
    assert on_journal.proxy.readiness()["is_gate_open"]
    first.process.start()
    until(lambda: first.rpc in counted(on_journal.proxy))
    see_changes(on_journal, "three-live")


def test_one_that_hangs_holds_up_nothing(on_journal: ProxiedCluster) -> None:
    """Its connection stays open, but it sends no replies."""
    first = on_journal.cluster.journalnodes[0]
    first.process.pause()
    see_changes(on_journal, "one-hangs")
    until(lambda: first.rpc not in counted(on_journal.proxy))
    see_changes(on_journal, "one-is-away")
    assert on_journal.proxy.readiness()["is_gate_open"]
    first.process.resume()
    until(lambda: first.rpc in counted(on_journal.proxy))


def test_a_failover_throws_away_what_one_had_shown(on_journal: ProxiedCluster) -> None:
    """The next NameNode's log lacks a change that one JournalNode has, and uses its transaction id for another edit."""
    cluster, path = on_journal.cluster, f"{TOP}/phantom"
    first, *others = cluster.journalnodes
    behind = f'nncache_journalnode_behind_txids{{journalnode="{others[0].rpc}"}}'

    def is_known() -> bool:  # an edit that two others have shown before is not requested from it again
        see_changes(on_journal, "before")
        return behind in on_journal.proxy.metrics()

    until(is_known, lambda: "it has shown no transaction")
    on_journal.make_hit(path, "alice")
    flushes = on_journal.proxy.metrics()["nncache_cache_flushes_total"]
    for other in others:
        other.process.kill()
    with ThreadPoolExecutor(1) as beside:
        beside.submit(on_journal.call, CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        until(lambda: on_journal.proxy.metrics().get(behind, 0.0) > 0)
        cluster.namenodes[0].process.kill()
    first.process.pause()
    for other in others:
        other.process.start()
    cluster.transition_to_active(1)
    first.process.resume()
    on_journal.proxy.await_gate()
    assert on_journal.proxy.metrics()["nncache_cache_flushes_total"] > flushes
    on_journal.direct = type(on_journal.direct)(cluster.namenodes[1].http)
    on_journal.await_agreement(path, "alice", since=time.monotonic())
    assert on_journal.make_hit(path, "alice").status == 404
    see_changes(on_journal, "after")


def write_over_restarts(cluster: Cluster, name: str) -> list[str]:
    """Create directories while each JournalNode in turn is down and restarts with an empty cache; return the paths."""
    made = []
    for number, journalnode in enumerate(cluster.journalnodes):
        journalnode.process.kill()
        for each in range(20):
            made.append(f"{TOP}/{name}/d{number}-{each}")
            make_directory(cluster, made[-1])
        journalnode.process.start()
        cluster.roll_edits()
    return made


def test_subscribers_miss_nothing_while_a_publisher_is_away(pair: Cluster) -> None:
    """The publisher reads finalized segments of JournalNodes that each lack some, and resumes from their caches."""
    service = InotifyService.of(pair)
    service.add("away", f"{TOP}/away/*")
    make_directory(pair, f"{TOP}/away")
    publisher = service.publisher(edits_source="journalnodes", shared_edits_dir=pair.shared_edits_dir)
    with publisher, service.subscriber("away") as subscriber:
        publisher.await_publishing()
        publisher.process.kill()
        made = write_over_restarts(pair, "away")
        publisher.process.start()
        publisher.await_publishing()
        made.append(f"{TOP}/away/last")
        make_directory(pair, made[-1])
        subscriber.await_that(
            lambda it: any(each["path"] == made[-1] for each in it.events()), "lacks the last"
        )
        created = [each["path"] for each in subscriber.events() if each["type"] == "CREATE"]
        assert created == made
        assert subscriber.gaps() == ()
        assert "were in finalized segments" in publisher.process.log.read_text(encoding="utf-8")
        figures = publisher.metrics()
        assert figures["nncache_publisher_drops_total"] == figures["nncache_channel_polls_total"] == 0


def test_what_is_read_from_segments_is_what_inotify_says(pair: Cluster) -> None:
    """Segments and inotify give the same transactions in order, each once."""
    namenode = pair.namenodes[0]
    after_txid = last_txid(namenode.rpc, pair.superuser)
    write_over_restarts(pair, "compared")
    read, by_inotify = asyncio.run(both_ways(pair, after_txid))
    assert [each for each in read if each.events] == by_inotify
    assert len(by_inotify) >= 60
    assert [each.txid for each in read] == sorted({each.txid for each in read})


async def both_ways(pair: Cluster, after_txid: int) -> tuple[list[EventBatch], list[EventBatch]]:
    """Return the events after a transaction, as read from the JournalNodes and as reported by the NameNode."""
    http, rpc = (tuple(getattr(each, name) for each in pair.namenodes) for name in ("http", "rpc"))
    pool = NameNodePool(NameNodeSettings(namenode_http=http, namenode_rpc=rpc, user=pair.superuser), boottime)
    journal = parse_quorum_journal("shared_edits_dir", pair.shared_edits_dir)
    access = JournalAccess(journal=journal, nameservice=pair.spec.nameservice, user=pair.superuser)
    source = JournalEdits(pool, access, boottime, at_first_sight=False)
    namenode = NameNodeRpc(rpc[0], pair.superuser)
    read, by_inotify = list[EventBatch](), list[EventBatch]()
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run())
        await source.start(after_txid)
        end = await namenode.get_current_edit_log_txid()
        through = after_txid
        while through < end:
            edits = await source.read()
            read, through = [*read, *edits.batches], edits.through_txid
        page = await namenode.get_edits(after_txid + 1)
        while page.last_txid >= 0:
            by_inotify += page.batches
            page = await namenode.get_edits(page.last_txid + 1)
        await source.shut_down()
        running.cancel()
    await pool.close()
    await namenode.close()
    return read, by_inotify


def test_without_a_majority_nothing_is_answered_from_memory(on_journal: ProxiedCluster) -> None:
    """The acknowledged edits cannot be known; forwarded answers are right."""
    path = f"{TOP}/two-die"
    on_journal.make_hit(path, "alice")
    for each in on_journal.cluster.journalnodes[:2]:
        each.process.kill()
    died = time.monotonic()
    on_journal.proxy.await_gate(is_open=False)
    assert time.monotonic() - died <= MAX_STALENESS_S + SLACK_S
    assert was_forwarded(on_journal.ask(path, "alice"))
    assert not on_journal.disagreement(path, "alice")
    for each in on_journal.cluster.journalnodes[:2]:
        each.process.start()
    on_journal.proxy.await_gate()
    on_journal.cluster.namenodes[0].process.kill()  # its next edit would end it (QuorumException)


@pytest.mark.parametrize("source", ["journalnodes", "auto"])
def test_a_wrong_journal_is_found_before_the_first_answer(pair: Cluster, source: str) -> None:
    """A wrong journal never shows a change. `auto` reads the NameNode instead, and says why."""
    wrong = pair.shared_edits_dir.replace("/ns1", "/ns2")
    with ProxyDaemon(*reading(pair, source, wrong)) as proxy:
        if source == "auto":
            proxy.await_gate()
        why = "has no such journal: see dfs.namenode.shared.edits.dir and shared_edits_dir"
        until(lambda: why in proxy.process.log.read_text(encoding="utf-8"))
        assert counted(proxy) == []
        assert bool(proxy.metrics()["nncache_channel_polls_total"]) == (source == "auto")

        def edits() -> Any:
            return json.loads(fetched(proxy.admin, "/status")[0][2])["edits"]

        until(lambda: [why in each["why_not"] for each in edits()["journalnodes"]] == [True] * 3)
        assert all(each["behind_txids"] is None for each in edits()["journalnodes"])
        assert [why in each["why"] for each in edits()["passed_over"]] == [True] * (source == "auto")
        assert proxy.readiness()["is_gate_open"] == (source == "auto")


def restart(pair: Cluster, journalnode: ClusterServer) -> None:
    """Restart a JournalNode and begin a segment. Until then it takes no edits; two of those would end the NameNode."""
    journalnode.process.restart()
    pair.roll_edits()


def test_the_check_says_what_is_amiss_with_each(pair: Cluster) -> None:
    """One JournalNode has no cache of edits, one has a small cache, and one is down."""
    off, small, dead = pair.journalnodes
    site = pair.conf_dir / "hdfs-site.xml"
    whole = site.read_text(encoding="utf-8")
    is_off, offs = re.subn(r"(tail-edits\.in-progress</name>\s*<value>)true", r"\1false", whole)
    size = "<property><name>dfs.journalnode.edit-cache-size.bytes</name><value>1048576</value></property>"
    assert offs == 1
    try:
        site.write_text(is_off, encoding="utf-8")
        restart(pair, off)
        site.write_text(whole.replace("</configuration>", f"{size}</configuration>"), encoding="utf-8")
        restart(pair, small)
        site.write_text(whole, encoding="utf-8")
        dead.process.stop()
        report = checked("proxy", *reading(pair, "journalnodes"))
        unreadable = report.of("journalnodes", "failed")
        for each, says in zip((off, dead), unreadable, strict=True):
            assert f"JournalNode {each.rpc} cannot be read, 1 of 3 can" in says
        assert "set dfs.ha.tail-edits.in-progress to true in the JournalNode's hdfs-site.xml" in unreadable[0]
        assert "refused" in unreadable[1]
        (too_small,) = report.of("journalnodes", "warning")
        assert f"JournalNode {small.rpc} holds 1,048,576 bytes" in too_small
        assert "set dfs.journalnode.edit-cache-size.bytes to 67108864" in too_small
        assert checked("proxy", *reading(pair, "auto")).failed.isdisjoint({"journalnodes"})
    finally:
        site.write_text(whole, encoding="utf-8")
        for each in (dead, off, small):
            restart(pair, each)


def test_the_check_names_a_journal_that_is_none(pair: Cluster) -> None:
    """The check finds no fault with the right journal. It would also report the journal of another namespace."""
    wrong = pair.shared_edits_dir.replace("/ns1", "/ns2")
    says = checked("proxy", *reading(pair, "journalnodes", wrong)).of("journalnodes", "failed")
    assert len(says) == 3
    assert all("has no such journal: see dfs.namenode.shared.edits.dir" in each for each in says)
    report = checked("proxy", *reading(pair, "journalnodes"))
    assert report.of("journalnodes", "ok") == ["all 3 JournalNodes can be read; to do: "]
    assert "journalnodes" not in report.failed
