"""Each alert fires in a real Prometheus when its fault is caused, and clears when that is mended."""

import asyncio
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import Daemon, Proxy
from tests.cluster import HADOOP
from tests.deploy.test_prometheus import ALERTS, RULES
from tests.nncache.processes import fetched, free_address
from tests.service import Service

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="apt-get install prometheus"),
]

QUICKLY = {r"\[\d+m\]": "[6s]", r"for: [1-9]\d*m": "for: 2s", r"rate5m": "rate5m"}
"""The rules with seconds where they have minutes: the time for which something must be wrong is not what is tested."""


class Prometheus:
    """One that scrapes these daemons twice a second."""

    def __init__(self, directory: Path, daemons: tuple[Daemon, ...]) -> None:
        self.address = free_address()
        rules = RULES.read_text()
        for pattern, quicker in QUICKLY.items():
            rules = re.sub(pattern, quicker, rules)
        (directory / "rules.yml").write_text(rules)
        config = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [
                {"job_name": "nncache", "static_configs": [{"targets": [each.admin for each in daemons]}]}
            ],
        }
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        self._directory = directory

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it."""
        words = (
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address={self.address}",
        )
        with (self._directory / "log").open("wb") as log:
            process = subprocess.Popen(["prometheus", *words], cwd=self._directory, stderr=log)
        try:
            yield
        finally:
            process.kill()
            process.wait()

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        alerts = self._told("alerts").get("alerts", ())
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def healthy_targets(self) -> int:
        """Return how many daemons it has scraped."""
        return sum(each["health"] == "up" for each in self._told("targets").get("activeTargets", ()))

    def _told(self, what: str) -> dict[str, Any]:
        """Return what its API says; nothing while it is not up."""
        pages = fetched(self.address, f"/api/v1/{what}")
        return dict(json.loads(pages[0][2])["data"]) if pages and pages[0][0] == HTTPStatus.OK else {}


def until(is_so: Callable[[], bool], ask: Callable[[], None] = lambda: None) -> None:
    """Ask until it is so, or the test's deadline ends it."""
    while not is_so():
        ask()
        time.sleep(0.2)


def poll(proxy: Proxy, paths: int, run: str = "same") -> None:
    """Ask for some paths that are not there; another run asks for others."""
    for number in range(paths):
        fetched(proxy.address, f"/webhdfs/v1/watched/{run}-{number}?op=GETFILESTATUS&user.name=joe")


def write(cluster: Cluster, path: str, data: bytes) -> None:
    """Write a file in HDFS, or remove it if there is nothing to write."""

    async def carry_out() -> None:
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
            if data:
                await hdfs.create(path, data)
            else:
                await hdfs.delete(path)

    asyncio.run(carry_out())


def test_each_alert_fires_and_clears(tmp_path: Path) -> None:
    """Its fault is one that operators meet."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True)) as cluster:
        service, namenode = Service.of(cluster), cluster.namenodes[0]
        service.add("watched", "/watched/*")
        direct = (*service.namenode_flags, "--glob", "/watched/*", "--user", cluster.superuser)
        with (
            service.publisher(user=cluster.superuser) as publisher,
            service.proxy(failover_wait_s=0.5, upstream_timeout_s=1) as proxy,
            service.proxy(max_staleness_s=60) as patient,
            service.proxy(max_cache_entries=20) as small,
            Proxy(*direct, "--poll-budget-share", "0.00001", "--poll-budget-burst-s", "0.001") as poor,
        ):
            daemons = (publisher, proxy, patient, small, poor)
            prometheus = Prometheus(tmp_path, daemons)
            seen = set[str]()

            def fires(*names: str, ask: Callable[[], None] = lambda: None) -> None:
                until(lambda: set(names) <= prometheus.firing(), ask)
                seen.update(names)

            def clears(*names: str, ask: Callable[[], None] = lambda: None) -> None:
                until(lambda: not set(names) & prometheus.firing(), ask)

            with prometheus.running():
                for each in (proxy, patient, small):
                    each.await_gate()
                until(lambda: prometheus.healthy_targets() == len(daemons))
                fires("NncachePollingBudgetUsedUp")
                poor.stop()
                clears("NncachePollingBudgetUsedUp", "NncacheNothingCached")

                runs = iter(range(1_000_000))
                fires("NncacheCacheTooSmall", ask=lambda: poll(small, 60, str(next(runs))))
                clears("NncacheCacheTooSmall")

                broken = f"{service.filters_path}/broken"
                write(cluster, broken, b"this is no definition")
                fires("NncacheFilterBroken")
                write(cluster, broken, b"")
                clears("NncacheFilterBroken")

                poll(patient, 3)
                publisher.stop()
                write(cluster, "/changed", b"what nothing tells the proxies of")
                fires("NncachePublisherMissing", "NncacheNothingCached", "NncacheAnswersCouldBeStale")
                publisher.start()
                clears("NncachePublisherMissing", "NncacheNothingCached", "NncacheAnswersCouldBeStale")

                namenode.process.pause()
                fires("NncacheClientsGetErrors", ask=lambda: poll(proxy, 2, str(next(runs))))
                namenode.process.resume()
                until(lambda: not prometheus.firing(), lambda: poll(proxy, 2, str(next(runs))))
            assert seen == ALERTS.keys()
