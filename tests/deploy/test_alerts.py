"""In a real Prometheus, each alert fires when its fault is caused, and clears when the fault is mended."""

import asyncio
import re
import shutil
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import HADOOP
from tests.deploy.test_prometheus import ALERTS, RULES
from tests.processes import fetched, free_address
from tests.real.faults import paused
from tests.service import InotifyService
from tools.prometheus import Prometheus

needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus")

pytestmark = [pytest.mark.long, pytest.mark.timeout(600), needs_prometheus]

WITH_FAULTS = """
from nncache.cache.gate import FreshnessGate
from nncache.cache.metadata_cache import MetadataCache
from nncache.commands.cli import main

FreshnessGate.is_open = lambda *_: True
MetadataCache.apply = lambda *_, **__: None
main()
"""
"""A proxy whose gate never closes and that applies no change, which no setting can achieve."""

OF_KERBEROS = {"NncacheTicketEnds", "NncacheLoginFailing"}
"""Tested in tests/secured/test_alerts.py."""

OF_JOURNALNODES = {
    "NncacheEditsSourcePassedOver",
    "NncacheJournalDisagrees",
    "NncacheJournalNodeNotCounted",
    "NncacheJournalWithoutMajority",
}

BY_PROMTOOL = {
    *("NncacheCallsRefused", "NncacheDaemonDown", "NncacheDaemonGone", "NncacheEventLoopStalls"),
    *("NncacheLogLinesLost", "NncacheNamespaceDataNodeStale", "NncacheNamespaceOutcomesUnknown"),
    *("NncacheNamespaceQueueStands", "NncacheNamespaceWithoutActive"),
}
"""Tested only in tests/deploy/nncache.rules.test.yml."""

QUICKLY = {r"\[\d+m\]": "[6s]", r"for: [1-9]\d*m": "for: 2s", r"rate5m": "rate5m"}
"""Replacements of minutes by seconds in the rules: how long a fault must last is not tested here."""


def quick_rules() -> str:
    """Return the rules with seconds instead of minutes."""
    rules = RULES.read_text()
    for pattern, quicker in QUICKLY.items():
        rules = re.sub(pattern, quicker, rules)
    return rules


def until(is_so: Callable[[], bool], ask: Callable[[], None] = lambda: None) -> None:
    """Call `ask` until the condition holds, or the test's timeout."""
    while not is_so():
        ask()
        time.sleep(0.2)


def poll(proxy: ProxyDaemon, paths: int, run: str = "same") -> None:
    """Read some missing paths; another run reads other paths."""
    for number in range(paths):
        fetched(proxy.address, f"/webhdfs/v1/watched/{run}-{number}?op=GETFILESTATUS&user.name=joe")


def write(cluster: Cluster, path: str, data: bytes) -> None:
    """Write a file in HDFS; delete it if `data` is empty."""

    async def carry_out() -> None:
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
            if data:
                await hdfs.create(path, data)
            else:
                await hdfs.delete(path)

    asyncio.run(carry_out())


def tls_flags(authority: Authority) -> tuple[str, ...]:
    """Return the flags for TLS with a certificate that expires in a week."""
    issued = authority.issue("proxy", not_after=datetime.now(UTC) + timedelta(days=7))
    return (
        *("--tls-listen", "127.0.0.1:0"),
        *("--tls-certificate", str(issued.chain), "--tls-key", str(issued.key)),
    )


def test_each_alert_fires_and_clears(tmp_path: Path) -> None:
    """The faults are those that operators meet."""
    authority = Authority(tmp_path / "authority")
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True)) as cluster:
        service, namenode = InotifyService.of(cluster), cluster.namenodes[0]
        service.add("watched", "/watched/*")
        on_zookeeper = (*service.namenode_flags, *service.zookeeper_flags)
        faulty = (sys.executable, "-c", WITH_FAULTS)
        direct = (*service.namenode_flags, "--glob", "/watched/*", "--user", cluster.superuser)
        nowhere = ("--registry", "--channel", "direct", "--zookeeper", free_address())
        with (
            service.publisher(user=cluster.superuser) as publisher,
            service.proxy(failover_wait_s=0.5, upstream_timeout_s=1) as proxy,
            ProxyDaemon(*on_zookeeper, "--audit-share", "1", program=faulty) as wrong,
            service.proxy(max_cache_entries=20) as small,
            ProxyDaemon(*on_zookeeper, *tls_flags(authority)) as encrypted,
            ProxyDaemon(
                *direct, *nowhere, "--poll-budget-share", "0.00001", "--poll-budget-burst-s", "0.001"
            ) as poor,
        ):
            targets = [each.admin for each in (publisher, proxy, wrong, small, poor, encrypted)]
            prometheus = Prometheus(targets, quick_rules(), interval="500ms")
            seen = set[str]()

            def fires(*names: str, ask: Callable[[], None] = lambda: None) -> None:
                until(lambda: set(names) <= prometheus.firing(), ask)
                seen.update(names)

            def clears(*names: str, ask: Callable[[], None] = lambda: None) -> None:
                until(lambda: not set(names) & prometheus.firing(), ask)

            with prometheus:
                for each in (proxy, wrong, small):
                    each.await_gate()
                prometheus.await_targets()
                fires("NncachePollingBudgetUsedUp", "NncacheCertificateEnds", "NncacheNotRegistered")
                authority.issue("proxy")
                clears("NncacheCertificateEnds")
                poor.stop()
                clears("NncachePollingBudgetUsedUp", "NncacheNothingCached", "NncacheNotRegistered")

                runs = iter(range(1_000_000))
                fires("NncacheCacheTooSmall", ask=lambda: poll(small, 60, str(next(runs))))
                clears("NncacheCacheTooSmall")

                broken = f"{service.filters_path}/broken"
                write(cluster, broken, b"this is no definition")
                fires("NncacheFilterBroken")
                write(cluster, broken, b"")
                clears("NncacheFilterBroken")

                poll(wrong, 1)
                write(cluster, "/watched/same-0", b"it was missing")
                fires("NncacheAnswersAreWrong", ask=lambda: poll(wrong, 1))
                clears("NncacheAnswersAreWrong")

                publisher.stop()
                write(cluster, "/changed", b"what nothing tells the proxies of")
                fires("NncachePublisherMissing", "NncacheNothingCached", "NncacheAnswersCouldBeStale")
                publisher.start()
                clears("NncachePublisherMissing", "NncacheNothingCached", "NncacheAnswersCouldBeStale")

                with paused(namenode.process):
                    fires("NncacheClientsGetErrors", ask=lambda: poll(proxy, 2, str(next(runs))))
                until(lambda: not prometheus.firing(), lambda: poll(proxy, 2, str(next(runs))))
            assert seen == ALERTS.keys() - OF_KERBEROS - OF_JOURNALNODES - BY_PROMTOOL


def test_alerts_about_journalnodes_fire_and_clear() -> None:
    """One JournalNode down, two down, and a missing journal. Real JournalNodes cannot be made to disagree for long."""
    tailing = {"dfs.ha.tail-edits.in-progress": "true"}
    spec = ClusterSpec(hadoop_version=HADOOP, ha=True, journalnodes=3, with_datanode=False, overrides=tailing)
    with Cluster.start(spec) as pair:
        http, rpc = (",".join(getattr(each, name) for each in pair.namenodes) for name in ("http", "rpc"))
        flags = ("--namenode-http", http, "--namenode-rpc", rpc, "--channel", "direct", "--glob", "/no/*")
        journal = ("--edits-source", "journalnodes", "--shared-edits-dir", pair.shared_edits_dir)
        none = ("--edits-source", "auto", "--shared-edits-dir", pair.shared_edits_dir.replace("/ns1", "/ns2"))
        with ProxyDaemon(*flags, *journal) as reading, ProxyDaemon(*flags, *none) as polling:
            prometheus = Prometheus([reading.admin, polling.admin], quick_rules(), interval="500ms")
            with prometheus:
                for each in (reading, polling):
                    each.await_gate()
                until(lambda: "NncacheEditsSourcePassedOver" in prometheus.firing())
                polling.stop()
                until(lambda: not prometheus.firing() & OF_JOURNALNODES)
                first, second, _ = pair.journalnodes
                first.process.kill()
                until(lambda: prometheus.firing() & OF_JOURNALNODES == {"NncacheJournalNodeNotCounted"})
                second.process.kill()
                until(lambda: "NncacheJournalWithoutMajority" in prometheus.firing())
                for journalnode in (first, second):
                    journalnode.process.start()
                until(lambda: not prometheus.firing() & OF_JOURNALNODES)
