"""The source `auto` of an HA pair, while a relay cuts its JournalNodes off from the reader alone, and restores them."""

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import pytest

from nncache.testbed import Cluster, ClusterSpec, Relay
from nncache.testbed.process import ServerProcess
from tests.cluster import HADOOP, make_directory
from tests.inotify.edit_log import events_between
from tests.inotify.subscriber_log import Begins, subscriber_log
from tests.inotify.verdict import Verdict, judge
from tests.inotify.workload import Workload
from tests.patience import until
from tests.real.beside import beside
from tests.real.faults import Break, broken
from tests.real.proxied_cluster import CallTarget, ProxiedCluster, was_forwarded
from tests.real.stand import proxied
from tests.service import InotifyService

pytestmark = pytest.mark.timeout(240)

TOP = "/changing-over"
WRITERS = 3
SETTLED_S = 5.5
"""A source that was read for more than 5 s before its loss is tried again after one second."""

ON_JOURNALNODES = re.compile(r"edits (after transaction \d+ )?are read from the JournalNodes")
ON_INOTIFY = re.compile(r"edits (after transaction \d+ )?are read from the NameNode")
UNANSWERED = re.compile(r"most JournalNodes have not answered for")
FLUSHES = "nncache_cache_flushes_total"


@dataclass(frozen=True, slots=True)
class Pair:
    """An HA pair, and the relays from its reader to each of the three JournalNodes."""

    cluster: Cluster
    relays: tuple[Relay, ...]

    @property
    def polling(self) -> dict[str, str]:
        """The reader's settings."""
        addresses = ";".join(relay.address for relay in self.relays)
        journal = self.cluster.shared_edits_dir.rpartition("/")[2]
        return {"edits_source": "auto", "shared_edits_dir": f"qjournal://{addresses}/{journal}"}


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """An HA pair whose first NameNode is active."""
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        ha=True,
        journalnodes=3,
        with_zookeeper=True,
        overrides={"dfs.ha.tail-edits.in-progress": "true"},
    )
    with ExitStack() as running:
        cluster = running.enter_context(Cluster.start(spec))
        make_directory(cluster, TOP)
        relays = tuple(running.enter_context(Relay(each.rpc)) for each in cluster.journalnodes)
        yield Pair(cluster, relays)


def logged(process: ServerProcess, line: re.Pattern[str]) -> int:
    """Return how many lines of a daemon's log match."""
    return len(line.findall(process.log.read_text(encoding="utf-8")))


def change_over(process: ServerProcess, relays: Sequence[Relay], way: Break, apart_s: float) -> None:
    """Cut the JournalNodes off until `apart_s` after the reader changed its source; await that it returns to them."""
    until(lambda: logged(process, ON_JOURNALNODES) > logged(process, ON_INOTIFY), process.last_words)
    before = logged(process, ON_INOTIFY), logged(process, ON_JOURNALNODES)
    with broken(relays, way):
        until(lambda: logged(process, ON_INOTIFY) > before[0], process.last_words)
        time.sleep(apart_s)
    until(lambda: logged(process, ON_JOURNALNODES) > before[1], process.last_words)


def published(pair: Pair, times: int, seed: int) -> Verdict:
    """Make a publisher change over `times` times under load, and judge the events of its filter's subscriber."""
    cluster, chance = pair.cluster, random.Random(seed)
    below = f"{TOP}/{seed}"
    service = InotifyService.of(cluster)
    service.add("f0", f"{below}/*/*/*")
    with ExitStack() as running:
        publisher = running.enter_context(service.publisher(**pair.polling))
        publisher.await_publishing()
        until(lambda: logged(publisher.process, ON_JOURNALNODES))
        subscriber = running.enter_context(service.subscriber("f0"))
        with ExitStack() as load:
            for number in range(WRITERS):
                workload = Workload(f"{below}/{number}", seed + number)
                load.enter_context(beside(partial(workload.run, cluster)))
            for _ in range(times):
                cut = chance.sample(pair.relays, chance.choice((2, 3)))
                time.sleep(chance.uniform(SETTLED_S, SETTLED_S + 1.0))
                change_over(publisher.process, cut, chance.choice((Break.CUT, Break.SILENT)), chance.random())
        last = f"{below}/end/a/x"
        make_directory(cluster, last)
        subscriber.await_that(lambda it: any(each.get("path") == last for each in it.events()), "ends")
        received = subscriber_log(subscriber.lines())
        by_inotify, by_journalnodes = (
            logged(publisher.process, each) for each in (ON_INOTIFY, ON_JOURNALNODES)
        )
        # JournalNodes without CPU time for a second cause a change-over of their own, logged, and are read again later.
        assert by_inotify - times <= logged(publisher.process, UNANSWERED), publisher.process.last_words()
        assert by_inotify >= times, publisher.process.last_words()
        assert by_journalnodes - by_inotify in {0, 1}, publisher.process.last_words()
    began = next(item.after for item in received if isinstance(item, Begins))
    matches = re.compile(rf"{below}/[^/]+/[^/]+/[^/]+")
    log = events_between(cluster, began + 1, 1 << 62, below)
    return judge(received, [event for event in log if any(map(matches.fullmatch, event.paths))])


def test_a_publisher_loses_nothing_and_repeats_nothing(pair: Pair) -> None:
    """A filter's subscriber receives each event of the NameNode's log once."""
    verdict = published(pair, times=5, seed=1)
    assert verdict.is_right, verdict
    assert (verdict.gaps, verdict.events > 1000) == (0, True)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_publisher_changes_over_fifty_times(
    pair: Pair, record_testsuite_property: Callable[[str, object], None]
) -> None:
    """Fifty change-overs lose and repeat nothing either."""
    verdict = published(pair, times=50, seed=2)
    record_testsuite_property("events_over_50_changes", verdict.events)
    assert verdict.is_right, verdict
    assert (verdict.gaps, verdict.events > 10_000) == (0, True)


def see_changes(on: ProxiedCluster, name: str) -> None:
    """Check that answers from memory follow a directory's creation and deletion."""
    path = f"{TOP}/proxied/{name}"
    on.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
    on.await_agreement(path, "alice", since=time.monotonic())
    on.make_hit(path, "alice")
    on.do(CallTarget.NAMENODE, "DELETE", "DELETE", path)
    on.await_agreement(path, "alice", since=time.monotonic(), was_hit=True)


def seen_early(figures: Mapping[str, float]) -> bool:
    """Return whether an edit was applied that is not yet known to be on a majority of the JournalNodes."""
    return figures["nncache_cache_covered_txid"] < figures["nncache_stream_applied_txid"]


def test_a_proxy_keeps_what_it_has(pair: Pair) -> None:
    """A change-over forgets nothing, and no answer is stale before, during or after it."""
    with proxied(pair.cluster, f"{TOP}/proxied/*", polling=pair.polling) as on:
        process = on.proxy.process
        until(lambda: logged(process, ON_JOURNALNODES))
        kept = f"{TOP}/proxied/kept"
        on.do(CallTarget.NAMENODE, "PUT", "MKDIRS", kept)
        see_changes(on, "before")
        until(lambda: not seen_early(on.proxy.metrics()))  # early edits are read and forgotten again
        flushes = on.proxy.metrics()[FLUSHES]
        on.make_hit(kept, "alice")
        with broken(pair.relays, Break.SILENT):
            see_changes(on, "cut off")
            until(lambda: logged(process, ON_INOTIFY))
            see_changes(on, "by inotify")
        until(lambda: logged(process, ON_JOURNALNODES) > 1)
        see_changes(on, "after")
        assert not was_forwarded(on.ask(kept, "alice"))
        assert on.proxy.metrics()[FLUSHES] == flushes
