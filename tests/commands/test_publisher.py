"""`nncache publisher` takes its settings as options. With a filter and a proxy it is the whole service."""

import json
import signal
import time
import uuid
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from nncache.testbed import Cluster
from tests.cluster import make_directory, webhdfs
from tests.patience import HANG_S, until
from tests.processes import Running, fetched, free_address, output, running

START = "--nameservice ns1 --namenode-http 127.0.0.1:9870 --namenode-rpc 127.0.0.1:8020 --zookeeper 127.0.0.1:2181"


SESSION_TIMEOUT_S = HANG_S


def readiness(admin: str) -> dict[str, Any]:
    """Return the JSON of /ready; an empty object while nothing listens."""
    pages = fetched(admin, "/ready")
    return json.loads(pages[0][2]) if pages else {}


def filters(admin: str) -> tuple[list[str], set[str]]:
    """Return the globs in force, and the names of broken filters, from /filters."""
    ((_, _, shown),) = fetched(admin, "/filters")
    reported = json.loads(shown)
    return [filter_["path_glob"] for filter_ in reported["published"]], set(reported["broken"])


@dataclass(frozen=True, slots=True)
class Fixture:
    """A cluster with one filter, and a separate root in ZooKeeper."""

    cluster: Cluster
    directory: str
    administrators: str  # directory of the filters
    log: Path  # of all daemons
    root: str = field(default_factory=lambda: f"/inotify-{uuid.uuid4().hex[:12]}")

    @property
    def glob(self) -> str:
        """The filter's glob."""
        return f"{self.directory}/*/_SUCCESS"

    @property
    def _filters(self) -> tuple[str, ...]:
        return ("--filters-path", f"{self.administrators}/filters", "--user", self.cluster.superuser)

    @property
    def _line(self) -> list[str]:
        namenode = self.cluster.namenodes[0]
        line = START.replace("127.0.0.1:9870", namenode.http).replace("127.0.0.1:8020", namenode.rpc)
        return line.replace("127.0.0.1:2181", self.cluster.zookeeper.address).split()

    def add_filter(self) -> None:
        """Add the filter as an administrator."""
        adding = (
            "--name",
            "jobs",
            "--glob",
            self.glob,
            "--owner",
            self.cluster.superuser,
            "--allow",
            "alice",
        )
        output("filters", "add", *adding, "--namenode-http", self.cluster.namenodes[0].http, *self._filters)

    def publisher(self, admin: str) -> Running:
        """Run a publisher."""
        words = ("--zookeeper-root", self.root, "--admin", admin, *self._filters)
        lasts = ("--zookeeper-session-timeout-s", str(SESSION_TIMEOUT_S))  # no takeover may wait for expiry
        return running("publisher", *self._line, *words, *lasts, log=self.log)

    def proxy(self, listen: str, admin: str) -> Running:
        """Run a proxy as a user without any permissions in HDFS."""
        words = ("--zookeeper-root", self.root, "--admin", admin, "--listen", listen, "--user", "nobody")
        return running("proxy", *self._line, *words, log=self.log)

    def change(self, method: str, op: str, path: str) -> None:
        """Change HDFS directly, not through the proxy, as alice."""
        status, body = webhdfs(self.cluster, method, self.directory + path, op, user="alice")
        assert status == HTTPStatus.OK, body

    def seen(self, listen: str) -> tuple[int, str]:
        """Return the status and `Cache-Status` of alice's read of the marker file through the proxy."""
        path = f"/webhdfs/v1{self.directory}/w/_SUCCESS?op=GETFILESTATUS&user.name=alice"
        ((status, how, _),) = fetched(listen, path)
        return status, how


HIT_MISSING, HIT_THERE = (404, "nncache; hit"), (200, "nncache; hit")


@pytest.mark.timeout(120)
def test_publisher_filter_and_proxy_are_the_service(
    cluster: Cluster, hdfs_directory: str, administrators_directory: str, tmp_path: Path
) -> None:
    """From three commands to hits. Direct changes are seen, also after the publisher has stopped (Bounded)."""
    fixture = Fixture(cluster, hdfs_directory, administrators_directory, tmp_path / "log")
    listen, proxy_admin, admin = free_address(), free_address(), free_address()
    fixture.add_filter()
    fixture.change("PUT", "MKDIRS", "/w")
    with fixture.publisher(admin) as publishing, fixture.proxy(listen, proxy_admin) as proxying:
        until(lambda: readiness(admin).get("ready") is True)
        until(lambda: filters(admin) == ([fixture.glob], set()))
        until(lambda: readiness(proxy_admin).get("is_gate_open") is True)
        until(lambda: fixture.seen(listen) == HIT_MISSING)
        fixture.change("PUT", "MKDIRS", "/w/_SUCCESS")
        until(lambda: fixture.seen(listen) == HIT_THERE)
        fixture.change("DELETE", "DELETE", "/w/_SUCCESS")
        until(lambda: fixture.seen(listen) == HIT_MISSING)
        assert (
            webhdfs(cluster, "PUT", f"{administrators_directory}/filters/odd", "MKDIRS")[0] == HTTPStatus.OK
        )
        until(lambda: filters(admin) == ([fixture.glob], {"odd"}))
        ((_, _, metrics),) = fetched(admin, "/metrics")
        assert "\nnncache_publisher_filters 1.0\n" in metrics
        assert "\nnncache_publisher_filters_broken 1.0\n" in metrics
        assert "\nnncache_zookeeper_connected 1.0\n" in metrics
        publishing.send_signal(signal.SIGTERM)
        assert publishing.wait(timeout=20) == 0
        fixture.change("PUT", "MKDIRS", "/w/_SUCCESS")
        until(lambda: fixture.seen(listen)[0] == HTTPStatus.OK)
        assert "behind the NameNode by" in readiness(proxy_admin)["gate"]
        proxying.send_signal(signal.SIGTERM)
        assert proxying.wait(timeout=20) == 0
    assert "SIGTERM: nothing more is published" in fixture.log.read_text()
    assert " ERROR " not in fixture.log.read_text()


@pytest.mark.timeout(120)
def test_a_standby_leads_once_the_leader_has_stopped(
    cluster: Cluster, hdfs_directory: str, administrators_directory: str, tmp_path: Path
) -> None:
    """It does not wait for the leader's session to expire."""
    fixture = Fixture(cluster, hdfs_directory, administrators_directory, tmp_path / "log")
    one, other = free_address(), free_address()
    with fixture.publisher(one) as first, fixture.publisher(other) as second:
        until(lambda: {readiness(one).get("ready"), readiness(other).get("ready")} == {True, False})
        stops, address = (first, other) if readiness(one)["ready"] else (second, one)
        until(
            lambda: readiness(address)["state"].startswith(f"another publisher leads: process {stops.pid} ")
        )
        stops.send_signal(signal.SIGTERM)
        stopped_at = time.monotonic()
        until(lambda: readiness(address)["ready"])
        assert time.monotonic() - stopped_at < SESSION_TIMEOUT_S
        assert stops.wait(timeout=20) == 0


@pytest.mark.timeout(120)
def test_a_filter_others_may_write_is_not_in_force(
    cluster: Cluster, hdfs_directory: str, administrators_directory: str, tmp_path: Path
) -> None:
    """It is not published. While the parent directory is writable by others, no filter is, and calls are forwarded."""
    fixture = Fixture(cluster, hdfs_directory, administrators_directory, tmp_path / "log")
    listen, proxy_admin, admin = free_address(), free_address(), free_address()
    path, above = f"{administrators_directory}/filters", administrators_directory
    fixture.add_filter()
    fixture.change("PUT", "MKDIRS", "/w")
    with fixture.publisher(admin), fixture.proxy(listen, proxy_admin):
        until(lambda: readiness(proxy_admin).get("is_gate_open") is True)
        until(lambda: fixture.seen(listen) == HIT_MISSING)
        make_directory(cluster, above, "777")
        until(lambda: filters(admin) == ([], {"jobs"}))
        until(lambda: fixture.seen(listen) == (404, "nncache; fwd=bypass; detail=no-filter"))
        status, body = webhdfs(cluster, "PUT", f"{above}/mine/subscribers/mallory", "MKDIRS", user="mallory")
        assert status == HTTPStatus.OK, body
        make_directory(cluster, above, "755")
        until(lambda: filters(admin) == ([fixture.glob], set()))
        until(lambda: fixture.seen(listen) == HIT_MISSING)
        webhdfs(cluster, "PUT", f"{above}/mine", "RENAME", destination=f"{path}/mine")
        until(lambda: filters(admin) == ([fixture.glob], {"mine"}))
    assert f"{above} may be written by others than its owner (mode 777)" in fixture.log.read_text()
